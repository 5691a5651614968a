"""Files that need nothing but numpy: NIfTI-1 images and displacement fields, ITK's affines (.mat, .tfm, .txt). In ITK's
convention, as ANTs and FreeFlow's programs write them: LPS millimetres, fixed point to moving point."""

import contextlib
import io
import itertools
import os
import struct
import sys
import zlib

import numpy as np

_TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
_CODES = {np.dtype(t): code for code, t in _TYPES.items()}
_VECTOR = 1007
_CHANNELS = "; freeflow.Image.channels(nibabel.load(...)) makes a list of its volumes"


def require_millimetres(unit, whose, error):
    """unit: NIfTI's code; 0 says nothing."""
    if unit in (1, 3):
        raise error(f"{whose} lengths are in {'metres' if unit == 1 else 'micrometres'}; convert it to millimetres")


def space_code(sform, qform):
    """Which world the affine leads to, of the codes of a header whose sform counts first."""
    return next((int(code) for code in (sform, qform) if code > 0), 1)


class _Header:
    """What a NIfTI-1 header says."""

    def __init__(self, raw, path):
        if len(raw) < 348:
            raise OSError(f"cannot read '{path}': it ends within its header or is not a NIfTI file")
        order = next((o for o in "<>" if struct.unpack(o + "i", raw[:4])[0] == 348), None)
        if struct.unpack("<i", raw[:4])[0] in (540, 469893120):
            raise OSError(f"cannot read '{path}': it is NIfTI-2; nibabel.load('{path}') gives an image to use in its place")
        if order is None or raw[344:347] not in (b"n+1", b"ni1"):
            raise OSError(f"cannot read '{path}': it is not a NIfTI-1 file")
        dim = struct.unpack(order + "8h", raw[40:56])
        if not 1 <= dim[0] <= 7:
            raise OSError(f"cannot read '{path}': it declares {dim[0]} dimensions")
        if min(dim[1 : min(dim[0], 3) + 1]) < 1:
            raise OSError(f"cannot read '{path}': its header declares a size of {' x '.join(map(str, dim[1:4]))} voxels")
        self.shape = [max(1, n) for n in dim[1 : dim[0] + 1]] + [1] * (7 - dim[0])
        self.intent, datatype = struct.unpack(order + "hh", raw[68:72])
        self.intent_name = raw[328:344].split(b"\0")[0].decode("latin-1")
        if datatype not in _TYPES:
            mend = _CHANNELS if datatype in (128, 2304) else ""  # RGB, RGBA
            raise OSError(f"cannot read '{path}': its NIfTI data type {datatype} is not one of real scalars{mend}")
        self.dtype = np.dtype(order + _TYPES[datatype])
        pixdim = struct.unpack(order + "8f", raw[76:108])
        offset = struct.unpack(order + "f", raw[108:112])[0]
        if not 348 <= offset < 2**31:
            raise OSError(f"cannot read '{path}': its header puts the voxels at byte {offset:g}")
        self.offset = int(offset)
        slope, intercept = struct.unpack(order + "2f", raw[112:120])
        scaled = np.isfinite(slope) and slope != 0
        self.slope, self.intercept = (slope, intercept if np.isfinite(intercept) else 0.0) if scaled else (1.0, 0.0)
        require_millimetres(raw[123] & 7, f"cannot read '{path}': its", OSError)
        qform, sform = struct.unpack(order + "2h", raw[252:256])
        self.spacing = np.array(pixdim[1:4], np.float64)
        rows = np.array(struct.unpack(order + "12f", raw[280:328]), np.float64).reshape(3, 4)
        quaternion = struct.unpack(order + "6f", raw[256:280])
        self.affine = np.eye(4)
        self.space_code = space_code(sform, qform)
        self.shift_mm = 0.0  # of one form from the other
        with np.errstate(all="ignore"):
            by_qform = np.column_stack([_rotation(quaternion[:3]) * (self.spacing * [1, 1, -1 if pixdim[0] < 0 else 1]), quaternion[3:]])
            if sform > 0 and qform > 0:
                self.shift_mm = _largest_shift(rows - by_qform, self.shape[:3])
        if sform > 0:
            self.affine[:3] = rows
        elif qform > 0:
            self.affine[:3] = by_qform
        else:
            self.affine[:3, :3] = np.diag([-1, -1, 1] * self.spacing)  # left, posterior, superior, as ITK reads it


    def scaled(self, values):
        """What the stored values stand for: themselves, or float32."""
        if (self.slope, self.intercept) == (1, 0):
            return values
        return (values * np.float64(self.slope) + np.float64(self.intercept)).astype(np.float32)

    def elsewhere(self, path):
        """What there is to warn of where its two forms differ, or None."""
        if not self.shift_mm > 0.05 * min(self.spacing):  # as io/orientation.cpp: less is rounding
            return None
        return (
            f"'{path}': qform and sform differ, and the sform counts here; what takes the qform, as ITK and the programs mostly do, places"
            f" voxels up to {self.shift_mm:.3g} mm elsewhere"
        )


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


