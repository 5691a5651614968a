"""The pairs of images that defaults are judged on, and the scenes that are made for them.

A file is named relative to the data folder, or as "made:SCENE/FILE". A scene is a call of accuracy_scenes, whose outputs lie in a folder
of their own. Everything is a value: what a pair is judged by stands here and nowhere else.
"""
from dataclasses import dataclass

# Pairs of these families show the same heads: they are left out together.
ANATOMY = {"harmed": "brain", "storage": "brain", "unlike": "brain"}

ASEG = "2,3,4,7,8,10,11,12,13,16,17,18,28,41,42,43,46,47,49,50,51,52,53,54,60"


@dataclass(frozen=True)
class Figure:
    """One thing a result is judged by. kind: dice (labels), tre (landmarks), error (a known warp), apart and apart_max (another run)."""
    name: str
    kind: str
    fixed: str = ""  # labels or points; a mask for error and apart
    moving: str = ""  # labels or points
    labels: str = ""
    truth: str = ""  # error: a displacement field; apart: the pair whose run it is compared with


@dataclass(frozen=True)
class Pair:
    name: str
    family: str
    fixed: str
    moving: str
    figures: tuple
    masks: tuple = ()
    quick: bool = False


ALIGNED = "brain_oasis_aligned"
SEG35 = tuple(f"{ALIGNED}/000{n}_seg35.nii.gz" for n in (1, 2))

# The harmed pairs and the stored ones are of 2 mm: 27 runs of a full size would say little more and take eight times as long.
SCENES = {
    "oasis1_2mm": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--shrink", "2"],
    "oasis2_2mm": ["harm", f"{ALIGNED}/0002_norm.nii.gz", "--shrink", "2"],
    "oasis1_bias": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--shrink", "2", "--bias", "0.4", "--seed", "11"],
    "oasis2_bias": ["harm", f"{ALIGNED}/0002_norm.nii.gz", "--shrink", "2", "--bias", "0.4", "--seed", "12"],
    "oasis1_noise5": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--shrink", "2", "--noise", "0.05", "--seed", "21"],
    "oasis2_noise5": ["harm", f"{ALIGNED}/0002_norm.nii.gz", "--shrink", "2", "--noise", "0.05", "--seed", "22"],
    "oasis1_noise10": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--shrink", "2", "--noise", "0.1", "--seed", "31"],
    "oasis2_noise10": ["harm", f"{ALIGNED}/0002_norm.nii.gz", "--shrink", "2", "--noise", "0.1", "--seed", "32"],
    "oasis2_lesion": ["harm", f"{ALIGNED}/0002_norm.nii.gz", "--shrink", "2", "--lesion", "20"],
    "oasis2_3mm": ["harm", f"{ALIGNED}/0002_norm.nii.gz", "--shrink", "3"],
    "oasis1_slab6": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--labels", SEG35[0], "--slices", "6"],
    "oasis1_slab24": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--labels", SEG35[0], "--slices", "24"],
    "mouse2_coarse": ["harm", "mouse_fvb/wt2_t2.nii.gz", "--shrink", "3"],
    "oasis1_crop": ["harm", f"{ALIGNED}/0001_norm.nii.gz", "--labels", SEG35[0], "--shrink", "2", "--crop", "0.2"],
    "ct_warp30": ["warp", "ct_totalseg/example_ct.nii.gz", "--labels", "ct_totalseg/example_labels.nii.gz", "--largest", "30",
                  "--width", "0.55", "--seed", "44"],
    "ct_fixed": ["harm", "made:ct_warp30/image.nii.gz", "--noise", "0.05", "--seed", "45"],
    "ct_moving": ["harm", "ct_totalseg/example_ct.nii.gz", "--noise", "0.05", "--seed", "46"],
    "sri24_warp": ["warp", "mm_sri24/t1.nii.gz", "--labels", "mm_sri24/tissues.nii.gz", "--largest", "10", "--seed", "51"],
    "sri24_harmed_t1": ["harm", "made:sri24_warp/image.nii.gz", "--labels", "made:sri24_warp/labels.nii.gz", "--bias", "0.4",
                        "--noise", "0.05", "--lesion", "20", "--seed", "52"],
    "sri24_harmed_t2": ["harm", "mm_sri24/t2.nii.gz", "--bias", "0.4", "--noise", "0.05", "--seed", "53"],
    "sri24_warp_2mm": ["warp", "mm_sri24/t1.nii.gz", "--labels", "mm_sri24/tissues.nii.gz", "--largest", "10", "--seed", "61",
                       "--shrink", "2"],
    "sri24_t2_2mm": ["harm", "mm_sri24/t2.nii.gz", "--shrink", "2"],
}
# Where the axes of the stored image point: each order keeps every voxel at its place in the world.
ORDERS = {"flip_x": "-x+y+z", "flip_z": "+x+y-z", "flip_all": "-x-y-z", "turn_yzx": "+y+z+x", "swap_yx": "+y-x+z", "turn_zxy": "-z+x-y"}
SCENES.update({f"oasis2_{name}": ["store", "made:oasis2_2mm/image.nii.gz", "--axes", axes] for name, axes in ORDERS.items()})


def dice(name, fixed, moving, labels=""):
    return Figure(name, "dice", fixed, moving, labels)


def landmarks(fixed, moving):
    return (Figure("TRE mm", "tre", fixed, moving),)


def liver(person, cycle, quick=False):
    stem = f"liver_eth4dmri/{person}_exh"
    points = f"{stem}_to_{cycle}"
    return Pair(f"liver_{person}_{cycle.removeprefix('cyc_')}", "liver", f"{stem}.nii.gz", f"liver_eth4dmri/{person}_{cycle}.nii.gz",
                landmarks(f"{points}_fixed_points.csv", f"{points}_moving_points.csv"), quick=quick)


