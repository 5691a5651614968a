"""Whether memory grows: registrations of small volumes in a loop, on the CPU or a GPU.

    python memory.py [COUNT] [DEVICE]      1000 and cpu; prints one line of JSON
"""

import gc
import json
import os
import sys

import numpy as np

import freeflow

SHAPE, WARM_UP = (24, 28, 20), 100
count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
device = sys.argv[2] if len(sys.argv) > 2 else "cpu"


def blob(shift):
    i, j, k = np.meshgrid(*[np.linspace(-1, 1, n) for n in SHAPE], indexing="ij")
    return (100 * np.exp(-4 * ((i - shift) ** 2 + 1.3 * j**2 + (k + shift * j) ** 2))).astype(np.float32)


def resident_kib():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


context = freeflow.Context(device)
seen = []
for n in range(WARM_UP + count + 1):
    if n >= WARM_UP and (n - WARM_UP) % max(1, count // 10) == 0:
        seen.append((resident_kib(), context.statistics["bytes_in_use"]))
    stages = {} if n % 20 == 0 else {"linear": "none", "start": "none"}  # which take most of the time
    result = freeflow.register(blob(0), blob(0.1), levels=2, iterations=2, context=context, **stages)
    result.warped, result.inverse_warped, result.report
    del result
host, on_device = zip(*seen)
print(
    json.dumps(
        {
            "what": f"{count} registrations of {'x'.join(map(str, SHAPE))} voxels, after {WARM_UP}",
            "device": context.device,
            "version": freeflow.__version__,
            "resident_kib_every_tenth": host,
            "grown_kib": host[-1] - host[0],
            "device_bytes_in_use": [on_device[0], on_device[-1]],
        }
    )
)
