from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, overload

import numpy as np
import numpy.typing as npt

__version__: str

class SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

Array = npt.NDArray[Any] | SupportsDLPack
ImageLike = Image | str | PathLike[str] | Array | Any
Matrix = npt.ArrayLike
Stream = int | Any
Progress = bool | Callable[[str, int, int, int, int, float], object] | None
NonrigidModel = Literal["flow", "ffd", "fluid", "demons"]
LinearModel = Literal["rigid", "similarity", "scaled", "affine"]
Frame = Literal["ras", "lps"]
Length = float | str

class DeviceError(RuntimeError): ...
class RegistrationError(RuntimeError): ...

def available_devices() -> list[str]: ...
def option_names(model: NonrigidModel | LinearModel) -> list[str]: ...

class Context:
    def __init__(self, device: str | Any = "auto", *, threads: int = 0, stream: Stream | None = None) -> None: ...
    @property
    def device(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def statistics(self) -> dict[str, int]: ...
    def synchronize(self) -> None: ...

class Image:
    array: Any
    def __init__(self, array: Array, affine_ras: Matrix | None = None, *, name: str = "array") -> None: ...
    @classmethod
    def channels(cls, array: Array | str | PathLike[str] | Any, affine_ras: Matrix | None = None) -> list[Image]: ...
    @classmethod
    def read(cls, path: str | PathLike[str]) -> Image: ...
    @classmethod
    def of(cls, given: ImageLike, name: str = "image") -> Image: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    @property
    def affine_ras(self) -> npt.NDArray[np.float64]: ...
    @property
    def spacing_mm(self) -> tuple[float, float, float]: ...
    def numpy(self) -> npt.NDArray[Any]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def to_nibabel(self) -> Any: ...
    def to_sitk(self) -> Any: ...
    def to_ants(self) -> Any: ...
    def to_monai(self) -> Any: ...
    def to_torchio(self) -> Any: ...
    def write(self, path: str | PathLike[str]) -> None: ...

class Transform:
    @classmethod
    def affine(cls, matrix_ras: Matrix, *, context: Context | None = None) -> Transform: ...
    @classmethod
    def identity(cls) -> Transform: ...
    @classmethod
    def field(cls, displacement_ras: Array, affine_ras: Matrix, *, context: Context | None = None) -> Transform: ...
    @classmethod
    def read(cls, *paths: str | PathLike[str], context: Context | None = None) -> Transform: ...
    def __matmul__(self, other: Transform) -> Transform: ...
    @property
    def device(self) -> str: ...
    @property
    def is_affine(self) -> bool: ...
    @property
    def affine_ras(self) -> npt.NDArray[np.float64]: ...
    def inverse(self) -> Transform: ...
    @overload
    def apply(self, image: list[Any] | tuple[Any, ...], like: ImageLike | None = None, *,
              interpolation: Literal["linear", "cubic", "nearest", "vote"] | None = None, fill: float | Literal["min"] = 0.0) -> list[Image]: ...
    @overload
    def apply(self, image: ImageLike, like: ImageLike | None = None, *,
              interpolation: Literal["linear", "cubic", "nearest", "vote"] | None = None, fill: float | Literal["min"] = 0.0) -> Image: ...
    def points(self, xyz: npt.ArrayLike, *, frame: Frame = "ras") -> npt.NDArray[np.float64]: ...
    def jacobian(self, like: ImageLike | None = None, *, log: bool = False) -> Image: ...
    def displacement(self, like: ImageLike | None = None, *, frame: Frame = "ras") -> npt.NDArray[np.float32]: ...
    def numpy(self) -> npt.NDArray[np.float32]: ...
    def __dlpack__(self, **keywords: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def write(self, path: str | PathLike[str], *, like: ImageLike | None = None) -> None: ...

class Registration:
    transform: Transform
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def fixed(self) -> Image: ...
    @property
    def moving(self) -> Image: ...
    @property
    def warped(self) -> Image: ...
    @property
    def warped_channels(self) -> list[Image]: ...
    @property
    def inverse_warped(self) -> Image: ...
    @property
    def inverse_warped_channels(self) -> list[Image]: ...
    def jacobian(self, *, log: bool = True) -> Image: ...
    def plot(self, path: str | PathLike[str] | None = None, *, axis: int = 2, index: int | None = None) -> Any: ...
    def save(self, prefix: str | PathLike[str], *, what: str | Sequence[str] = "all") -> list[str]: ...

def register(
    fixed: ImageLike | Sequence[ImageLike],
    moving: ImageLike | Sequence[ImageLike],
    model: NonrigidModel | LinearModel = "flow",
    *,
    similarity: str | None = None,
    fixed_mask: ImageLike | None = None,
    moving_mask: ImageLike | None = None,
    init: Literal["identity", "center", "moments"] | Transform = "identity",
    background: float | None = None,
    clip: npt.ArrayLike | None = None,
    interpolation: Literal["linear", "cubic"] = "linear",
    context: Context | None = None,
    device: str | Any = "auto",
    threads: int = 0,
    progress: Progress = None,
    levels: int = ...,
    iterations: npt.ArrayLike = ...,
    linear: Literal["none", "rigid", "similarity", "affine"] = ...,
    start: Literal["auto", "discrete", "none"] = ...,
    channel_weights: npt.ArrayLike = ...,
    bins: int = ...,
    estimator: str = ...,
    histogram_scheme: str = ...,
    ratio_scheme: str = ...,
    cr_of_fixed: bool = ...,
    cr_border: float = ...,
    lncc_radius: int = ...,
    mind_radius: int = ...,
    mind_dilation: int = ...,
    spacing: Length = ...,
    total_variation: float = ...,
    bending: float = ...,
    log_jacobian: float = ...,
    optimizer: Literal["gradient", "cg", "lbfgs"] = ...,
    sigma_update: Length = ...,
    sigma_field: Length | Sequence[Length] = ...,
    smoother: Literal["recursive", "separable", "fft", "auto"] = ...,
    step: float = ...,
    velocity: Literal["gaussian", "navier"] = ...,
    mu: float = ...,
    lambda_: float = ...,
    kl: float = ...,
    force_kernel: Literal["recompute", "reuse"] = ...,
    symmetric: bool = ...,
    demons: Literal["log", "esm", "thirion"] = ...,
    search: Literal["auto", "gradient", "powell", "hill", "flirt"] = ...,
    refine: Literal["auto", "blocks", "none"] = ...,
    sampling: Literal["linear", "cubic"] = ...,
) -> Registration: ...
def register_many(
    pairs: Iterable[tuple[Any, Any] | Mapping[str, Any]],
    model: NonrigidModel | LinearModel = "flow",
    *,
    keep_going: bool = False,
    context: Context | None = None,
    device: str | Any = "auto",
    threads: int = 0,
    progress: bool | Callable[[int, Any], object] | None = None,
    **arguments: Any,
) -> Iterator[Any]: ...

class Surface:
    distance: Image
    level_set: Image
    report: dict[str, Any]
    @property
    def mask(self) -> Image: ...

def denoise_surface(
    surface: ImageLike,
    *,
    kind: Literal["labels", "sdf", "image"] | None = None,
    label: int | None = None,
    iso: float | None = None,
    context: Context | None = None,
    device: str | Any = "auto",
    threads: int = 0,
    progress: Progress = None,
    band: float = ...,
    patch: int = ...,
    neighbours: int = ...,
    iterations: int = ...,
    c1: float | None = ...,
    c2: float | None = ...,
    limit: float | None = ...,
    search_radius: float | None = ...,
    keep_volume: bool = ...,
    strategy: Literal["auto", "constant", "texture", "global", "tiled"] = ...,
) -> Surface: ...
