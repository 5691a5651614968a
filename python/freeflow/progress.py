"""What is shown of long work."""

import sys


class _Bar:
    """tqdm's, one per level, where tqdm is installed."""

    def __init__(self, tqdm):
        self._tqdm, self._bar, self._at = tqdm, None, None

    def __call__(self, stage, level, levels, iteration, iterations, cost):
        if (stage, level) != self._at:
            self.close()
            self._at = (stage, level)
        if self._bar is None:
            self._bar = self._tqdm(total=iterations, desc=f"{stage} {level + 1}/{levels}", leave=False)
        self._bar.total = iterations
        self._bar.n = iteration
        self._bar.set_postfix_str(f"cost {cost:.5g}", refresh=False)
        self._bar.refresh()

    def close(self):
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def callback_of(progress):
    """(what the compiled part calls or None, what to call at the end)"""
    if progress is None or progress is False:
        return None, lambda: None
    if callable(progress):
        return _counted(progress), lambda: None
    if progress is not True:
        raise TypeError(f"progress must be True, None or a function, and is {progress!r}")
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _counted(_line), lambda: print(file=sys.stderr)
    bar = _Bar(tqdm)
    return _counted(bar), bar.close


def _counted(told):
    """Without what begins a stage or a level, where there is nothing to count yet; what an optimizer does beyond its last iteration counts
    as that."""

    def called(stage, level, levels, iteration, iterations, cost):
        if iteration and iterations:
            told(stage, level, levels, min(iteration, iterations), iterations, cost)

    return called


def _line(stage, level, levels, iteration, iterations, cost):
    print(f"\r{stage} {level + 1}/{levels}, {iteration}/{iterations}, cost {cost:.5g} ", end="", file=sys.stderr, flush=True)
