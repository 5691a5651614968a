"""The pairs of the data folder that the project's own figures are of (`../shared/data`), where they are present."""
from cases import Case, Figure

ASEG = "2,3,4,7,8,10,11,12,13,16,17,18,28,41,42,43,46,47,49,50,51,52,53,54,60"


def regions(path, name):
    """Places of the landmarks of one region in a table whose second column names it."""
    rows = [line.split(",") for line in path.read_text().splitlines()[1:] if line.strip()]
    return tuple(i for i, row in enumerate(rows) if row[1] == name)


def landmarks(name, fixed, moving, **more):
    return Figure(name, "mm", fixed, moving, **more)


def liver(data):
    found = []
    for person, cycle in (("d18", "cyc_1_10"), ("d18", "cyc_3_10"), ("d19", "cyc_1_6"), ("d19", "cyc_1_9")):
        folder = data / "liver_eth4dmri"
        stem = folder / f"{person}_exh_to_{cycle}"
        points = (folder / f"{stem.name}_fixed_points.csv", folder / f"{stem.name}_moving_points.csv")
        table = folder / f"{stem.name}_landmarks.csv"
        if not table.is_file():
            continue
        inside = regions(table, "liver")
        found.append(Case(f"liver_{person}_{cycle}", folder / f"{person}_exh.nii.gz", folder / f"{person}_{cycle}.nii.gz",
                          (landmarks("TRE, mm", *points), landmarks("TRE in the liver, mm", *points, points=inside)),
                          note="ETH 4D MRI (von Siebenthal 2007), exhale to inhale."))
    return found


def lung(data):
    found, folder = [], data / "lung_elastix"
    figures = (landmarks("TRE, mm", folder / "baseline_points.csv", folder / "followup_points.csv"),)
    pair = (folder / "baseline.nii.gz", folder / "followup.nii.gz")
    if pair[0].is_file():
        masks = (folder / "baseline_mask.nii.gz", folder / "followup_mask.nii.gz")
        found.append(Case("lung_elastix", *pair, figures, note="Right-lung CT, two visits (elastix); the offset sits in the origins."))
        found.append(Case("lung_elastix_masks", *pair, figures, masks, note="The same, with masks of the lung."))
    folder = data / "lung_proton"
    if folder.is_dir():
        found.append(Case("lung_proton", folder / "0004_h1.nii.gz", folder / "0006_h1.nii.gz",
                          (Figure("Dice of 5 lobes", "dice", folder / "0004_lobes.nii.gz", folder / "0006_lobes.nii.gz"),
                           Figure("Dice of 2 lungs", "dice", folder / "0004_lungs.nii.gz", folder / "0006_lungs.nii.gz")),
                          note="Proton MR of two people."))
    return found


def brain(data):
    found, folder = [], data / "brain_oasis_aligned"
    if folder.is_dir():
        # Not _seg4: its foreground is that of _seg35 in 94 % of the voxels only, so one of them lies elsewhere.
        figures = (Figure("Dice of 35 labels", "dice", folder / "0001_seg35.nii.gz", folder / "0002_seg35.nii.gz"),)
        found.append(Case("oasis_aligned", folder / "0001_norm.nii.gz", folder / "0002_norm.nii.gz", figures,
                          note="OASIS-1 (Marcus 2007), T1 of two people, affinely aligned."))
    folder = data / "brain_oasis_native"
    if folder.is_dir():
        figures = (Figure("Dice of 25 labels", "dice", folder / "0001_aseg.nii.gz", folder / "0002_aseg.nii.gz", ASEG),)
        found.append(Case("oasis_native", folder / "0001_norm.nii.gz", folder / "0002_norm.nii.gz", figures,
                          note="The same two, as scanned: rigid, affine and nonrigid from a bad start."))
    return found
