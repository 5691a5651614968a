"""Tables and numbers of results: no program is run here."""
import statistics
import textwrap

import pairs

# README.md has page() between these.
BEGIN, END = "<!-- drawn by run --readme -->", "<!-- end -->"

# Below these a figure is as good as it can be told to be, so that nothing is divided by nothing.
FLOOR = {"dice": 0.01, "tre": 0.05, "error": 0.05, "apart": 0.05, "apart_max": 0.5}
# A program that fails is as bad as no registration; where that has no figure, this many times as bad as the reference.
FAILED = 10.0


def error(kind, value):
    return max(1 - value if kind == "dice" else value, FLOOR[kind])


def relative(kind, value, before, reference):
    """The error as a multiple of the reference's: below 1 is better. None without a reference."""
    if reference is None:
        return None
    if value is None:
        if before is None:
            return FAILED
        value = before
    return error(kind, value) / error(kind, reference)


def pair_numbers(result, program, baseline, reference=""):
    """Per pair: the mean over its figures of the relative error, where the baseline has them."""
    numbers = {}
    for name, pair in result["pairs"].items():
        references = baseline["pairs"].get(name, {}).get("runs", {})
        run, base = pair["runs"].get(program), references.get(reference or program, references.get(program.split()[0]))
        if run is None or base is None:
            continue
        ratios = [relative(kind, run["figures"][figure], pair["before"][figure], base["figures"].get(figure))
                  for figure, kind in pair["kinds"].items()]
        if known := [r for r in ratios if r is not None]:
            numbers[name] = statistics.mean(known)
    return numbers


def family_numbers(result, program, baseline, reference=""):
    families = {}
    for name, number in pair_numbers(result, program, baseline, reference).items():
        families.setdefault(result["pairs"][name]["family"], []).append(number)
    return {family: statistics.mean(values) for family, values in families.items()}


def anatomy(family):
    return pairs.ANATOMY.get(family, family)


def without(families, left_out):
    """The mean over the families that show another anatomy; None where there is none."""
    rest = [value for family, value in families.items() if anatomy(family) != left_out]
    return statistics.mean(rest) if rest else None


def only(families, held):
    return statistics.mean(value for family, value in families.items() if anatomy(family) == held)


def text(kind, value):
    if value is None:
        return "-"
    return f"{value:.4f}" if kind == "dice" else f"{value:.2f}"


def aligned(rows, left=1):
    """Rows of words as a table of Markdown whose columns line up; the first `left` columns start at the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(w.ljust(n) if i < left else w.rjust(n) for i, (w, n) in enumerate(zip(row, widths))) + " |" for row in rows]
    rule = "|" + "|".join("-" * (n + 2) if i < left else "-" * (n + 1) + ":" for i, n in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def seconds(run):
    """On a CPU those of its cores, which others on the machine hardly change; else by the clock."""
    value = run.get("cpu_seconds") if run.get("device") in (None, "cpu") else run["seconds"]
    return "-" if value is None else f"{value:.0f}"


def draw(result):
    """A row per figure; folds (at corners) and seconds stand in a pair's first."""
    rows = [["pair", "family", "figure", "before"]]
    for program in result["programs"]:
        rows[0] += [program, "folds", "s"]
    for name, pair in result["pairs"].items():
        for i, (figure, kind) in enumerate(pair["kinds"].items()):
            row = [name, pair["family"]] if i == 0 else ["", ""]
            row += [figure, text(kind, pair["before"][figure])]
            for program in result["programs"]:
                run = pair["runs"].get(program)
                if run is None:
                    row += ["", "", ""]
                    continue
                row.append("failed" if "failed" in run else text(kind, run["figures"][figure]))
                folds = "-" if run["corner_folds"] is None else str(run["corner_folds"])
                row += [folds, seconds(run)] if i == 0 else ["", ""]
            rows.append(row)
    return aligned(rows, 3)


def numbers(result, baseline, reference=""):
    """One number per program, per family, and with each family left out."""
    per_program = {p: family_numbers(result, p, baseline, reference) for p in result["programs"]}
    families = list(dict.fromkeys(pair["family"] for pair in result["pairs"].values()))
    show = lambda value: "-" if value is None else f"{value:.3f}"
    mean = lambda values: statistics.mean(values) if values else None
    rows = [["error relative to the baseline", *result["programs"]],
            ["all families", *(show(mean(list(per_program[p].values()))) for p in result["programs"])]]
    rows += [[family, *(show(per_program[p].get(family)) for p in result["programs"])] for family in families]
    rows += [[f"all but {a}", *(show(without(per_program[p], a)) for p in result["programs"])]
             for a in dict.fromkeys(anatomy(f) for f in families)]
    counts = [len(pair_numbers(result, p, baseline, reference)) for p in result["programs"]]
    rows.append(["pairs compared", *(f"{n} of {len(result['pairs'])}" for n in counts)])
    folds = [[pair["runs"].get(p, {}).get("corner_folds") or 0 for pair in result["pairs"].values()] for p in result["programs"]]
    rows.append(["corner folds", *(f"{sum(f)} in {sum(n > 0 for n in f)} pairs" for f in folds)])
    return aligned(rows) + "\n"


