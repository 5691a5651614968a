"""Many pairs with one context: register_many() yields results as they come; a pair that fails does not end the others.

    python cohort.py
"""

import numpy as np
from phantom import subject

import freeflow

template, _ = subject(0)
subjects = {f"sub-{n:02d}": subject(n)[0] for n in range(1, 4)}
subjects["sub-empty"] = freeflow.Image(np.zeros(template.shape, np.float32), template.affine_ras)

pairs = [{"fixed": template, "moving": image} for image in subjects.values()]
results = freeflow.register_many(pairs, "flow", levels=3, keep_going=True)
for name, result in zip(subjects, results):
    if isinstance(result, Exception):
        print(f"{name}: failed, {result}")
        continue
    volume = np.exp(result.jacobian(log=True).numpy())  # how much of the subject each template voxel stands for
    print(f"{name}: {result.report['seconds']['nonrigid']:.2f} s, relative volume of the middle {volume[15:29, 18:32, 13:27].mean():.3f}")
