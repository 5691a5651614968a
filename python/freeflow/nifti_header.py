"""What the header of a NIfTI file says, of either version (nifti1.h, nifti2.h of the NIfTI Data Format Working Group)."""

import itertools
import struct

import numpy as np

TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
CHANNELS = "; freeflow.Image.channels(nibabel.load(...)) makes a list of its volumes"

# Where a number stands and of what type it is, by the size that begins the header.
_FIELDS = {
    348: {"magic": (344, "4s"), "dim": (40, "8h"), "intent": (68, "h"), "datatype": (70, "h"), "pixdim": (76, "8f"), "offset": (108, "f"),
          "scaling": (112, "2f"), "units": (123, "B"), "codes": (252, "2h"), "qform": (256, "6f"), "sform": (280, "12f"), "name": (328, "16s")},
    540: {"magic": (4, "4s"), "datatype": (12, "h"), "dim": (16, "8q"), "pixdim": (104, "8d"), "offset": (168, "q"), "scaling": (176, "2d"),
          "codes": (344, "2i"), "qform": (352, "6d"), "sform": (400, "12d"), "units": (500, "i"), "intent": (504, "i"), "name": (508, "16s")},
}
_MAGICS = {348: (b"n+1\0", b"ni1\0"), 540: (b"n+2\0", b"ni2\0")}


def mm_per_unit(xyzt_units):
    """Of lengths, by NIfTI's code, where 0 says nothing."""
    return {1: 1e3, 3: 1e-3}.get(int(xyzt_units) & 7, 1)


def length_unit(mm_per_unit):
    return "metres" if mm_per_unit > 1 else "micrometres"


def said_of_unit(name, mm_per_unit):
    """What there is to warn of lengths that were converted, in a list."""
    if mm_per_unit == 1:
        return []
    return [
        f"'{name}': its lengths are in {length_unit(mm_per_unit)} and were converted to millimetres; programs that pass over the"
        " unit, and their transforms, have the numbers as they stand"
    ]


def space_code(sform, qform):
    """Which world the affine leads to, of the codes of a header whose sform counts first."""
    return next((int(code) for code in (sform, qform) if code > 0), 1)


