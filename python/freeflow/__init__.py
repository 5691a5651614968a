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
    from ._native import DeviceError, RegistrationError, available_devices, option_names, version as __version__

from .context import Context  # noqa: E402
from .image import Image  # noqa: E402
from .registration import Registration, register, register_many  # noqa: E402
from .surface import Surface, denoise_surface  # noqa: E402
from .transform import Transform  # noqa: E402

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
