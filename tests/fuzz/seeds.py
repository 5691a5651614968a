#!/usr/bin/env python3
"""Where the fuzz targets begin: small files of every kind that their parsers tell apart, made here, and the words of the formats for
libFuzzer's -dict.

    tests/fuzz/seeds.py FOLDER      FOLDER/TARGET/* and FOLDER/TARGET.dict"""
import gzip
import json
import random
import struct
import sys
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent / "apps/bad_input"))
import volumes  # noqa: E402
from volumes import affine, metaimage, nifti, nrrd, voxels  # noqa: E402

SIZE = (4, 3, 2)


def ramp(x, y, z):
    return x + 2.0 * y - z


def vector(x, y, z):
    return 0.5 * x, -0.25 * y, 0.125 * z


def position(x, y, z):
    return 2.0 * x - 3, 2.0 * y - 2, 2.0 * z - 1


def volume(**fields):
    return nifti(ramp, SIZE, **fields)


def stored(datatype, letter, **fields):
    """The same in another type."""
    count = SIZE[0] * SIZE[1] * SIZE[2]
    return volume(at_70=("h", datatype), **fields)[:352] + struct.pack(f"<{count}{letter}", *range(count))


def swapped(data):
    """A header of the other byte order; the voxels stay."""
    header = bytearray(data[:352])
    for begin, count, width in ((0, 1, 4), (32, 1, 4), (40, 8, 2), (56, 3, 4), (68, 4, 2), (76, 11, 4), (120, 1, 2), (124, 6, 4), (252, 2, 2),
                                (256, 18, 4)):
        for i in range(begin, begin + count * width, width):
            header[i:i + width] = header[i:i + width][::-1]
    return bytes(header) + data[352:]


def second_version(qform_code=0, sform_code=1):
    """The same as NIfTI-2."""
    header = bytearray(544)
    struct.pack_into("<i8s2h8q", header, 0, 540, b"n+2\0\r\n\x1a\n", 16, 32, 3, *SIZE, 1, 1, 1, 1)
    struct.pack_into("<8dq2d", header, 104, 1, 2, 2, 2, 1, 1, 1, 1, 544, 1, 0)
    struct.pack_into("<2i6d12d", header, 344, qform_code, sform_code, 0, 0, 0, 1, 2, 3, 2, 0, 0, 1, 0, 2, 0, 2, 0, 0, 2, 3)
    struct.pack_into("<i", header, 500, 2)
    return bytes(header) + voxels(ramp, SIZE)


def niftis():
    yield volume()
    yield second_version()
    yield second_version(1, 0)
    yield volume(gz=True)
    yield swapped(volume())
    for datatype, letter in ((2, "B"), (4, "h"), (8, "i"), (64, "d"), (256, "b"), (512, "H"), (768, "I"), (1024, "q"), (1280, "Q")):
        yield stored(datatype, letter)
    yield stored(4, "h", at_112=("f", 0.5), at_116=("f", -3))
    yield volume(at_254=("h", 0))
    yield volume(at_252=("h", 0))
    yield volume(at_252=("h", 0), at_254=("h", 0))
    yield volume(at_284=("f", 0.01))
    yield volume(at_40=("h", 4), at_46=("h", 1), at_48=("h", 2))
    yield nifti(vector, SIZE, components=3)
    yield stored(128, "B")[:352] + bytes(3 * 24)
    with_extension = bytearray(volume(at_108=("f", 384)))
    with_extension[348:352] = b"\1\0\0\0"
    with_extension[352:352] = struct.pack("<2i", 32, 4) + b"an extension of AFNI's !"
    yield bytes(with_extension)