class NiftiHeader:
    """raw: the file from its first byte on, inflated. Errors name the path."""

    def __init__(self, raw, path):
        size, order = next(((s, o) for s in _FIELDS for o in "<>" if raw[:4] == struct.pack(o + "i", s)), (348, ""))
        if len(raw) < size:
            raise OSError(f"cannot read '{path}': it ends within its header or is not a NIfTI file")

        def numbers(name):
            place, kind = _FIELDS[size][name]
            return struct.unpack_from(order + kind, raw, place)

        if not order or numbers("magic")[0] not in _MAGICS[size]:
            raise OSError(f"cannot read '{path}': it is not a NIfTI file")
        self.version = 1 if size == 348 else 2
        dim = numbers("dim")
        if not 1 <= dim[0] <= 7:
            raise OSError(f"cannot read '{path}': it declares {dim[0]} dimensions")
        if min(dim[1 : min(dim[0], 3) + 1]) < 1:
            raise OSError(f"cannot read '{path}': its header declares a size of {' x '.join(map(str, dim[1:4]))} voxels")
        self.shape = [max(1, n) for n in dim[1 : dim[0] + 1]] + [1] * (7 - dim[0])
        (self.intent,), (datatype,) = numbers("intent"), numbers("datatype")
        self.intent_name = numbers("name")[0].split(b"\0")[0].decode("latin-1")
        if datatype not in TYPES:
            mend = CHANNELS if datatype in (128, 2304) else ""  # RGB, RGBA
            raise OSError(f"cannot read '{path}': its NIfTI data type {datatype} is not one of real scalars{mend}")
        self.dtype = np.dtype(order + TYPES[datatype])
        pixdim = numbers("pixdim")
        (offset,) = numbers("offset")
        if not 0 <= offset < 2**31:
            raise OSError(f"cannot read '{path}': its header puts the voxels at byte {offset:g}")
        self.offset = max(int(offset), size)  # 0 is "at once", as io/nifti_file.cpp takes it
        slope, intercept = numbers("scaling")
        scaled = np.isfinite(slope) and slope != 0
        self.slope, self.intercept = (slope, intercept if np.isfinite(intercept) else 0.0) if scaled else (1.0, 0.0)
        self.mm_per_unit = mm_per_unit(numbers("units")[0])
        qform, sform = numbers("codes")
        self._of_scanner, self._has_no_form = sform == 1, max(qform, sform) <= 0
        if not min(pixdim[1:4]) > 0:
            raise OSError(f"cannot read '{path}': its header declares a voxel size (pixdim) that is not positive")
        self.spacing = np.array(pixdim[1:4], np.float64) * self.mm_per_unit
        rows = np.array(numbers("sform"), np.float64).reshape(3, 4) * self.mm_per_unit
        quaternion = numbers("qform")
        self.affine = np.eye(4)
        self.space_code = space_code(sform, qform)
        self.shift_mm = 0.0  # of one form from the other
        with np.errstate(all="ignore"):
            voxels = self.spacing * [1, 1, -1 if pixdim[0] < 0 else 1]
            by_qform = np.column_stack([_rotation(quaternion[:3]) * voxels, np.multiply(quaternion[3:], self.mm_per_unit)])
            if self._placed_by_itk:
                by_qform = by_qform.astype(np.float32)  # as NIfTI's own library keeps it
            if sform > 0 and qform > 0:
                self.shift_mm = _largest_shift(rows - by_qform, self.shape[:3])
        if sform > 0 and not self._itk_takes_qform(qform, sform):
            self.affine[:3] = rows
        elif qform > 0:
            self.affine[:3] = by_qform
        else:
            self.affine[:3, :3] = np.diag([-1, -1, 1] * self.spacing)  # left, posterior, superior, as ITK reads it

    @property
    def _placed_by_itk(self):
        """In the programs, as io/orientation.cpp."""
        return (self.version, self.mm_per_unit) == (1, 1)

    def _itk_takes_qform(self, qform, sform):
        """Of two forms that agree, for the programs' bits: the scanner's sform (1) goes before the qform, others after it."""
        return self._placed_by_itk and qform > 0 and sform != 1 and self.shift_mm <= self._rounding_mm

    @property
    def _rounding_mm(self):
        """Of one form from the other, as io/orientation.cpp."""
        return 0.05 * min(self.spacing)

    def scaled(self, values):
        """What the stored values stand for: themselves, or float32."""
        if (self.slope, self.intercept) == (1, 0):
            return values
        return (values * np.float64(self.slope) + np.float64(self.intercept)).astype(np.float32)

    def warnings(self, path):
        """Sentences on where it lies: of a unit that was converted, and of two forms that differ."""
        said = said_of_unit(path, self.mm_per_unit)
        if self._has_no_form:
            said.append(f"'{path}' has neither sform nor qform: its axes are taken as left, posterior, superior from origin 0")
        if self.shift_mm > self._rounding_mm:
            others = "ITK and the programs mostly do" if self._placed_by_itk else "ITK mostly does"
            others = "" if self._of_scanner else f", as {others},"  # whose sform ITK takes too
            said.append(
                f"'{path}': qform and sform differ, and the sform counts here; what takes the qform{others} places voxels up to"
                f" {self.shift_mm:.3g} mm elsewhere"
            )
        return said


def _largest_shift(difference, shape):
    """Of the corners of a grid, by two affines."""
    corners = np.array(list(itertools.product(*((0, n - 1) for n in shape))))
    return float(np.linalg.norm(corners @ difference[:, :3].T + difference[:, 3], axis=1).max())


def _rotation(bcd):
    rest = 1.0 - float(np.dot(bcd, bcd))
    a = 0.0 if rest < 1e-7 else np.sqrt(rest)  # as the programs, and NIfTI's own library, have it
    a, b, c, d = np.array([a, *bcd]) / np.linalg.norm([a, *bcd])
    return np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
