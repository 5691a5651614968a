"""Two images: register, look at the report, write the files that the programs and ANTs read.

    python register_pair.py [OUTPUT_FOLDER]
"""

import sys

from phantom import subject

import freeflow

folder = sys.argv[1] if len(sys.argv) > 1 else "freeflow-example"

fixed, _ = subject(1)  # or "fixed.nii.gz", a nibabel or SimpleITK image, an array, a tensor on the GPU
moving, _ = subject(2)

result = freeflow.register(fixed, moving, model="flow", progress=True)

jacobian = result.report["jacobian"]
print(f"log-Jacobian: SD {jacobian['sd_log']:.3f}, folded voxels {jacobian['folded_voxels']}")
print(f"overlap {result.report['overlap_fraction']['after']:.3f}, {result.report['seconds']['nonrigid']:.2f} s")

points = [[10.0, -12.0, 4.0]]  # millimetres, RAS, in the fixed image's space
print("a point and its counterpart:", points[0], result.transform.points(points)[0].round(2))

for path in result.save(f"{folder}/pair_"):
    print("wrote", path)
assert jacobian["folded_voxels"] == 0