def metaimages():
    data = voxels(ramp, SIZE)
    sizes = dict(DimSize="4 3 2")
    yield metaimage(data, **sizes)
    packed = zlib.compress(data)
    yield metaimage(packed, CompressedData="True", CompressedDataSize=str(len(packed)), **sizes)
    yield metaimage(data, ElementNumberOfChannels="3", DimSize="2 2 2")
    yield metaimage(data, BinaryDataByteOrderMSB="True", ElementType="MET_SHORT", DimSize="4 3 4")
    yield metaimage(b"", ElementDataFile="x.raw", HeaderSize="-1", **sizes)
    yield metaimage(data, NDims="4", DimSize="3 2 2 2", TransformMatrix="1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1", Offset="0 0 0 0", ElementSpacing="1 1 1 1")
    yield metaimage(data, NDims="2", DimSize="6 4", TransformMatrix="1 0 0 1", Offset="0 0", ElementSpacing="1 1")
    yield metaimage(data, Comment="made by hand", AnatomicalOrientation="RAI", CenterOfRotation="0 0 0", Modality="MET_MOD_MR", **sizes)


def nrrds():
    data = voxels(ramp, SIZE)
    yield nrrd(data, sizes="4 3 2")
    yield nrrd(gzip.compress(data, mtime=0), sizes="4 3 2", encoding="gzip")
    yield nrrd(data, magic="NRRD0005", sizes="3 2 2 2", dimension="4", space_directions="none (2,0,0) (0,2,0) (0,0,2)", kinds="vector domain domain domain")
    yield nrrd(data, sizes="2 2 2 3", dimension="4", space_directions="(2,0,0) (0,2,0) (0,0,2) none", kinds="domain domain domain list")
    yield nrrd(data, sizes="4 3 4", type="int16", endian="big")
    yield nrrd(data, sizes="4 3 2", space=None, space_directions=None, space_origin=None, spacings="1 1 2", kinds=None)
    yield nrrd(b"", sizes="4 3 2", data_file="x.raw", byte_skip="-1")
    yield nrrd(data, sizes="4 3 2", space="right-anterior-superior", measurement_frame="(1,0,0) (0,1,0) (0,0,1)", content="made by hand")


def mghs():
    whole = struct.pack(">7ih15f", 1, *SIZE, 1, 3, 0, 1, 2, 2, 2, -1, 0, 0, 0, 0, -1, 0, 1, 0, 1, 2, 3).ljust(284, b"\0")
    floats = struct.pack(">24f", *range(24))
    yield whole + floats
    yield gzip.compress(whole + floats, mtime=0)
    yield whole[:16] + struct.pack(">2i", 2, 4) + whole[24:] + floats + struct.pack(">5f", 2500, 1, 2, 3, 4)
    yield whole[:28] + bytes(2) + whole[30:] + floats


FIELD = "4 3 2 0 0 0 2 2 2 1 0 0 0 1 0 0 0 1"
LATTICE = "5 4 4 -2 -2 -2 2 2 2 1 0 0 0 1 0 0 0 1"


def itk_texts():
    for kind, numbers, fixed in (("AffineTransform_double_3_3", "1 0 0 0 1 0 0 0 1 1 2 3", "0 0 0"), ("Euler3DTransform_double_3_3", "0.1 0 0 1 2 3", "0 0 0 0"),
                                 ("VersorRigid3DTransform_double_3_3", "0 0 0.1 1 2 3", "1 2 3"), ("TranslationTransform_double_3_3", "1 2 3", ""),
                                 ("Similarity3DTransform_double_3_3", "0 0 0 1 2 3 1.1", "0 0 0"), ("ScaleTransform_float_3_3", "1 2 1", "0 0 0"),
                                 ("QuaternionRigidTransform_double_3_3", "0 0 0 1 1 2 3", "0 0 0"), ("AffineTransform_double_2_2", "1 0 0 1 0 0", "0 0"),
                                 ("DisplacementFieldTransform_double_3_3", " ".join(["0.5"] * 72), FIELD),
                                 ("BSplineTransform_double_3_3", " ".join(["0.5"] * 240), LATTICE)):
        yield affine(numbers, fixed, kind)
    yield (b"#Insight Transform File V1.0\n#Transform 0\nTransform: CompositeTransform_double_3_3\n#Transform 1\nTransform: TranslationTransform_double_3_3\n"
           b"Parameters: 1 2 3\nFixedParameters: \n#Transform 2\nTransform: AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 1 2 3\nFixedParameters: 0 0 0\n")


