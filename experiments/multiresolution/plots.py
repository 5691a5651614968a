"""Plots as SVG, small enough to stand in a page that loads nothing."""
from html import escape

COLOURS = ("#1f6feb", "#d1640a", "#2a8f4e", "#8250df", "#b3261e")


def _ticks(low, high):
    step = 10 ** (len(str(int(max(high - low, 1e-9) * 1e6))) - 7)
    for factor in (1, 2, 5, 10, 20, 50):
        if (high - low) / (step * factor) <= 5:
            step *= factor
            break
    first = int(low / step + 0.999999) if low > 0 else int(low / step)
    return [step * i for i in range(first, int(high / step + 1e-6) + 1)], step


def _number(value, step):
    return f"{value:.{max(0, min(4, len(f'{step:.6f}'.rstrip('0').split('.')[1])))}f}"


def lines(title, stages, series):
    """One figure over the stages: {method: {stage: value}}."""
    values = [v for line in series.values() for v in line.values() if v is not None]
    low, high = min(0.0, min(values)), max(values) or 1.0
    left, top, width, height = 44, 22, 300, 150
    ticks, step = _ticks(low, high)

    def at(i, value):
        return left + width * i / max(1, len(stages) - 1), top + height * (1 - (value - low) / (high - low or 1))

    out = [f'<svg viewBox="0 0 420 {230 + 15 * len(series)}" role="img" aria-label="{escape(title)}">',
           f'<text x="{left}" y="13" class="title">{escape(title)}</text>']
    for tick in ticks:
        y = at(0, tick)[1]
        out.append(f'<path d="M{left} {y:.1f}h{width}" class="rule"/>'
                   f'<text x="{left - 5}" y="{y + 4:.1f}" class="end">{_number(tick, step)}</text>')
    for i, stage in enumerate(stages):
        x = at(i, low)[0]
        out.append(f'<text x="{x:.1f}" y="{top + height + 14}" transform="rotate(24 {x:.1f} {top + height + 14})">{escape(stage)}</text>')
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [at(i, line[stage]) for i, stage in enumerate(stages) if line.get(stage) is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = 226 + 15 * number
        out.append(f'<path d="M{left} {y}h20" stroke="{colour}" stroke-width="2"/><text x="{left + 26}" y="{y + 4}">{escape(name)}</text>')
    return "".join(out) + "</svg>"


def dots(title, unit, rows, target=None):
    """Values of each row as dots on one axis: {name: [values]}; a band of (low, high) that they should lie in."""
    everything = [v for values in rows.values() for v in values] + list(target or ())
    low, high = min(everything), max(everything)
    low, high = low - 0.06 * (high - low or 1), high + 0.06 * (high - low or 1)
    left, width = 150, 250

    def x(value):
        return left + width * (value - low) / (high - low)

    bottom = 30 + 26 * len(rows)
    out = [f'<svg viewBox="0 0 420 {bottom + 30}" role="img" aria-label="{escape(title)}">',
           f'<text x="5" y="13" class="title">{escape(title)}</text>']
    if target:
        out.append(f'<rect x="{x(target[0]):.1f}" y="22" width="{x(target[1]) - x(target[0]):.1f}" height="{bottom - 22}" class="band"/>')
    ticks, step = _ticks(low, high)
    for tick in ticks:
        out.append(f'<path d="M{x(tick):.1f} 22V{bottom}" class="rule"/>'
                   f'<text x="{x(tick):.1f}" y="{bottom + 15}" class="mid">{_number(tick, step)}{escape(unit)}</text>')
    for number, (name, values) in enumerate(rows.items()):
        y, colour = 40 + 26 * number, COLOURS[number % len(COLOURS)]
        out.append(f'<text x="5" y="{y + 4}">{escape(name)}</text>')
        out += [f'<circle cx="{x(v):.1f}" cy="{y}" r="3.5" fill="{colour}" fill-opacity=".55"/>' for v in values]
    return "".join(out) + "</svg>"