def lung_elastix(name, masks):
    return Pair(name, "lung", "lung_elastix/baseline.nii.gz", "lung_elastix/followup.nii.gz",
                landmarks("lung_elastix/baseline_points.csv", "lung_elastix/followup_points.csv"), masks=masks)


def harmed(name, fixed, moving, labels=SEG35[0]):
    return Pair(name, "harmed", f"made:{fixed}/image.nii.gz", f"made:{moving}/image.nii.gz", (dice("Dice35", labels, SEG35[1]),))


def native(name, family, fixed, moving):
    """Two heads where they were scanned: stripped (norm) or whole (T1)."""
    folder = "brain_oasis_native"
    return Pair(name, family, f"{folder}/0001_{fixed}.nii.gz", f"{folder}/0002_{moving}.nii.gz",
                (dice("Dice25", f"{folder}/0001_aseg.nii.gz", f"{folder}/0002_aseg.nii.gz", ASEG),))


def slab(slices):
    scene = f"made:oasis1_slab{slices}"
    return Pair(f"unlike_slab{slices}", "unlike", f"{scene}/image.nii.gz", f"{ALIGNED}/0002_norm.nii.gz",
                (dice("Dice35", f"{scene}/labels.nii.gz", SEG35[1]),))


def stored(name):
    mask, plain = "made:oasis1_2mm/image.nii.gz", "brain_2mm"
    return Pair(f"stored_{name}", "storage", mask, f"made:oasis2_{name}/image.nii.gz",
                (Figure("apart mm", "apart", mask, truth=plain), Figure("at most", "apart_max", mask, truth=plain)))


PAIRS = (
    Pair("mouse_fvb", "mouse", "mouse_fvb/wt1_t2.nii.gz", "mouse_fvb/wt2_t2.nii.gz",
         (dice("Dice37", "mouse_fvb/wt1_labels.nii.gz", "mouse_fvb/wt2_labels.nii.gz"),), quick=True),
    Pair("mouse_coarse", "mouse", "mouse_fvb/wt1_t2.nii.gz", "made:mouse2_coarse/image.nii.gz",
         (dice("Dice37", "mouse_fvb/wt1_labels.nii.gz", "mouse_fvb/wt2_labels.nii.gz"),)),
    Pair("lung_proton", "lung", "lung_proton/0004_h1.nii.gz", "lung_proton/0006_h1.nii.gz",
         (dice("Dice lobes", "lung_proton/0004_lobes.nii.gz", "lung_proton/0006_lobes.nii.gz"),
          dice("Dice lungs", "lung_proton/0004_lungs.nii.gz", "lung_proton/0006_lungs.nii.gz")), quick=True),
    lung_elastix("lung_elastix_masks", ("lung_elastix/baseline_mask.nii.gz", "lung_elastix/followup_mask.nii.gz")),
    lung_elastix("lung_elastix", ()),
    liver("d18", "cyc_1_10"), liver("d18", "cyc_3_10"), liver("d19", "cyc_1_6", quick=True), liver("d19", "cyc_1_9", quick=True),
    Pair("brain_2mm", "brain", "made:oasis1_2mm/image.nii.gz", "made:oasis2_2mm/image.nii.gz", (dice("Dice35", *SEG35),)),
    Pair("brain_aligned", "brain", f"{ALIGNED}/0001_norm.nii.gz", f"{ALIGNED}/0002_norm.nii.gz", (dice("Dice35", *SEG35),)),
    native("brain_native", "brain", "norm", "norm"),
    harmed("harmed_bias", "oasis1_bias", "oasis2_bias"),
    harmed("harmed_noise5", "oasis1_noise5", "oasis2_noise5"),
    harmed("harmed_noise10", "oasis1_noise10", "oasis2_noise10"),
    harmed("harmed_lesion", "oasis1_2mm", "oasis2_lesion"),
    harmed("harmed_crop", "oasis1_crop", "oasis2_2mm", "made:oasis1_crop/labels.nii.gz"),
    Pair("unlike_3mm", "unlike", f"{ALIGNED}/0001_norm.nii.gz", "made:oasis2_3mm/image.nii.gz", (dice("Dice35", *SEG35),)),
    slab(6), slab(24),
    native("unlike_brain_of_head", "unlike", "norm", "T1"), native("unlike_head_of_brain", "unlike", "T1", "norm"),
    Pair("warp_ct_30mm", "warp", "made:ct_fixed/image.nii.gz", "made:ct_moving/image.nii.gz",
         (Figure("error mm", "error", "made:ct_warp30/labels.nii.gz", truth="made:ct_warp30/truth.nii.gz"),
          dice("Dice28", "made:ct_warp30/labels.nii.gz", "ct_totalseg/example_labels.nii.gz"))),
    Pair("warp_sri24_2mm", "warp", "made:sri24_warp_2mm/image.nii.gz", "made:sri24_t2_2mm/image.nii.gz",
         (Figure("error mm", "error", "made:sri24_warp_2mm/labels.nii.gz", truth="made:sri24_warp_2mm/truth.nii.gz"),), quick=True),
    Pair("warp_sri24_harmed", "warp", "made:sri24_harmed_t1/image.nii.gz", "made:sri24_harmed_t2/image.nii.gz",
         (Figure("error mm", "error", "made:sri24_harmed_t1/labels.nii.gz", truth="made:sri24_warp/truth.nii.gz"),)),
    *(stored(name) for name in ORDERS),
)
