"""Volumes in plain Python: NIfTI-1 files written and read without any package, as phantoms need them."""
import array
import gzip
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

CODES = {"f": 16, "h": 4, "B": 2}  # type of an array, NIfTI's number of it
TYPES = {code: kind for kind, code in CODES.items()}


@dataclass(frozen=True)
class Grid:
    """Axes along LPS; the first voxel's centre lies at `origin`, in mm."""
    size: tuple
    spacing: tuple
    origin: tuple

    @staticmethod
    def centred(size, spacing):
        return Grid(size, spacing, tuple(-0.5 * (n - 1) * s for n, s in zip(size, spacing)))

    @staticmethod
    def around(extent, spacing):
        """Cubic voxels, centred on 0, at least as many mm."""
        return Grid.centred(tuple(int(e / spacing + 0.5) for e in extent), (spacing,) * 3)

    def axis(self, i):
        return [self.origin[i] + self.spacing[i] * k for k in range(self.size[i])]


def write(path, grid, voxels):
    """voxels: an array of floats, shorts or bytes, x fastest."""
    write_slabs(path, grid, voxels.typecode, [voxels])


def write_slabs(path, grid, kind, slabs):
    """Voxels that come in portions, so that a large volume need not lie in memory: arrays of one type, x fastest."""
    with open(path, "wb") as file:
        file.write(_header(grid, kind))
        for voxels in slabs:
            if sys.byteorder == "big":
                voxels = array.array(kind, voxels)
                voxels.byteswap()
            voxels.tofile(file)


def _header(grid, kind):
    header = bytearray(352)
    bits = 8 * array.array(kind).itemsize
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *grid.size, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, CODES[kind], bits)
    struct.pack_into("<8f", header, 76, 1, *grid.spacing, 1, 1, 1, 1)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<2f", header, 112, 1, 0)
    header[123] = 2  # mm
    struct.pack_into("<2h", header, 252, 1, 1)
    # NIfTI's axes are RAS. The quaternion of a half turn about z: the same place as the rows below.
    struct.pack_into("<3f", header, 256, 0, 0, 1)
    struct.pack_into("<3f", header, 268, -grid.origin[0], -grid.origin[1], grid.origin[2])
    for i, sign in enumerate((-1, -1, 1)):
        row = [0.0, 0.0, 0.0, sign * grid.origin[i]]
        row[i] = sign * grid.spacing[i]
        struct.pack_into("<4f", header, 280 + 16 * i, *row)
    header[344:348] = b"n+1\0"
    return bytes(header)


def _content(path):
    content = Path(path).read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def header(path):
    return _content(path)[:352]


def read(path):
    """The voxels of a volume of one of the three types, as stored; gzipped or not."""
    content = _content(path)
    kind = TYPES.get(struct.unpack_from("<h", content, 70)[0]) if len(content) > 352 else None
    if kind is None or struct.unpack_from("<i", content)[0] != 348:
        raise ValueError(f"{path} is no NIfTI file of floats, shorts or bytes")
    count = 1
    for n in struct.unpack_from("<7h", content, 42)[: struct.unpack_from("<h", content, 40)[0]]:
        count *= n
    start = int(struct.unpack_from("<f", content, 108)[0])
    voxels = array.array(kind)
    if len(content) < start + count * voxels.itemsize:
        raise ValueError(f"{path} ends too soon")
    voxels.frombytes(content[start:start + count * voxels.itemsize])
    if sys.byteorder == "big":
        voxels.byteswap()
    return voxels
