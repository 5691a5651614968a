"""Tiny image files as bytes, so that the tests of bad input need nothing but Python: what is wrong with a file is one argument."""
import gzip
import math
import struct

SIZE = (12, 12, 12)


def blob(shift=0.0):
    """A soft ball with a dent, of no symmetry."""
    def value(x, y, z):
        r2 = (x - 6 - shift) ** 2 + (y - 5) ** 2 + (z - 6) ** 2
        return 100 * math.exp(-r2 / 12) + (20 if 3 < x < 9 and y > 3 + shift and z > 3 else 0)
    return value


def voxels(value, size=SIZE, components=1):
    """float32, the components slowest, as NIfTI has them."""
    grid = [(x, y, z) for z in range(size[2]) for y in range(size[1]) for x in range(size[0])]
    if components == 1:
        numbers = [value(*p) for p in grid]
    else:
        vectors = [value(*p) for p in grid]
        numbers = [v[c] for c in range(components) for v in vectors]
    return struct.pack(f"<{len(numbers)}f", *numbers)


def nifti(value=None, size=SIZE, components=1, origin=None, gz=False, cut=None, **fields):
    """NIfTI-1 of 2 mm voxels around the origin. fields: (format, offset) pairs by name in FIELDS, or at_OFFSET=(format, value)."""
    header = bytearray(352)
    origin = origin or [-(n - 1) for n in size]

    def put(format, offset, *numbers):
        struct.pack_into("<" + format, header, offset, *numbers)
    put("i", 0, 348)
    put("8h", 40, 3 if components == 1 else 5, *size, 1, components, 1, 1)
    put("3h", 68, 0 if components == 1 else 1007, 16, 32)
    put("8f", 76, 1, 2, 2, 2, 1, 1, 1, 1)
    put("3f", 108, 352, 1, 0)
    header[123] = 2
    put("2h", 252, 1, 1)
    put("6f", 256, 0, 0, 0, *origin)
    for row in range(3):
        put("4f", 280 + 16 * row, *[2 * (row == column) for column in range(3)], origin[row])
    header[344:348] = b"n+1\0"
    for name, change in fields.items():
        format, number = change
        put(format, int(name.removeprefix("at_")), number)
    data = bytes(header) + voxels(value or blob(), size, components)
    if gz:
        data = gzip.compress(data, mtime=0)
    return data if cut is None else data[:cut]


METAIMAGE = {"ObjectType": "Image", "NDims": "3", "BinaryData": "True", "BinaryDataByteOrderMSB": "False", "CompressedData": "False",
             "TransformMatrix": "1 0 0 0 1 0 0 0 1", "Offset": "-11 -11 -11", "ElementSpacing": "2 2 2", "DimSize": "12 12 12",
             "ElementType": "MET_FLOAT", "ElementDataFile": "LOCAL"}


def metaimage(data=None, **changes):
    """changes: another value, or None for a field that is left out."""
    fields = {**METAIMAGE, **changes}
    fields["ElementDataFile"] = fields.pop("ElementDataFile")  # what follows it is voxels
    head = "".join(f"{name} = {value}\n" for name, value in fields.items() if value is not None)
    return head.encode() + (voxels(blob()) if data is None else data)


NRRD = {"type": "float", "dimension": "3", "space": "left-posterior-superior", "sizes": "12 12 12",
        "space directions": "(2,0,0) (0,2,0) (0,0,2)", "kinds": "domain domain domain", "endian": "little", "encoding": "raw",
        "space origin": "(-11,-11,-11)"}


def nrrd(data=None, magic="NRRD0004", **changes):
    """changes: with _ for the blanks in the names."""
    fields = {**NRRD, **{name.replace("_", " "): value for name, value in changes.items()}}
    head = magic + "\n" + "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None) + "\n"
    return head.encode() + (voxels(blob()) if data is None else data)


def affine(numbers="1 0 0 0 1 0 0 0 1 0 0 0", fixed="0 0 0", kind="AffineTransform_double_3_3", head="#Insight Transform File V1.0"):
    return f"{head}\n#Transform 0\nTransform: {kind}\nParameters: {numbers}\nFixedParameters: {fixed}\n".encode()


def field(scale=1.0, **more):
    """Displacements of about a millimetre, times scale, that differ from place to place."""
    return nifti(lambda x, y, z: (scale * math.sin(x / 3), scale * math.cos(y / 2), scale * 0.5 * math.sin(z)), components=3, **more)