def matlab(*matrices):
    return b"".join(struct.pack("<5i", 0, len(numbers), 1, 0, len(name) + 1) + name + b"\0" + struct.pack(f"<{len(numbers)}d", *numbers)
                    for name, numbers in matrices)


def itk_matlabs():
    yield matlab((b"AffineTransform_double_3_3", (1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3)), (b"fixed", (0, 0, 0)))
    yield matlab((b"MatrixOffsetTransformBase_double_3_3", (1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3)), (b"fixed", (4, 5, 6)))
    yield matlab((b"TranslationTransform_double_3_3", (1, 2, 3)))
    yield matlab((b"Euler3DTransform_double_3_3", (0.1, 0, 0, 1, 2, 3)), (b"fixed", (0, 0, 0, 0)))


MATRIX = "1 0 0 1\n0 1 0 2\n0 0 1 3\n0 0 0 1\n"
VOLUME = "valid = 1\nfilename = x.mgz\nvolume = 4 3 2\nvoxelsize = 2 2 2\nxras = -1 0 0\nyras = 0 0 -1\nzras = 0 1 0\ncras = 1 2 3\n"


def transform_texts():
    yield MATRIX.encode()
    yield b"# mrtrix_transform: x\n" + MATRIX.replace(" ", "  ").encode()
    yield b"# 3dvolreg matrices (DICOM-to-DICOM, row-by-row):\n1 0 0 1 0 1 0 2 0 0 1 3\n"
    for kind in "01":
        yield f"type = {kind}\nnxforms = 1\nmean = 0 0 0\nsigma = 1\n1 4 4\n{MATRIX}src volume info\n{VOLUME}dst volume info\n{VOLUME}".encode()
    yield b"1e3,0,0,-1.5e-2\n0,1,0,nan\n0,0,inf,0\n"
    dimensions = "(FixedImageDimension 3)\n(MovingImageDimension 3)\n(HowToCombineTransforms \"Compose\")\n"
    for kind, count in (("Translation", 3), ("Euler", 6), ("Similarity", 7), ("Affine", 12)):
        numbers = " ".join(str(0.1 * i) for i in range(count))
        yield f'{dimensions}(Transform "{kind}Transform")\n(TransformParameters {numbers})\n(CenterOfRotationPoint 1 2 3) // where\n'.encode()
    grids = "".join(f"({begin}Size {n})\n({begin}Index 0 0 0)\n({begin}Spacing 2 2 3)\n({begin}Origin -9 -8 -7)\n({begin}Direction 1 0 0 0 1 0 0 0 1)\n"
                    for begin, n in (("", "5 6 7"), ("Grid", "4 4 4")))
    yield f'{dimensions}(Transform "BSplineTransform")\n(TransformParameters {"0.5 " * 192})\n{grids}'.encode()


def transform_niftis():
    def named(data, name, p1=0.0):
        data = bytearray(data)
        data[328:328 + len(name)] = name
        struct.pack_into("<f", data, 56, p1)
        return bytes(data)
    field = nifti(vector, SIZE, components=3)
    places = nifti(position, SIZE, components=3)
    yield field
    yield named(places, b"Mapping")
    for kind in range(7):
        yield named(places, b"NREG_TRANS", kind)
    four = dict(at_40=("h", 4), at_48=("h", 3), at_50=("h", 1))
    for intent in (0, 2006):
        yield nifti(vector, SIZE, components=3, at_68=("h", intent), **four)
        yield nifti(position, SIZE, components=3, at_68=("h", intent), **four)
    for intent in (2007, 2008, 2009):  # of a fixed image of 5 x 6 x 7 voxels of 1 mm, as the target has it
        yield nifti(vector, SIZE, components=3, at_68=("h", intent), at_56=("f", 1), at_60=("f", 1), at_64=("f", 1), at_268=("f", 5), at_272=("f", 6),
                    at_276=("f", 7), at_254=("h", 0), **four)


