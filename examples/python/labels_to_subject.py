"""An atlas' labels onto a subject: register the atlas image to the subject, carry the labels along without mixing them.

    python labels_to_subject.py
"""

from phantom import dice, subject

import freeflow

image, truth = subject(3)
atlas_image, atlas_labels = subject(4)

result = freeflow.register(image, atlas_image)
labels = result.transform.apply(atlas_labels, image, interpolation="vote")  # integers stay integers

before = [dice(truth, atlas_labels, n) for n in (1, 2, 3, 4)]
after = [dice(truth, labels, n) for n in (1, 2, 3, 4)]
for name, b, a in zip(("grey matter", "white matter", "ventricles", "nuclei"), before, after):
    print(f"{name:13} Dice {b:.3f} -> {a:.3f}")
assert sum(after) > sum(before)
