"""Draws the results of an experiment as one page that loads nothing: tables, plots, papers, pictures."""
import re
from html import escape

import pictures
import plots

LIMIT = 1_500_000  # bytes of a page
STYLE = """:root{color-scheme:light dark;--ground:#fbfbfa;--panel:#fff;--ink:#1d2126;--soft:#646c76;--line:#dfe2e6;--accent:#1f6feb;
--good:#1a7f37;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--ground:#14171b;--panel:#1b1f24;--ink:#e3e6ea;--soft:#98a1ac;--line:#31373e;--accent:#6cb0ff;
--good:#56c271;--bad:#ff7b72}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:72rem;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:0}h2{font-size:1.2rem;margin:2.5rem 0 .3rem}h3{font-size:1rem;margin:1.6rem 0 .3rem}
p{margin:.35rem 0}.soft,figcaption,th{color:var(--soft);font-size:.9rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;margin:.6rem 0}.scroll{overflow-x:auto}
th,td{padding:.2rem .9rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}th{font-weight:500}
td.n,th.n{text-align:right;white-space:nowrap}.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}
.plots{display:flex;flex-wrap:wrap;gap:1rem 1.5rem}.plots svg{width:26rem;max-width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .title{font-size:12px;fill:var(--ink)}svg .end{text-anchor:end}
svg .mid{text-anchor:middle}svg .rule{stroke:var(--line);fill:none}svg .band{fill:var(--good);fill-opacity:.15}
.row{display:flex;gap:8px;align-items:flex-end;margin:.3rem 0 .8rem}
.pic{position:relative;min-width:0;background:#000 0 0/100% 100% no-repeat;border-radius:2px}
.pic>i{position:absolute;inset:0;background:0 0/100% 100% no-repeat}
.lines{background:var(--panel);border:1px solid var(--line)}.lines svg{display:block;width:100%;height:100%;overflow:hidden}
.check{-webkit-mask:repeating-conic-gradient(#000 0 25%,#0000 0 50%) 0 0/3.5rem 3.5rem;
mask:repeating-conic-gradient(#000 0 25%,#0000 0 50%) 0 0/3.5rem 3.5rem}
.key{display:flex;flex-wrap:wrap;gap:.35rem .7rem;align-items:center}
.key b{width:9rem;height:.7rem;border-radius:2px}.key b.dot{width:.7rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem}
"""


def number(value, kind):
    if value is None:
        return "-"
    return f"{value:.4f}" if kind == "dice" else f"{value:.3f}" if kind == "percent" else f"{value:.2f}"


def gained(now, then, kind):
    """By how much a stage is better than the one before: Dice up, mm down."""
    if now is None or then is None:
        return ""
    change = now - then if kind == "dice" else then - now
    return f"{change:+.4f}" if kind == "dice" else f"{change:+.2f}"


def table(head, rows, left=1):
    def cells(row, tag):
        return "".join(f"<{tag}{' class=n' if i >= left else ''}>{cell}</{tag}>" for i, cell in enumerate(row))
    return ("<div class=scroll><table><tr>" + cells([escape(h) for h in head], "th") + "</tr>"
            + "".join("<tr>" + cells(row, "td") + "</tr>" for row in rows) + "</table></div>")


def summary(result):
    """A row per pair and figure: before, and after each method."""
    methods = [m["name"] for m in result["methods"]]
    rows = []
    for case in result["cases"]:
        for name, kind in case["kinds"].items():
            runs = [next((r for r in case["runs"] if r["method"] == m), None) for m in methods]
            if not any(runs):
                continue
            before = next((r["stages"][0]["figures"][name] for r in runs if r and "stages" in r), None)
            last = [number(r["stages"][-1]["figures"][name], kind) if r and "stages" in r else "failed" if r else "-" for r in runs]
            rows.append([escape(case["name"]), escape(name), number(before, kind), *last])
    return table(["pair", "figure", "before", *methods], rows, left=2)


