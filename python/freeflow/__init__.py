"""FreeFlow: nonrigid registration of 3-D images, on the CPU and on CUDA GPUs.

    import freeflow
    result = freeflow.register("fixed.nii.gz", "moving.nii.gz")
    result.warped                     # the moving image on the fixed one's grid
    result.transform.apply(labels)    # carried along
    result.save("out/moving_to_fixed_")

Arrays are indexed (i, j, k) and lie in the world by `affine_ras`, as nibabel has it: index to millimetres, axes to the
right, front and top. numpy, torch and cupy arrays of float32 are used where they lie.
"""

from ._cpu import require_cpu
from ._waiting import threads_sleep

require_cpu()
with threads_sleep():
    from ._native import DeviceError, RegistrationError, available_devices, version as __version__

# What the others are parts of: they and numpy, which takes most of the time, are loaded when one is first asked for.
_PARTS = {
    "Context": "context",
    "Image": "image",
    "Registration": "registration",
    "Surface": "surface",
    "Transform": "transform",
    "denoise_surface": "surface",
    "option_names": "registration",
    "register": "registration",
    "register_many": "many",
}

__all__ = [
    "Context",
    "DeviceError",
    "Image",
    "Registration",
    "RegistrationError",
    "Surface",
    "Transform",
    "available_devices",
    "denoise_surface",
    "option_names",
    "register",
    "register_many",
    "__version__",
]


def __getattr__(name):
    if name not in _PARTS:
        raise AttributeError(f"module 'freeflow' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = found = getattr(import_module("." + _PARTS[name], __name__), name)
    return found


def __dir__():
    return __all__
