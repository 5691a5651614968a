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
    spacing: float
    origin: tuple

    @staticmethod
    def around(extent, spacing):
        """Centred on 0, at least as many mm."""
        size = tuple(int(e / spacing + 0.5) for e in extent)
        return Grid(size, spacing, tuple(-0.5 * (n - 1) * spacing for n in size))

    def axis(self, i):
        return [self.origin[i] + self.spacing * k for k in range(self.size[i])]


def write(path, grid, voxels):
    """voxels: an array of floats, shorts or bytes, x fastest."""
    header = bytearray(352)
    bits = 8 * voxels.itemsize
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *grid.size, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, CODES[voxels.typecode], bits)
    struct.pack_into("<8f", header, 76, 1, grid.spacing, grid.spacing, grid.spacing, 1, 1, 1, 1)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<2f", header, 112, 1, 0)
    header[123] = 2  # mm
    struct.pack_into("<2h", header, 252, 1, 1)
    # NIfTI's axes are RAS. The quaternion of a half turn about z: the same place as the rows below.
    struct.pack_into("<3f", header, 256, 0, 0, 1)
    struct.pack_into("<3f", header, 268, -grid.origin[0], -grid.origin[1], grid.origin[2])
    for i, sign in enumerate((-1, -1, 1)):
        row = [0.0, 0.0, 0.0, sign * grid.origin[i]]
        row[i] = sign * grid.spacing
        struct.pack_into("<4f", header, 280 + 16 * i, *row)
    header[344:348] = b"n+1\0"
    if sys.byteorder == "big":
        voxels = array.array(voxels.typecode, voxels)
        voxels.byteswap()
    Path(path).write_bytes(bytes(header) + voxels.tobytes())


def read(path):
    """The voxels of a volume of one of the three types, as stored; gzipped or not."""
    content = Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
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