def compare(result, other):
    """Two results side by side; the ratio is of errors, below 1 where the first is better."""
    out = []
    for program in result["programs"]:
        theirs = program if program in other["programs"] else next(iter(other["programs"]))
        rows = [["pair", "figure", program, f"other {theirs}", "ratio", "folds", "other folds"]]
        for name, pair in result["pairs"].items():
            mine, base = pair["runs"].get(program), other["pairs"].get(name, {}).get("runs", {}).get(theirs)
            if mine is None or base is None:
                continue
            for figure, kind in pair["kinds"].items():
                a, b = mine["figures"][figure], base["figures"].get(figure)
                ratio = relative(kind, a, pair["before"][figure], b)
                rows.append([name, figure, text(kind, a), text(kind, b), "-" if ratio is None else f"{ratio:.3f}",
                             str(mine["corner_folds"]), str(base["corner_folds"])])
        out.append(aligned(rows, 2) if len(rows) > 1 else f"{program}: no pair in common")
    return "\n\n".join(out) + "\n"


def choose(candidates, baseline, reference=""):
    """Per program, for every anatomy: the candidate that the others choose, and how it does there beside the best one for it. Candidates are
    judged by what all of them have."""
    baseline = baseline or candidates[0][1]
    programs = dict.fromkeys(program.split()[0] for _, result in candidates for program in result["programs"])
    return "\n".join(choose_of(program, candidates, baseline, reference) for program in programs)


def choose_of(name_of_program, candidates, baseline, reference):
    runs = [(f"{name}: {program}", result, program) for name, result in candidates for program in result["programs"]
            if program.split()[0] == name_of_program]
    per_pair = {title: pair_numbers(result, program, baseline, reference) for title, result, program in runs}
    common = set.intersection(*(set(numbers) for numbers in per_pair.values()))
    if not common:
        raise ValueError(f"the results of {name_of_program} have no pair in common with the baseline")
    family_of = {name: runs[0][1]["pairs"][name]["family"] for name in common}
    tables = {}
    for title, values in per_pair.items():
        families = {}
        for name in sorted(common):
            families.setdefault(family_of[name], []).append(values[name])
        tables[title] = {family: statistics.mean(v) for family, v in families.items()}
    letters = {title: chr(ord("A") + i) for i, title in enumerate(tables)}
    lines = [f"{letters[t]}  {statistics.mean(tables[t].values()):.3f}  {t}" for t in tables]
    rows = [["left out", "the others choose", "error there", "best there", "error", "behind"]]
    behind = []
    for held in dict.fromkeys(anatomy(f) for f in sorted(set(family_of.values()))):
        if without(next(iter(tables.values())), held) is None:
            continue
        picked = min(tables, key=lambda t: without(tables[t], held))
        best = min(tables, key=lambda t: only(tables[t], held))
        there, least = only(tables[picked], held), only(tables[best], held)
        behind.append(there / least - 1)
        rows.append([held, letters[picked], f"{there:.3f}", letters[best], f"{least:.3f}", f"{100 * behind[-1]:.1f} %"])
    if behind:
        lines += ["", aligned(rows), "", f"left-out families lie {100 * statistics.mean(behind):.1f} % behind on average"]
    return "\n".join(lines) + "\n"


def page(result):
    """What README.md shows of a result: its table, and every program against the first."""
    first = result["programs"][0]
    options = " ".join(result["options"]) or "no options"
    missing = [p.name for p in pairs.PAIRS if set(result["pairs"].get(p.name, {}).get("runs", {})) != set(result["programs"])]
    source = textwrap.wrap(f"{result['commit'][:12]}, {options}, {result['date']}; {result['machine']}.", 120)
    left_out = textwrap.wrap(f"Not in it, or not by every program: {', '.join(missing)}.", 120) if missing else []
    return "\n".join([BEGIN, *source, *left_out, "", draw(result), "",
                      f"Against {first} of the same result instead of each program against itself:", "",
                      numbers(result, result, first) + END])
