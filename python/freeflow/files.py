"""Files that need nothing but numpy: NIfTI images and displacement fields, ITK's affines (.mat, .tfm, .txt). In ITK's
convention, as ANTs and FreeFlow's programs write them: LPS millimetres, fixed point to moving point."""

import contextlib
import io
import os
import struct
import sys
import zlib

import numpy as np

from .nifti_header import TYPES, NiftiHeader, length_unit

_CODES = {np.dtype(t): code for code, t in TYPES.items()}
_VECTOR = 1007


def _read(path):
    """(header, flat values as stored)"""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        try:
            data = _unzipped(data)
        except (zlib.error, EOFError) as error:
            raise OSError(f"cannot read '{path}': its compressed data are damaged or end early ({error})") from error
    header = NiftiHeader(data, path)
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


def read_nifti_image(path, channels=False):
    """(array of shape (i, j, k) in Fortran order, affine_ras, voxel size in mm, space code, warnings). channels: of the shape (c, i, j, k),
    each in that order"""
    header, values = _read(path)
    shape, count = header.shape[:3], int(np.prod(header.shape[3:]))
    if channels:
        shape = [*shape, count]
    elif count != 1:
        raise OSError(f"cannot read '{path}': it has {count} values per voxel; freeflow.Image.channels('{path}') makes a list of its volumes")
    array = header.scaled(values.reshape(shape, order="F"))
    if channels:
        array = np.moveaxis(array, -1, 0)
    return array, header.affine, header.spacing, header.space_code, header.warnings(path)


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
    """(planes of shape (3, k, j, i) in LPS millimetres, affine_ras, voxel size, space code, warnings)"""
    header, values = _read(path)
    if header.mm_per_unit != 1:
        unit = length_unit(header.mm_per_unit)
        raise OSError(f"cannot read '{path}': its lengths are in {unit}; convert it to millimetres, its vectors as well")
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
    return planes, header.affine, header.spacing, header.space_code, header.warnings(path)


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
        if word.strip() == "Transform" and _is_composite(rest.strip()):  # which has no numbers
            out.append((rest.strip(), np.zeros(0), np.zeros(0)))
        if word.strip() == "FixedParameters":
            try:
                out.append((fields["Transform"].strip(), np.array(fields["Parameters"].split(), float), np.array(rest.split(), float)))
            except (KeyError, ValueError) as error:
                raise OSError(f"cannot read '{path}': a transform in it is damaged ({error})") from error
    return out


def _is_composite(kind):
    return kind.startswith("CompositeTransform")


def read_itk_affine(path):
    """4x4, fixed to moving point, LPS millimetres. One transform, or one composite of some."""
    with open(path, "rb") as file:
        data = file.read()
    if path.lower().endswith(".mat"):
        found = _transforms_of_mat(data, path)
    else:
        text = data.decode("utf-8", "replace")
        if not text.startswith("#Insight Transform File"):
            raise OSError(f"cannot read '{path}': it is no transform of ITK; `regtool convert --to itk` makes one of another program's")
        found = _transforms_of_text(text, path)
    composite = bool(found) and _is_composite(found[0][0])
    found = [f for f in found if not _is_composite(f[0])]
    if len(found) > 1 and not composite:  # of a series one per volume, as fMRIPrep's head motion
        raise OSError(f"cannot read '{path}': it holds {len(found)} transforms that are not one composite; give them one by one")
    if not found:
        raise OSError(f"cannot read '{path}': there is no transform in it")
    affine = np.eye(4)
    for kind, numbers, center in found:  # the last is applied first
        affine = affine @ _itk_matrix(kind, numbers, center, path)
    if not np.isfinite(affine).all() or np.linalg.det(affine) == 0:
        raise OSError(f"cannot read '{path}': its affine is singular or not finite")
    return affine


# Those that turn or scale about a centre, and how many parameters they have.
_LINEAR_KINDS = {"Euler3DTransform": 6, "VersorRigid3DTransform": 6, "Similarity3DTransform": 7, "ScaleTransform": 3}


def _itk_matrix(kind, numbers, center, path):
    affine = np.eye(4)
    name = kind.split("_")[0]
    if name == "TranslationTransform" and len(numbers) == 3:
        affine[:3, 3] = numbers
    elif name in ("AffineTransform", "MatrixOffsetTransformBase") and len(numbers) == 12 and len(center) == 3:
        matrix = numbers[:9].reshape(3, 3)
        affine[:3, :3] = matrix
        affine[:3, 3] = numbers[9:] + center - matrix @ center
    elif _LINEAR_KINDS.get(name) == len(numbers) and len(center) >= 3:
        if name == "Euler3DTransform":
            affine[:3, :3] = _euler(*numbers[:3], zyx=any(center[3:]))
        elif name == "ScaleTransform":
            affine[:3, :3] = np.diag(numbers)
        else:
            affine[:3, :3] = _versor(numbers[:3]) * (numbers[6] if name == "Similarity3DTransform" else 1)
        affine[:3, 3] = (0 if name == "ScaleTransform" else numbers[3:6]) + center[:3] - affine[:3, :3] @ center[:3]
    elif name != "IdentityTransform":
        raise OSError(f"cannot read '{path}': it holds a {kind}; `regtool convert` makes an AffineTransform or a field of it")
    return affine


def _versor(v):
    """Of the rotation's unit quaternion, whose scalar part is not negative."""
    (x, y, z), w = v, np.sqrt(max(0, 1 - v @ v))
    return np.eye(3) + 2 * np.array(
        [[-y * y - z * z, x * y - z * w, x * z + y * w], [x * y + z * w, -x * x - z * z, y * z - x * w], [x * z - y * w, y * z + x * w, -x * x - y * y]]
    )


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
        raise IsADirectoryError(f"cannot read '{path}': it is a folder; give a file that holds a volume, or a series of slices as SimpleITK or nibabel has it")
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
