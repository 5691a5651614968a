"""What the phantoms must reach, and whether they do: rows of the page."""
import statistics

import atrophy
import breathing

SLIDING = 1.5  # error near the sliding border, in errors elsewhere
ATROPHY = 0.1  # percentage points between the mean measured change and the truth


def sliding(cases):
    """Of every run on a liver phantom: the error near the border against that elsewhere."""
    found = []
    for case in cases:
        names = list(case["kinds"])
        if not names[0].startswith(f"error {breathing.NEAR}"):
            continue
        for run in case["runs"]:
            if "stages" in run:
                near, far = (run["stages"][-1]["figures"][name] for name in names)
                # A run that found no motion is as bad near the border as elsewhere.
                registered = far < 0.5 * run["stages"][0]["figures"][names[1]]
                found.append({"what": f"{case['name']}, {run['method']}: {names[0].removesuffix(', mm')}",
                              "asked": f"at most {SLIDING:g} times that elsewhere, and that halved",
                              "found": f"{near:.2f} mm, {near / far:.1f} times {far:.2f} mm",
                              "reached": registered and near <= SLIDING * far})
    return found


# A follow-up of the same head: a rigid start is all it needs, and local correlation, as it is the same scanner's. A Gaussian in place of the
# flow's diffusion, which holds back what is flat. --kl is the term of Lee 2012 and Yanovsky 2007.
CHANGE_METHODS = (("fluidreg -s lncc --sigma-field 0.5vox", ("-s", "lncc", "--sigma-field", "0.5vox"), 1),
                  ("fluidreg -s lncc --sigma-field 0.5vox --kl 0.05", ("-s", "lncc", "--sigma-field", "0.5vox", "--kl", "0.05"), 1),
                  ("fluidreg --kl 0.5", ("--kl", "0.5"), 10), ("fluidreg --symmetric", ("--symmetric",), 10), ("fluidreg", (), 10))
DIRECTIONS = ("baseline to follow-up", "follow-up to baseline")


def measure_change(programs, folder, seeds, say):
    """The measured volume changes in percent: {method: [of each seed, of each seed the other way]}.

    The first two methods are judged, with all seeds; the others, with a share of them, show what they do."""
    phantom, found = atrophy.Phantom(folder, 2.0), {}
    prefix = folder / "run_"
    for name, options, share in CHANGE_METHODS:
        found[name] = [[], []]
        for seed in range(max(1, seeds // share)):
            say(f"atrophy: {name}, seed {seed}")
            pair = phantom.pair(seed)
            for fixed in (0, 1):
                programs.call("fluidreg", "-f", pair[fixed], "-m", pair[1 - fixed], "-o", prefix, "--linear", "rigid", "--start", "none",
                              "--outputs", "warp,report", *options)
                found[name][fixed].append(atrophy.change(programs, phantom, pair[fixed], fixed, prefix))
    return found


def truths():
    return -100 * atrophy.LOSS, 100 * (1 / (1 - atrophy.LOSS) - 1)


def change(measured):
    rows, plots = [], []
    for direction, truth in enumerate(truths()):
        for name, values in measured.items():
            mean = statistics.mean(values[direction])
            sd = statistics.stdev(values[direction]) if len(values[direction]) > 1 else 0.0
            rows.append({"what": f"atrophy phantom, {DIRECTIONS[direction]}, {name}, {len(values[direction])} seeds",
                         "asked": f"{truth:+.3f} % within {ATROPHY:g}",
                         "found": f"{mean:+.3f} % (SD {sd:.3f}), off by {mean - truth:+.3f}", "reached": abs(mean - truth) <= ATROPHY})
        plots.append({"title": f"Volume change of the brain, {DIRECTIONS[direction]}", "unit": " %",
                      "band": (truth - ATROPHY, truth + ATROPHY), "rows": {name: values[direction] for name, values in measured.items()}})
    return rows, plots