def _read(path):
    """(header, flat values as stored)"""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        try:
            data = _unzipped(data)
        except (zlib.error, EOFError) as error:
            raise OSError(f"cannot read '{path}': its compressed data are damaged or end early ({error})") from error
    header = _Header(data, path)
    count = int(np.prod([int(n) for n in header.shape], dtype=object))
    have = (len(data) - header.offset) // header.dtype.itemsize
    if have < count:
        raise OSError(f"cannot read '{path}': file ends after {max(0, have)} of {count} voxels")
    return header, np.frombuffer(data, header.dtype, count, header.offset)


def _unzipped(data):
    """The gzip members of a file, inflated into one piece."""
    out = []
    while data:
        member = zlib.decompressobj(31)
        out.append(member.decompress(data))
        if not member.eof:
            raise EOFError("no end")
        data = member.unused_data.lstrip(b"\0")
    return out[0] if len(out) == 1 else b"".join(out)


def read_nifti_image(path):
    """(array of shape (i, j, k) in Fortran order, affine_ras, voxel size in mm, space code, a sentence or None)"""
    header, values = _read(path)
    if any(n != 1 for n in header.shape[3:]):
        raise OSError(f"cannot read '{path}': it has {np.prod(header.shape[3:])} values per voxel" + _CHANNELS)
    array = header.scaled(values.reshape(header.shape[:3], order="F"))
    return array, header.affine, header.spacing, header.space_code, header.elsewhere(path)


def _header_bytes(shape, dtype, placement, intent):
    if max(shape) > 32767:
        raise ValueError(f"NIfTI-1 has sides of 32767 voxels at most, and the shape is {tuple(shape)}")
    direction = np.array(placement.direction_lps)
    spacing = np.array(placement.spacing)
    ras = np.column_stack([direction * spacing, placement.origin_lps]) * [[-1], [-1], [1]]
    rotation = direction * [[-1], [-1], [1]]
    left_handed = np.linalg.det(rotation) < 0
    if left_handed:
        rotation[:, 2] *= -1
    raw = bytearray(352)
    struct.pack_into("<i", raw, 0, 348)
    raw[38] = ord("r")
    struct.pack_into("<8h", raw, 40, len(shape), *shape, *[1] * (7 - len(shape)))
    struct.pack_into("<hhh", raw, 68, intent, _CODES[dtype], 8 * dtype.itemsize)
    struct.pack_into("<8f", raw, 76, -1 if left_handed else 1, *spacing, 1, 1, 1, 1)
    struct.pack_into("<3f", raw, 108, 352, 1, 0)
    raw[123] = 2  # millimetres
    struct.pack_into("<2h", raw, 252, *2 * [placement.space_code])
    struct.pack_into("<6f", raw, 256, *_quaternion(rotation), *ras[:, 3])
    struct.pack_into("<12f", raw, 280, *ras.ravel())
    raw[344:348] = b"n+1\0"
    return bytes(raw)


