"""A page to look at: fixed, moving, warped, checkerboard, deformed grid and log-Jacobian (needs matplotlib).

    python quality_control.py [PICTURE.png]
"""

import sys

from phantom import subject

import freeflow

result = freeflow.register(subject(1)[0], subject(2)[0])
try:
    result.plot(sys.argv[1] if len(sys.argv) > 1 else "quality_control.png", axis=2)
except ImportError as error:
    print(f"skipped: {error}")