def levels(case):
    """What every stage gained."""
    names = list(case["kinds"])
    head = ["method", "stage", "voxels", "mm", *(f for name in names for f in (name, "gained")), "corner folds", "evaluations", "seconds"]
    rows = []
    for run in case["runs"]:
        if "failed" in run:
            rows.append([escape(run["method"]), escape(run["failed"])] + [""] * (len(head) - 2))
            continue
        then = None
        for stage in run["stages"]:
            cells = [escape(run["method"]) if then is None else "", stage["stage"], "×".join(map(str, stage.get("grid", []))),
                     "×".join(f"{s:g}" for s in stage.get("spacing_mm", []))]
            for name in names:
                now = stage["figures"][name]
                cells += [number(now, case["kinds"][name]), gained(now, then and then["figures"][name], case["kinds"][name])]
            seconds = stage.get("seconds")
            rows.append([*cells, str(stage.get("corner_folds", "")), str(stage.get("evaluations", "")),
                         "" if seconds is None else f"{seconds:.1f}"])
            then = stage
    return table(head, rows, left=2)


def curves(case):
    runs = [r for r in case["runs"] if "stages" in r]
    if not runs:
        return ""
    stages = max(([s["stage"] for s in r["stages"]] for r in runs), key=len)
    names = {s["stage"] for r in runs for s in r["stages"]}
    stages = [s for s in ["before", "affine", "discrete start", *(f"level {i}" for i in range(1, 10))] if s in names] or stages
    drawn = [plots.lines(name, stages, {r["method"]: {s["stage"]: s["figures"][name] for s in r["stages"]} for r in runs})
             for name in case["kinds"]]
    return "<div class=plots>" + "".join(drawn) + "</div>"


def prose(text):
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def papers(result):
    rows = [[prose(p[part]) for part in ("source", "reports", "differs")] for p in result["papers"]]
    return table(["paper", "its figures", "what differs here"], rows, left=3)


def checks(result):
    if not result.get("checks"):
        return ""
    rows = [[escape(c["what"]), escape(c["asked"]), escape(c["found"]),
             "<span class=good>reached</span>" if c["reached"] else "<span class=bad>missed</span>"] for c in result["checks"]]
    drawn = "".join(plots.dots(p["title"], p["unit"], p["rows"], p.get("band")) for p in result.get("plots", []))
    return "<h2>Against the known truth</h2>" + table(["what", "asked", "found", ""], rows, left=4) + f"<div class=plots>{drawn}</div>"


def draw(result, pictured):
    """The page; pictured: (title, before, after) of pairs, as many as the limit leaves room for."""
    origin = f"{result['commit'][:12] or 'no commit'}{', with changes' if result['changed'] else ''}"
    head = (f"<p>{escape(result['about'])}</p><p class=soft>{result['date']}, commit {origin}, {escape(result['machine'])}, "
            f"{result['seconds']:.0f} s for all of this page. Every figure is in {result['experiment']}.json beside it.</p>")
    body = [head, "<h2>Result</h2>", summary(result),
            "<p class=soft>Labels, landmarks and known deformations, by <code>regtool measure</code>; no image correlation. "
            "Dice: more is better; mm: less.</p>", checks(result), "<h2>From coarse to fine</h2>",
            "<p class=soft>The state after each level: the same call with no iterations on the levels below. Gained: against the row "
            "above, a plus is better. Seconds are those of the stage alone.</p>"]
    for case in result["cases"]:
        body += [f"<h3>{escape(case['name'])}</h3><p class=soft>{escape(case['note'])}</p>", levels(case), curves(case)]
    body += ["<h2>Beside the papers</h2>", papers(result)]
    commands = "\n".join(r["command"] for c in result["cases"] for r in c["runs"] if "command" in r)
    tail = f"<h2>Commands</h2><pre>{escape(commands)}</pre>"
    style, blocks, left_out = STYLE, [], []
    for count, (title, before, after) in enumerate(pictured):
        rules, block = pictures.style(f"c{count}", before, after), pictures.block(f"c{count}", escape(title), before, after)
        size = len((style + "".join(body + blocks) + tail + rules + block).encode())
        if size > LIMIT - 20_000:
            left_out.append(title)
            continue
        style, blocks = style + rules + "\n", [*blocks, block]
    if blocks:
        body += ["<h2>Before and after</h2>", "<p class=soft>Three planes through the middle of the fixed object; the patient's left is on "
                 "the right.</p>", *blocks]
    if left_out:
        body.append(f"<p class=soft>Without pictures, for room: {escape(', '.join(left_out))}.</p>")
    title = escape(f"FreeFlow: {result['experiment']}, coarse to fine")
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<link rel="icon" href="data:,"><title>{title}</title><style>{style}</style></head><body><h1>{title}</h1>'
            + "\n".join(body) + tail + "</body></html>\n")