def _quaternion(m):
    """b, c, d of the rotation, with a >= 0, by the eigenvector that Bar-Itzhack's matrix has for 1."""
    k = (
        np.array(
            [
                [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
                [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
                [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], 0],
                [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
            ]
        )
        / 3
    )
    values, vectors = np.linalg.eigh(k)
    b, c, d, a = vectors[:, np.argmax(values)]
    return (-b, -c, -d) if a < 0 else (b, c, d)


@contextlib.contextmanager
def _whole(path):
    """A file to write that takes its place when it is whole, or not at all."""
    temporary = path + ".tmp"
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise FileNotFoundError(f"cannot write '{path}': there is no folder '{os.path.dirname(path)}'")
    try:
        with open(temporary, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _write(path, header, values, level):
    """level 0 stores: smooth fields hardly shrink and take long to."""
    if not path.lower().endswith((".nii", ".nii.gz")):
        raise ValueError(f"'{path}' is no name of a NIfTI file (.nii, .nii.gz)")
    with _whole(path) as file:
        if path.lower().endswith(".gz"):
            packer = zlib.compressobj(level, zlib.DEFLATED, 31)
            file.write(packer.compress(header))
            file.write(packer.compress(values))
            file.write(packer.flush())
        else:
            file.write(header)
            file.write(values)


def storable(array):
    """Itself, or in a type that NIfTI and ITK have too: bools as uint8, half and long floats as float32, all in this
    machine's order of bytes."""
    dtype = np.dtype("u1") if array.dtype == bool else array.dtype.newbyteorder("=")
    return np.asarray(array, dtype if dtype in _CODES else np.dtype("f4"))


def write_nifti_image(path, array, placement):
    array = storable(array)
    values = array.astype(array.dtype.newbyteorder("<"), copy=False).ravel(order="F")
    _write(path, _header_bytes(array.shape, array.dtype, placement, 0), values.data, 1)


def write_nifti_field(path, planes_mm_lps, placement):
    """planes_mm_lps: (3, k, j, i) in C order, the components x, y, z of LPS millimetres."""
    planes = np.ascontiguousarray(planes_mm_lps, "<f4")
    _, k, j, i = planes.shape
    _write(path, _header_bytes((i, j, k, 1, 3), np.dtype("f4"), placement, _VECTOR), planes.data.cast("B"), 0)


def read_nifti_field(path):
    """(planes of shape (3, k, j, i) in LPS millimetres, affine_ras, voxel size, space code, a sentence or None)"""
    header, values = _read(path)
    if header.shape[3:5] != [1, 3] or header.intent != _VECTOR:
        raise OSError(f"cannot read '{path}': it is not a displacement field (x, y, z, 1, 3 with intent 1007)")
    if header.intent_name.startswith("NREG"):
        _refuse_field(path, "it is a NiftyReg transform, whose vectors mean something else", "niftyreg")
    if header.intent_name == "Mapping":
        _refuse_field(path, 'it is named "Mapping", which is SPM\'s', "spm")
    i, j, k = header.shape[:3]
    planes = np.ascontiguousarray(header.scaled(values).reshape(3, k, j, i), np.float32)
    if _looks_like_positions(planes, header.affine):
        _refuse_field(path, "its vectors are positions, as SPM writes them, not displacements", "spm")
    return planes, header.affine, header.spacing, header.space_code, header.elsewhere(path)


def _refuse_field(path, what, program):
    raise OSError(f"cannot read '{path}': {what}; `regtool convert --from {program}` makes a field of ITK's of it")


def _looks_like_positions(planes, affine_ras):
    """As io/transforms/vector_spread.cpp: whether vectors vary less by half once their voxels' coordinates (RAS, as SPM's are) are
    taken off them. A copy of SPM's file may have lost its name."""
    shape = planes.shape[1:]
    count, row = int(np.prod(shape)), shape[2]
    # An odd stride that is no multiple of a side visits all rows and columns; 20 000 samples decide.
    stride = max(count // 20000, 1) | 1
    while stride > 1 and row > 1 and stride % row == 0:
        stride += 2
    vectors = planes.reshape(3, count)[:, ::stride].astype(np.float64)
    index = np.stack(np.unravel_index(np.arange(0, count, stride), shape)[::-1])
    vectors, index = (values[:, np.isfinite(vectors).all(axis=0)] for values in (vectors, index))
    if vectors.shape[1] < 2:
        return False
    alone, less_grid = (np.sqrt(v.var(axis=1).sum()) for v in (vectors, vectors - affine_ras[:3, :3] @ index))
    return 2 * less_grid < alone


def _mat_matrix(name, numbers):
    return struct.pack("<5i", 0, len(numbers), 1, 0, len(name) + 1) + name.encode() + b"\0" + struct.pack(f"<{len(numbers)}d", *numbers)


def write_itk_affine(path, affine_lps, center):
    """AffineTransform_double_3_3 about a centre (LPS millimetres; the map does not depend on it)."""
    matrix, offset, center = affine_lps[:3, :3].tolist(), affine_lps[:3, 3].tolist(), np.asarray(center, float)
    translation = []
    for row, shift, middle in zip(matrix, offset, center.tolist()):  # in ITK's order of additions
        value = shift - middle
        for factor, other in zip(row, center.tolist()):
            value += factor * other
        translation.append(value)
    numbers = [x for row in matrix for x in row] + translation
    if path.lower().endswith(".mat"):
        data = _mat_matrix("AffineTransform_double_3_3", numbers) + _mat_matrix("fixed", center.tolist())
    elif path.lower().endswith((".txt", ".tfm")):
        text = (
            "#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n"
            f"Parameters: {' '.join(repr(float(x)) for x in numbers)}\n"
            f"FixedParameters: {' '.join(repr(float(x)) for x in center)}\n"
        )
        data = text.encode()
    else:
        raise ValueError(f"'{path}' is no name of an affine's file (.mat, .txt, .tfm)")
    with _whole(path) as file:
        file.write(data)


def _transforms_of_mat(data, path):
    """[(kind, parameters, fixed parameters)]"""
    stream, matrices = io.BytesIO(data), []
    while head := stream.read(20):
        if len(head) < 20:
            raise OSError(f"cannot read '{path}': it ends within a matrix")
        kind, rows, columns, imaginary, length = struct.unpack("<5i", head)
        if kind not in (0, 10) or imaginary or not (0 < length < 256 and 0 <= rows * columns < 1000):
            raise OSError(f"cannot read '{path}': it is no transform of ITK (an FSL matrix is text: regtool convert reads it)")
        name = stream.read(length).rstrip(b"\0").decode("ascii", "replace")
        size = 8 if kind == 0 else 4
        raw = stream.read(size * rows * columns)
        if len(raw) < size * rows * columns:
            raise OSError(f"cannot read '{path}': it ends within a matrix")
        matrices.append((name, np.frombuffer(raw, "<f8" if kind == 0 else "<f4").astype(float)))
    return [
        (name, values, matrices[i + 1][1] if i + 1 < len(matrices) else np.zeros(3))
        for i, (name, values) in enumerate(matrices)
        if name != "fixed"
    ]


def _transforms_of_text(text, path):
    out, fields = [], {}
    for line in text.splitlines():
        word, _, rest = line.partition(":")
        fields[word.strip()] = rest
        if word.strip() == "FixedParameters":
            try:
                out.append((fields["Transform"].strip(), np.array(fields["Parameters"].split(), float), np.array(rest.split(), float)))
            except (KeyError, ValueError) as error:
                raise OSError(f"cannot read '{path}': a transform in it is damaged ({error})") from error
    return out


def read_itk_affine(path):
    """4x4, fixed to moving point, LPS millimetres. Translations and affines, or composites of them."""
    with open(path, "rb") as file:
        data = file.read()
    if path.lower().endswith(".mat"):
        found = _transforms_of_mat(data, path)
    else:
        text = data.decode("utf-8", "replace")
        if not text.startswith("#Insight Transform File"):
            raise OSError(f"cannot read '{path}': it is no transform of ITK")
        found = _transforms_of_text(text, path)
    found = [f for f in found if not f[0].startswith("CompositeTransform")]
    if not found:
        raise OSError(f"cannot read '{path}': there is no transform in it")
    affine = np.eye(4)
    for kind, numbers, center in found:  # the last is applied first
        affine = affine @ _itk_matrix(kind, numbers, center, path)
    if not np.isfinite(affine).all() or np.linalg.det(affine) == 0:
        raise OSError(f"cannot read '{path}': its affine is singular or not finite")
    return affine


def _itk_matrix(kind, numbers, center, path):
    affine = np.eye(4)
    name = kind.split("_")[0]
    if name == "TranslationTransform" and len(numbers) == 3:
        affine[:3, 3] = numbers
    elif name in ("AffineTransform", "MatrixOffsetTransformBase") and len(numbers) == 12 and len(center) == 3:
        matrix = numbers[:9].reshape(3, 3)
        affine[:3, :3] = matrix
        affine[:3, 3] = numbers[9:] + center - matrix @ center
    elif name == "Euler3DTransform" and len(numbers) == 6 and len(center) >= 3:
        affine[:3, :3] = _euler(*numbers[:3], zyx=any(center[3:]))
        affine[:3, 3] = numbers[3:] + center[:3] - affine[:3, :3] @ center[:3]
    else:
        raise OSError(f"cannot read '{path}': it holds a {kind}; `regtool convert` makes an AffineTransform or a field of it")
    return affine


def _euler(x, y, z, zyx):
    """ITK's order: Rz Rx Ry, or as its ComputeZYX says Rz Ry Rx."""
    cx, sx, cy, sy, cz, sz = np.cos(x), np.sin(x), np.cos(y), np.sin(y), np.cos(z), np.sin(z)
    rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    return rz @ ry @ rx if zyx else rz @ rx @ ry


def read_by_others(path):
    """A SimpleITK or nibabel image, whichever is installed and reads it."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"cannot read '{path}': there is no such file")
    if os.path.isdir(path):
        raise IsADirectoryError(f"cannot read '{path}': it is a folder; give a file of it, or a series as SimpleITK or nibabel has it")
    tried = []
    for name in ("SimpleITK", "nibabel"):
        try:
            module = sys.modules.get(name) or __import__(name)
        except ImportError:
            continue
        try:
            return module.ReadImage(path) if name == "SimpleITK" else module.load(path)
        except Exception as error:
            tried.append(f"{name}: {str(error).strip().splitlines()[-1] if str(error).strip() else error!r}")
    raise OSError(f"cannot read '{path}': " + ("; ".join(tried) or "only NIfTI is read without SimpleITK or nibabel; install one of them"))
