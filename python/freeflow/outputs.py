"""Files that appear all or not at all."""

import os

_WORDS = ("warp", "inverse", "warped", "inversewarped", "report")
_KINDS = {
    "0GenericAffine.mat": "affine",
    "1Warp.nii.gz": "warp",
    "1InverseWarp.nii.gz": "inverse_warp",
    "Warped": "warped",
    "InverseWarped": "inverse_warped",
    "report.json": "report",
}


def chosen(words):
    """The words of `what`, checked."""
    if words == "all":
        return _WORDS
    found = [w.strip() for w in words.split(",")] if isinstance(words, str) else list(words)
    for word in found:
        if word not in _WORDS:
            raise ValueError(f"what {word!r} is not one of all, {', '.join(_WORDS)}")
    return found


def peak_host_bytes():
    """Of the whole process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class OutputSet:
    """Names behind a prefix, written beside their places and moved there by commit()."""

    def __init__(self, prefix):
        self._folder, self._start = os.path.split(prefix)
        self._folder = self._folder or "."
        self._names = []

    def __enter__(self):
        import tempfile  # here, as json and datetime below: `import freeflow` shall not wait for them

        os.makedirs(self._folder, exist_ok=True)
        self._staging = tempfile.TemporaryDirectory(prefix=".freeflow-", dir=self._folder)
        return self

    def __exit__(self, *_):
        self._staging.cleanup()

    def file(self, name):
        """Where to write what will be PREFIXname."""
        self._names.append(name)
        return os.path.join(self._staging.name, name)

    def write_report(self, report):
        """PREFIXreport.json, as the last file, with the date and the files beside it: `regtool report PREFIX` draws its page."""
        import json
        from datetime import datetime, timezone

        with open(self.file("report.json"), "w", encoding="utf-8") as file:
            date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            json.dump({**report, "date": date, "outputs": self._listed()}, file, indent=1, default=str)

    def _listed(self):
        listed = {}
        for name in self._names:
            kind = _KINDS.get(name) or _KINDS[name.split(".")[0].rstrip("0123456789")]
            listed[kind] = listed.get(kind, []) + [self._start + name]
        return {kind: names if "warped" in kind else names[0] for kind, names in listed.items()}

    def commit(self):
        written = []
        for name in self._names:
            path = os.path.join(self._folder, self._start + name)
            os.replace(os.path.join(self._staging.name, name), path)
            written.append(path)
        return written