def morphs():
    def geometry(valid=1):
        return struct.pack(">4i15f", valid, 8, 6, 4, 1, 1, 1, -1, 0, 0, 0, 0, -1, 0, 1, 0, 1, 2, 3) + bytes(512)
    nodes = b"".join(struct.pack(">6fi", x, y, z, x + 0.5, y, z, 0) + bytes(8) for x in range(SIZE[0]) for y in range(SIZE[1]) for z in range(SIZE[2]))
    head = struct.pack(">f4if", 1, *SIZE, 2, 0.1)
    for kind in (1, 2):
        whole = head + nodes + struct.pack(">i", 10) + geometry() + geometry() + struct.pack(">2i", 11, kind)
        yield whole
        yield gzip.compress(whole, mtime=0)
    yield head + nodes + struct.pack(">i", 12) + bytes(4 * 24) + struct.pack(">i", 10) + geometry() + geometry(0)


def plys():
    def head(form, corners="uchar int"):
        return (f"ply\nformat {form} 1.0\ncomment by hand\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
                f"element face 2\nproperty list {corners} vertex_indices\nend_header\n").encode()
    yield head("ascii") + b"0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n4 0 1 2 3\n"
    for form, order in (("binary_little_endian", "<"), ("binary_big_endian", ">")):
        yield head(form) + struct.pack(order + "12f", *range(12)) + b"".join(struct.pack(order + "B3i", 3, *f) for f in ((0, 1, 2), (1, 2, 3)))
    yield head("binary_little_endian", "int short") + struct.pack("<12f", *range(12)) + struct.pack("<i3hi4h", 3, 0, 1, 2, 4, 0, 1, 2, 3)


def objs():
    yield b"# by hand\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 2 3\nf 1/1/1 2//2 4/4\nf -1 -2 -3\n"
    yield b"v 0 0 \\\n0\r\nv 1e3 0 -1.5\r\nv 0 1 0\r\nf 1 2 \\\n3\r\n"


def points():
    yield b"x,y,z,name\n0,0,0,a\n1.5,-2e3,3,b\n\n# a comment\n4 , 5 , 6\n"
    yield b"1,2,3\r\n4,5,6\r\n"
    yield (b"# Markups fiducial file version = 4.11\n# CoordinateSystem = LPS\n# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc\n"
           b"1,1.5,-2,3,0,0,0,1,1,1,0,F-1,\n2,4,5,6,0,0,0,1,1,1,0,F-2,\n")


def markups():
    for system, position in (("LPS", [1.5, -2, 3]), ("RAS", [4, 5e-3, 6])):
        yield json.dumps({"@schema": "https://raw.githubusercontent.com/slicer/slicer/master/markups-schema-v1.0.3.json#", "markups": [
            {"type": "Fiducial", "coordinateSystem": system, "coordinateUnits": "mm", "measurements": [{"name": "length", "value": 1}],
             "controlPoints": [{"id": "1", "label": "F-1", "position": position, "positionStatus": "defined"}]}]}).encode()
    yield b'{"markups":[{"type":"Curve","coordinateUnits":["mm","UCUM"],"controlPoints":[{"position":[0,0,0]}]}]}'


def tables():
    yield b"fixed\tmoving\toutput\tfixed_mask\tinit\na.nii\tb.nii\tout/a_\t\ta.mat\n\n# none\nc.nii\td.nii\tout/c_\tm.nii\t\n"
    yield b"\xef\xbb\xbffixed\tmoving\toutput\r\na\tb\tc\r\n"
    yield b"name\timage\tmask\tlabels\tchannel2\na\ta.nii\tm.nii\tl.nii\tc.nii\nb\tb.nii\t\t\td.nii\n"
    yield b"image\na.nii\nb.nii.gz\n"


def inis():
    yield b"# by hand\nfixed = a.nii\nfixed = b.nii\nlevels = 4\nbending = 0.01\nquiet = yes\nsimilarity = nmi\nchannel-weights = 1 0.5\n"
    yield b"[section]\nlevels=2 # two\nquiet=0\n"


def any_bytes():
    noise = random.Random(1)
    for size in (8, 64, 256, 1024):
        yield noise.randbytes(size)


SEEDS = {"nifti": niftis, "metaimage": metaimages, "nrrd": nrrds, "mgh": mghs, "itk_text": itk_texts, "itk_matlab": itk_matlabs, "transform_text": transform_texts,
         "transform_nifti": transform_niftis, "m3z": morphs, "ply": plys, "obj": objs, "points": points, "markups": markups,
         "tables": tables, "ini": inis, "hdf5": any_bytes}

