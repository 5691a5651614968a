"""A template of five brains: register all to the mean, average, move the mean to the middle of the shapes, repeat.
(The program `atlas` does this at size.)

    python template.py
"""

import numpy as np
from phantom import subject

import freeflow

subjects = [subject(n)[0] for n in range(10, 15)]


def mean_of(images):
    return freeflow.Image(np.mean([i.numpy() for i in images], axis=0, dtype=np.float64).astype(np.float32), images[0].affine_ras)


def blur(warped, mean):
    """How far the images lie from their mean: what a sharp template makes small."""
    return np.mean([np.abs(w.numpy() - mean.numpy()).mean() for w in warped])


template = mean_of(subjects)
print(f"mean of the images as they are: they differ from it by {blur(subjects, template):.2f}")
start = blur(subjects, template)
for round_ in range(2):
    results = list(freeflow.register_many([(template, s) for s in subjects], "flow", levels=3))
    template = mean_of([r.warped for r in results])
    # The mean displacement leads from the template's shape to the mean shape: the template follows it.
    mean_shape = np.mean([r.transform.displacement(template) for r in results], axis=0)
    shape = freeflow.Transform.field(mean_shape, template.affine_ras)
    difference = blur([r.warped for r in results], template)
    template = shape.inverse().apply(template, template)
    inside = template.numpy() > 30
    print(f"round {round_ + 1}: {difference:.2f}; the shape moved by {np.linalg.norm(mean_shape, axis=-1)[inside].mean():.2f} mm")
assert difference < 0.8 * start