NUMBERS = "-1 0 1 nan inf 1e308 -1e-308 2147483647 4294967296 9223372036854775807 99999999999999999999".split()
WORDS = {
    "metaimage": [*volumes.METAIMAGE, "True", "False", "LOCAL", "LIST", "x.raw", "%d", "HeaderSize", "CompressedDataSize", "ElementNumberOfChannels",
                  "ElementSize", "Origin", "Position", "CenterOfRotation", "Comment", "Rotation", "Orientation", *(f"MET_{t}" for t in (
                      "CHAR UCHAR SHORT USHORT INT UINT LONG ULONG LONG_LONG ULONG_LONG FLOAT DOUBLE STRING OTHER FLOAT_MATRIX".split()))],
    "nrrd": [*(name + ": " for name in volumes.NRRD), "data file: ", "datafile: ", "byte skip: ", "line skip: ", "spacings: ", "thicknesses: ", "centers: ",
             "labels: ", "units: ", "old min: ", "space units: ", "measurement frame: ", "key:=value", "none", "raw", "gzip", "hex", "LIST", "x.raw", "double",
             "uint8", "int64", "unsigned short", "block", "vector", "3-color", "covariant-vector", "right-anterior-superior", "scanner-xyz", "NRRD0001"],
    "itk_text": ["#Insight Transform File V1.0", "#Transform ", "Transform: ", "Parameters: ", "FixedParameters: ", "CompositeTransform_double_3_3",
                 "DisplacementFieldTransform_double_3_3", "AffineTransform_float_3_3", "BSplineTransform_double_3_3", "Rigid3DTransform_double_3_3",
                 "CenteredAffineTransform_double_3_3", "IdentityTransform_double_3_3", "ScaleSkewVersor3DTransform_double_3_3"],
    "itk_matlab": ["AffineTransform_double_3_3", "TranslationTransform_double_3_3", "CompositeTransform_double_3_3", "DisplacementFieldTransform_double_3_3",
                   "fixed"],
    "transform_text": ["type = ", "nxforms = ", "1 4 4", "src volume info", "dst volume info", "valid = ", "volume = ", "voxelsize = ", "xras = ", "cras = ",
                       "mrtrix", "command_history", "#Insight Transform File", "(TransformParameters ", "(GridSize ", "(Direction ", "BSplineTransform",
                       "(InitialTransformParameterFileName ", "NoInitialTransform"],
    "transform_nifti": ["NREG_TRANS", "Mapping"],
    "ply": ["element vertex ", "element face ", "property list uchar int vertex_indices", "property float ", "property double ", "format ascii 1.0",
            "format binary_big_endian 1.0", "end_header", "element edge ", "comment ", "obj_info ", "uint8", "int32", "float64", "vertex_index"],
    "obj": ["v ", "f ", "vt ", "//", "\\\n"],
    "points": ["# CoordinateSystem = ", "# columns = ", "LPS", "RAS", "id", "label", "x", "y", "z"],
    "markups": ["markups", "controlPoints", "position", "positionStatus", "undefined", "coordinateSystem", "coordinateUnits", "Fiducial", "ClosedCurve",
                "Plane", "LPS", "RAS", "mm", "measurements", "label", "null", "\\ud800"],
    "tables": ["fixed", "moving", "output", "fixed_mask", "init", "name", "image", "mask", "labels", "channel2", "channel9", "\t"],
    "ini": ["fixed", "levels", "bending", "quiet", "similarity", "channel-weights", "help", "=", "[", "]", "yes", "off", "*"],
}


def quoted(word):
    return '"' + "".join(c if " " <= c < "\x7f" and c not in '"\\' else f"\\x{ord(c):02x}" for c in word) + '"\n'


def write(folder):
    for target, seeds in SEEDS.items():
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seeds()):
            (place / f"{number:02}").write_bytes(data)
        (folder / f"{target}.dict").write_text("".join(quoted(word) for word in NUMBERS + WORDS.get(target, [])))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(Path(sys.argv[1]))
