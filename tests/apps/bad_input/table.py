"""The table of bad calls and bad files: what is wrong, how it ends, which words the sentence has.

A case is (files, call, words) or (files, call, words, status or options). files: {name: bytes, or a function of the folder's path that
makes it}. In a call {} stands for each name of files in turn. The status is 2 unless said otherwise; options: environment, limits,
memory="to start": no more than the program takes until it says its version."""
import gzip
import os
import resource
import struct

from volumes import affine, blob, field, metaimage, nifti, nrrd, voxels

QUICK = "--linear none --start none --levels 1 --iterations 1"
FFDREG = f"ffdreg -f f.nii -m m.nii -o out_ {QUICK}"
FLUIDREG = f"fluidreg -f f.nii -m m.nii -o out_ {QUICK}"
LINREG = "linreg -f f.nii -m m.nii -o out_ --levels 1 --iterations 1"
DENOISE = "nlmdenoise -i labels.nii -o out_"
APPLY = "regtool apply -i m.nii -r f.nii -o out.nii -t a.txt"
NAN, INF = float("nan"), float("inf")


def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def link_to(target):
    return lambda path: path.symlink_to(target)


def changed(data, offset, new):
    return data[:offset] + new + data[offset + len(new):]


# --- calls -----------------------------------------------------------------------------------------------------------------------

def options(call, *cases):
    """Each: what is added to the call, words of the sentence."""
    return [({}, f"{call} {added}", words) for added, words in cases]


COMMON = [  # of ffdreg, fluidreg and linreg
    ("--nonsense 3", "nonsense"), ("stray", "--help"), ("-f f.nii", "-f names 2 channels"), ("-s nim", "--similarity 'nim'"),
    ("-s lncc+", "--similarity"), ("-s 0nmi", "--similarity"), ("-s nmi+-1lncc", "--similarity"), ("--bins x -s nmi", "--bins"),
    ("--bins 5 -s nmi", "--bins"), ("--bins 257 -s nmi", "--bins"), ("--bins 1e9 -s nmi", "--bins"), ("--bins=-3 -s nmi", "--bins"),
    ("--estimator soft", "--estimator 'soft'"), ("--histogram-scheme fast", "--list-schemes"), ("--ratio-scheme fast", "--list-schemes"),
    ("-s lncc --lncc-radius 0", "--lncc-radius"), ("-s lncc --lncc-radius 65", "--lncc-radius"), ("-s mind --mind-radius 0", "--mind-radius"),
    ("-s mind --mind-dilation 17", "--mind-dilation"), ("-s cr --cr-border=-1", "--cr-border must lie between 0 and 1e6"),
    ("-s cr --cr-border 1e9", "--cr-border must lie between 0 and 1e6"), ("-s cr --cr-border abc", "'--cr-border'"),
    ("-s cr --cr-border nan", "--cr-border"), ("--interpolation nearest", "--interpolation 'nearest'"), ("--device gpu", "gpu"),
    ("--device cuda:77", "available: cpu"), ("--threads=-1", "--threads must lie between 0 and 1024"),
    ("--threads 1025", "--threads must lie between 0 and 1024"), ("--threads many", "'--threads'"), ("-v -q", "--verbose and --quiet"),
    ("--background x", "--background 'x'"), ("--clip 1", "--clip"), ("--clip 5,1", "--clip"), ("--bids T1w", "--bids"),
    ("--bids a_b:c", "--bids"), ("--init moments --init center", "--init"), ("--fixed-mask missing.nii", "missing.nii"),
    ("--moving-mask missing.nii", "missing.nii"), ("--init missing.mat", "missing.mat"), ("--init missing.h5", "missing.h5"),
    ("--init f.xyz", "f.xyz"), ("--config missing.ini", "missing.ini"), ("--compress 10", "--compress must lie between 0"),
    ("--compress=-1", "--compress must lie between 0"), ("--report xml", "--report 'xml'"), ("--report html --outputs warp", "add report to it"),
    ("--threads %value%", "'%value%'"), ("--no%original_token%", "%original_token%"),  # Boost's own placeholders
]
PREFIXES = [(f"-o out{end}", "ends as a file's name, but is the prefix of several files: -o out_")
            for end in (".nii", ".nii.gz", ".mha", ".MHD", ".nrrd", ".nhdr", ".hdr", ".img", ".ply")]
CALLS = [
    *(case for call in ("ffdreg -f f.nii -m m.nii", "fluidreg -f f.nii -m m.nii", "linreg -f f.nii -m m.nii", "nlmdenoise -i labels.nii")
      for case in options(call, *PREFIXES)),
    *options("ffdreg", ("", "-f FILE"), ("-m m.nii -o out_", "-f FILE"), ("-f f.nii -o out_", "-m FILE"), ("-f f.nii -m m.nii", "-o PREFIX")),
    *options(FFDREG.replace(QUICK, "").replace("-f f.nii ", "-f f.nii "), *COMMON,
             ("--levels 0", "--levels"), ("--levels 99", "levels"), ("--levels 1.5", "'--levels'"), ("--iterations 10xx5", "200x100x50"),
             ("--iterations x", "200x100x50"), ("--iterations=-1", "200x100x50"), ("--iterations 1x2", "per level"),
             ("--linear some", "--linear 'some'"), ("--start far", "--start 'far'"), ("--spacing -3mm", "10mm"), ("--spacing 3cm", "10mm"),
             ("--spacing 0", "10mm"), ("--spacing 1e30mm", "spacing"), ("--spacing nan", "spacing"), ("--bending x", "'--bending'"),
             ("--spacing 5", "--spacing '5' lacks its unit"), ("--spacing 5 vox", "a word stands where an option should"),
             ("--bending=-1", "--bending must lie between 0 and 1e9"), ("--bending inf", "--bending must lie between 0 and 1e9"),
             ("--bending nan", "--bending"), ("--log-jacobian=-1", "--log-jacobian"), ("--log-jacobian nan", "--log-jacobian"),
             ("--optimizer adam", "lbfgs"), ("--dof 6", "dof"), ("--bendin 1", "bendin")),
    *options(f"fluidreg -f f.nii -m m.nii -o out_", *COMMON,
             ("--levels 0", "--levels"), ("--model viscous", "--model"), ("--demons esm", "--model demons"),
             ("--model demons --demons fast", "--demons"), ("--kl=-1 --model fluid", "--kl"), ("--sigma-update 0vox", "--sigma-update"),
             ("--sigma-field=-1", "--sigma-field"), ("--smoother box", "--smoother"), ("--velocity stokes", "--velocity"),
             ("--mu 1", "--mu"), ("--symmetric --model fluid", "--symmetric"), ("--step 0", "--step"), ("--step x", "'--step'"),
             ("--spacing 3", "spacing"),
             ("--model fluid --velocity navier --smoother fft", "--smoother")),
    *options("linreg -f f.nii -m m.nii -o out_", *COMMON,
             ("--dof 8", "--dof '8'"), ("--dof x", "'--dof'"), ("--search all", "--search 'all'"), ("--refine some", "--refine 'some'"),
             ("--powell-resolution 1", "--powell-resolution"), ("--powell-resolution=-1,1", "--powell-resolution"),
             ("--sampling nearest", "--sampling 'nearest'"), ("--linear rigid", "--dof"), ("--start discrete", "--init"),
             ("--levels 0", "--levels"), ("--init u.nii", "displacement")),
    *options("nlmdenoise", ("", "-i FILE"), ("-i labels.nii", "-o PREFIX"), ("-o out_", "-i FILE")),
    *options(DENOISE,
             ("--band 0", "--band"), ("--band=-1", "--band"), ("--band 1000000000", "--band must lie between 0 and 100"), ("--band x", "'--band'"),
             ("--band nan", "--band"), ("--patch 4", "--patch"), ("--patch 99", "--patch"), ("--neighbours 0", "--neighbours"),
             ("--neighbours 257", "--neighbours"), ("--iterations=-1", "--iterations"), ("--iterations 1000000000", "--iterations"),
             ("--c1 0", "--c1"), ("--c1 x", "c1"), ("--c2 x", "--c2 'x'"), ("--c2=-1", "--c2"), ("--limit 0", "--limit"),
             ("--limit 1e9", "--limit"), ("--search-radius x", "--search-radius 'x'"), ("--search-radius 0", "--search-radius"),
             ("--strategy best", "--strategy 'best'"), ("--input-kind voxels", "--input-kind 'voxels'"), ("--label 7", "label 7"),
             ("--label 99999999", "--label"), ("--label 1 --iso 0.5", "exclude each other"), ("--iso 5", "--iso 5"), ("--iso x", "iso"),
             ("--resolution 1", "--resolution"), ("--input-kind labels --iso 1", "--iso"), ("--input-kind sdf", "one sign"),
             ("--threads 2000", "--threads"), ("-v -q", "exclude each other"), ("stray", "--help"), ("--fixed f.nii", "fixed"),
             ("--device tpu", "tpu"), ("--config missing.ini", "missing.ini")),
    *options("regtool", ("nonsense", "'nonsense' is no command"), ("aply -i m.nii", "'aply' is no command")),
    *options("regtool apply", ("", "-i IMAGE"), ("-i m.nii", "-r IMAGE"), ("-i m.nii -r f.nii", "name one for each"),
             ("-i m.nii -r f.nii -o out.nii out2.nii", "name one for each"), ("-i m.nii m.nii -r f.nii -o out.nii out.nii", "twice")),
    *options(APPLY, ("--interpolation sinc", "--interpolation 'sinc'"), ("--type int128", "--type 'int128'"), ("--fill x", "--fill 'x' is neither a number nor min"),
             ("--fill min --interpolation labels", "--fill min is of images"),
             ("--fill nan --type int16", "--fill nan does not fit"), ("--fill -1 --type uint8", "--fill -1 does not fit"),
             ("--fill -5.5 --interpolation labels", "--fill -5.5 is no label"), ("--fill 1e20 --interpolation labels", "is no label"),
             ("--fill inf --interpolation labels", "is no label"), ("--fill nan --interpolation labels", "is no label"),
             ("-t missing.mat", "missing.mat"), ("-t [a.txt,2]", "[FILE,1]"), ("-t [a.txt", "[a.txt"), ("-t m.nii", "m.nii"),
             ("--threads=-2", "--threads"), ("--device cuda:99", "cuda"), ("--nonsense", "nonsense"), ("stray", "--help"), ("--bids", "--bids"),
             ("--threads=%value%", "'%value%'")),
    *options("regtool apply -i m.nii -r f.nii -t a.txt", ("-o out.xyz", "out.xyz"), ("-o out", "out"), ("-o m.nii", "also an input"),
             ("-o a.txt", "also an input"), ("-o out.mhd", "out.mhd"), ("-o out.Nii", "out.Nii"), ("-o out.nii.GZ", "out.nii.GZ"),
             ("-o out.MHA", "use .nii, .nii.gz, .mha")),
    *options("regtool points", ("", "-i IN.csv"), ("-i points.csv", "-o OUT"), ("-i points.csv -o out.csv", "--direction"),
             ("-i points.csv -o out.csv --direction up", "--direction 'up'"), ("-i points.csv -o out.ply --direction fixed-to-moving", "out.ply"),
             ("-i points.csv -o out.csv --direction fixed-to-moving --frame mm", "--frame 'mm'"),
             ("-i points.csv -o out.csv --direction fixed-to-moving --frame voxel", "--image"),
             ("-i points.csv -o out.csv --direction fixed-to-moving --image f.nii", "--frame voxel"),
             ("-i missing.csv -o out.csv --direction fixed-to-moving -t a.txt", "missing.csv"),
             ("-i points.csv -o points.csv --direction fixed-to-moving -t a.txt", "also an input"),
             ("-i points.csv -o a.txt --direction fixed-to-moving -t [a.txt,1]", "also an input")),
    *options("regtool compose", ("", "-"), ("-r f.nii -t u.nii", "-o"), ("-r missing.nii -t u.nii -o out.nii", "missing.nii"),
             ("-r f.nii -t missing.nii -o out.nii", "missing.nii"), ("-r f.nii -t u.nii -o out.txt", "out.txt"),
             *((f"-r f.nii -t missing.nii -o out.{end}", f"out.{end}|.nii, .nii.gz, .mha or .nrrd") for end in ("h5", "mgz", "mhd")),
             ("-r f.nii -t u.nii -o u.nii", "also an input"), ("-r f.nii -t [u.nii,1] -o u.nii", "also an input")),
    *options("regtool invert", ("", "-"), ("-t u.nii", "-o"), ("-t missing.mat -o out.mat", "missing.mat"), ("-t [u.nii,1] -o u.nii", "also an input"),
             ("-t [u.nii,1] -o out.nii", "invert takes FILE, not [FILE,1]"),
             ("-t u.nii --moving missing.nii -o out.h5", "out.h5|.nii, .nii.gz, .mha or .nrrd")),
    *options("regtool jacobian", ("", "-"), ("-r f.nii -t missing.nii -o out.nii", "missing.nii"), ("-r f.nii -t missing.nii -o out.csv", "out.csv")),
    *options("regtool convert", ("", "-"), ("-t a.txt -o out.txt", "--to"), ("-t a.txt --to elastix -o out.txt", "elastix"),
             ("-t a.txt --from ants --to itk -o out.txt", "ants"), ("-t missing.mat --to itk -o out.mat", "missing.mat"),
             ("-t a.txt --to fsl -o out.mat", "--fixed"), ("-t u.nii --to freesurfer -o out.m3z --fixed f.nii --moving m.nii", "out.m3z"),
             ("-t a.txt --to itk -o a.txt", "also an input"), ("-t u.nii -t u.nii --to itk -o out.nii", "out.nii")),
    *options("regtool measure", ("", "-"), ("--fixed-labels labels.nii", "labels"), ("--fixed-labels missing.nii --moving-labels labels.nii", "missing.nii"),
             ("--field missing.nii", "missing.nii"), ("--field f.nii", "f.nii")),
    *options("regtool report", ("", "prefix"), ("missing_", "missing_report.json"), ("out_ --group .", "prefix"), ("--group missing", "missing"),
             ("--group .", "no report"), ("--group . --fixed f.nii", "--group"), ("a.txt", "a.txtreport.json"), ("out_ -t a -t b -t c", "compose")),
    *options("regtool info", ("", "regtool info FILE"), ("missing.nii", "missing.nii"), ("missing.txt", "missing.txt"), ("a.txt --from what", "what")),
]

# --- files that are no files -----------------------------------------------------------------------------------------------------

LONG = "n" * 300
PLACES = [
    (kind, make, words) for kind, make, words in (
        ("pipe", fifo, "not a regular file"), ("folder", folder, "folder"), ("device", link_to("/dev/zero"), "not a regular file"),
        ("loop", lambda path: path.symlink_to(path.name), "symbolic links"), ("link", link_to("nowhere"), "link to a file that is not there"),
        ("empty", b"", "empty"))]
READERS = [
    f"ffdreg -f {{}} -m m.nii -o out_", "linreg -f f.nii -m {} -o out_", f"{FFDREG} --fixed-mask {{}}", "nlmdenoise -i {} -o out_",
    "regtool apply -i {} -r f.nii -t a.txt -o out.nii", "regtool apply -i m.nii -r {} -t a.txt -o out.nii", "regtool info {}"]
NO_FILES = [
    *(({f"{kind}.{extension}": make}, call, f"{kind}.{extension}|{words}")
      for kind, make, words in PLACES for extension, call in zip(("nii", "nii.gz", "mha", "nrrd", "hdr", "nhdr", "mhd"), READERS)),
    *(({f"{kind}.{extension}": make}, f"{FFDREG} --init {{}}", f"{kind}.{extension}|{words}")
      for kind, make, words in PLACES for extension in ("mat", "txt", "tfm", "h5", "nii")),
    *(({f"{kind}.ini": make}, f"{FFDREG} --config {{}}", f"{kind}.ini|{words}") for kind, make, words in PLACES),
    *(({f"{kind}.csv": make}, "regtool points -i {} -t a.txt -o out.csv --direction fixed-to-moving", f"{kind}.csv|{words}")
      for kind, make, words in PLACES),
    *(({f"{kind}.raw": make, "d.mhd": metaimage(b"", ElementDataFile=f"{kind}.raw")}, "ffdreg -f d.mhd -m m.nii -o out_", f"{kind}.raw|{words}")
      for kind, make, words in PLACES),
    *(({f"{kind}.raw": make, "d.nhdr": nrrd(b"", data_file=f"{kind}.raw")}, "linreg -f d.nhdr -m m.nii -o out_", f"{kind}.raw|{words}")
      for kind, make, words in PLACES),
    *(({f"{kind}.img": make, f"{kind}.hdr": changed(nifti()[:348], 344, b"ni1\0")}, f"ffdreg -f {kind}.hdr -m m.nii -o out_", f"{kind}.img|{words}")
      for kind, make, words in PLACES if kind not in ("loop", "link")),
    ({}, f"ffdreg -f {LONG}.nii -m m.nii -o out_", "File name too long"),
    ({}, f"ffdreg -f f.nii -m m.nii -o {LONG} {QUICK}", "File name too long"),
    ({}, f"ffdreg -f f.nii -m m.nii -o outer/{LONG}/x {QUICK}", "File name too long"),
    ({}, f"{FFDREG} --init {LONG}.mat", "File name too long"),
    ({"loop": link_to("loop")}, f"ffdreg -f f.nii -m m.nii -o loop/out_ {QUICK}", "loop|symbolic links"),
    ({"file": b"x"}, f"ffdreg -f f.nii -m m.nii -o file/out_ {QUICK}", "file'"),
    ({}, f"ffdreg -f f.nii -m m.nii -o /proc/out_ {QUICK}", "'/proc'"),
    ({"out_report.json": folder}, FFDREG, "out_report.json|folder"),
    ({"out_Warped.nii.gz": fifo}, FFDREG, "out_Warped.nii.gz|no regular file"),
    *(({"out.nii": link_to(there)}, APPLY, "out.nii|no regular file") for there in ("/dev/null", "/dev/stdout")),
    ({"out_report.json": b"levels = 1\n"}, f"{FFDREG} --config {{}}", "out_report.json|also an input"),
    ({"out_report.json": b"patch = 3\n"}, f"{DENOISE} --config {{}}", "out_report.json|also an input"),
    ({"out_Warped.nii.gz": nifti(gz=True)}, f"ffdreg -f f.nii -m {{}} -o out_ {QUICK}", "also an input"),
]

# --- configurations --------------------------------------------------------------------------------------------------------------

CONFIGURATIONS = [
    *(({"job.ini": text}, f"{call} --config {{}}", f"job.ini|{words}") for call, text, words in (
        (FFDREG, b"bending = x\n", "bending"), (FFDREG, b"bending = -1\n", "--bending must lie between 0 and 1e9"),
        (FFDREG, b"garbage\n", "garbage"), (FFDREG, b"[section\nthreads = 1\n", "section"), (FFDREG, b"levles = 1\n", "levles"),
        (FFDREG, b"similarity = foo\n", "--similarity 'foo'"), (FFDREG, b"\x00\x01\x02\n", "job.ini"), (FFDREG, b"threads = 5000\n", "--threads"),
        (FFDREG, b"spacing = 3 cm\n", "--spacing"), (FFDREG, b"histogram-scheme = fast\n", "--list-schemes"),
        (LINREG, b"dof = 5\n", "--dof"), (LINREG, b"bending = 1\n", "bending"), (FLUIDREG, b"model = x\n", "--model"),
        (FLUIDREG, b"kl = -1\n", "--kl"), (DENOISE, b"band = 1000000000\n", "--band"), (DENOISE, b"patch = 4\n", "--patch"),
        *((call, f"{name} = 1\n".encode(), f"'{name}', which is an option of the command line alone")
          for call in (FFDREG, DENOISE) for name in ("config", "help", "version")),
        (LINREG, b"list-schemes = 1\n", "'list-schemes', which is an option of the command line alone"),
        (FFDREG, b"\xef\xbb\xbflevles = 1\n", "unrecognised option 'levles'"),
        (FFDREG, b"bending = %value%\n", "'%value%'"), (LINREG, b"[%canonical_option%]\nx%option% = 1\n", "%canonical_option%"))),
]

# --- damaged images --------------------------------------------------------------------------------------------------------------

IMAGES = [
    *((f"{n}.nii", data, words) for n, (data, words) in enumerate((
        (nifti(cut=100), "header"), (nifti(cut=352), "0 of 1728"), (nifti(cut=352 + 400), "100 of 1728"), (b"text\n" * 100, "not a NIfTI"),
        (nifti(gz=True), "name it .nii.gz"), (nifti(at_0=("i", 349)), "not a NIfTI"), (nifti(at_0=("i", 540)), "not a NIfTI"),
        (nifti(at_40=("h", 0)), "0 dimensions"), (nifti(at_40=("h", 9)), "9 dimensions"), (nifti(at_42=("h", 0)), "0 x 12 x 12"),
        (nifti(at_42=("h", -5)), "-5 x 12"), (nifti(at_42=("h", 32767)), "1728 of"), (nifti(at_46=("h", 1)), "2-D"),
        (nifti(at_48=("h", 0), at_40=("h", 4)), "no volumes"), (nifti(at_40=("h", 4), at_48=("h", 3)), "1728 of"),
        (nifti(at_70=("h", 0)), "data type 0"), (nifti(at_70=("h", 32)), "complex"), (nifti(at_70=("h", 128)), "RGB"),
        (nifti(at_70=("h", 1536)), "1536"), (nifti(at_76=("f", NAN)), "not finite"), (nifti(at_80=("f", NAN)), "voxel size"),
        (nifti(at_80=("f", INF)), "voxel size"), (nifti(at_80=("f", 0)), "voxel size"), (nifti(at_84=("f", -2)), "voxel size"),
        (nifti(at_88=("f", 1e30)), "voxel size"), (nifti(at_108=("f", NAN)), "offset"), (nifti(at_108=("f", -1)), "offset"),
        (nifti(at_108=("f", 1e9)), "0 of 1728"),
        (nifti(at_268=("f", NAN)), "qform"), (nifti(at_280=("f", NAN)), "sform"), (nifti(at_292=("f", INF)), "sform"),
        (nifti(components=3, value=lambda x, y, z: (x, y, z)), "vectors of 3"), (nifti(lambda x, y, z: NAN), "none of its voxels is finite"),
        (nifti(lambda x, y, z: INF), "none of its voxels is finite")))),
    ("0.nii.gz", nifti(gz=True, cut=1), "not a NIfTI|header"), ("1.nii.gz", nifti(gz=True, cut=60), "0.|1.nii.gz"),
    ("2.nii.gz", nifti(gz=True)[:-5], "2.nii.gz"), ("3.nii.gz", changed(nifti(gz=True), 300, b"\xff" * 40), "3.nii.gz"),
    ("4.nii.gz", gzip.compress(b"x" * 1000), "not a NIfTI"), ("5.nii.gz", changed(nifti(gz=True), len(nifti(gz=True)) - 8, b"\1\2\3\4"), "5.nii.gz"),
    *((f"{n}.mha", data, words) for n, (data, words) in enumerate((
        (metaimage(BinaryData="Tsue"), "BinaryData = Tsue"), (metaimage(BinaryData="False"), "text"), (metaimage(BinaryData=""), "BinaryData"),
        (metaimage(BinaryDataByteOrderMSB="Fslse"), "BinaryDataByteOrderMSB"), (metaimage(CompressedData="Maybe"), "CompressedData = Maybe"),
        (metaimage(CompressedData="True"), "CompressedDataSize"), (metaimage(CompressedData="True", CompressedDataSize="-1"), "CompressedDataSize"),
        (metaimage(ElementSpacing="nan 2 2"), "ElementSpacing"), (metaimage(ElementSpacing="0 2 2"), "voxel size"),
        (metaimage(ElementSpacing="-2 2 2"), "voxel size"), (metaimage(ElementSpacing="2 2"), "ElementSpacing = 2 2"),
        (metaimage(ElementSpacing="a b c"), "ElementSpacing = a b c"), (metaimage(Offset="1 2"), "Offset = 1 2"),
        (metaimage(Offset="nan 0 0"), "Offset"), (metaimage(NDims="2"), "NDims"), (metaimage(NDims="2", DimSize="12 144"), "2 dimensions"),
        (metaimage(NDims="-1"), "NDims"), (metaimage(DimSize="12 12"), "DimSize"), (metaimage(DimSize="12 12 0"), "12 x 12 x 0"),
        (metaimage(DimSize="12 12 -3"), "-3"), (metaimage(DimSize="99999 99999 99999"), "can be used"), (metaimage(DimSize="12 12 13"), "1728 of 1872"),
        (metaimage(DimSize="1 12 144"), "2-D"), (metaimage(ElementType="MET_STRING"), "MET_STRING"), (metaimage(ElementType=None), "ElementType"),
        (metaimage(ElementNumberOfChannels="0"), "0"), (metaimage(ElementNumberOfChannels="-1"), "-1"),
        (metaimage(ElementDataFile="LIST"), "several files"), (metaimage(ElementDataFile="x%03d.raw 1 12 1"), "several files"),
        (metaimage(ElementDataFile="nowhere.raw"), "nowhere.raw"), (metaimage(b""), "0 of 1728"), (metaimage(b"1234"), "1 of 1728"),
        (metaimage(TransformMatrix="0 0 0 0 0 0 0 0 0"), "axes"), (metaimage(TransformMatrix="1 1 0 0 1 0 0 0 1"), "axes"),
        (b"x" * 100000, "MetaImage|header"), (b"NDims = 3\n", "MetaImage"), (b"text\n" * 30, "not a MetaImage")))),
    *((f"{n}.nrrd", data, words) for n, (data, words) in enumerate((
        (nrrd(magic="NRRX0004"), "not an NRRD"), (nrrd(encoding="ascii"), "'ascii'"), (nrrd(encoding="bzip2"), "'bzip2'"),
        (nrrd(encoding=None), "encoding"), (nrrd(type="block"), "'block'"), (nrrd(type=None), "type"), (nrrd(sizes=None), "sizes"),
        (nrrd(sizes="12 12"), "dimension is 3"), (nrrd(sizes="12 12 0"), "0"), (nrrd(sizes="12 12 -1"), "-1"), (nrrd(sizes="99999 99999 99999"), "can be used"),
        (nrrd(sizes="12 12 13"), "1728 of 1872"), (nrrd(sizes="1 12 144"), "2-D"), (nrrd(space_directions="(2,0,0) none (0,0,2)"), "gives 2 of its axes"),
        (nrrd(space_directions="(2,0,0) (0,0,0) (0,0,2)"), "voxel size"), (nrrd(space_directions="(2,0,0) (0,nan,0) (0,0,2)"), "ITK says"),
        (nrrd(space=None, space_directions=None, space_origin=None, spacings="2 nan 2"), "gives 2 of its axes"),
        (nrrd(space=None, space_directions=None, space_origin=None, spacings="2 0 2"), "spacing"), (nrrd(line_skip="3"), "line skip"),
        (nrrd(data_file="nowhere.raw"), "nowhere.raw"), (nrrd(b"", data_file="LIST"), "several files"), (nrrd(b"1234"), "1 of 1728"),
        (nrrd(encoding="gzip"), "damaged"), (nrrd(gzip.compress(voxels(blob())[:400]), encoding="gzip"), "100 of 1728"),
        (nrrd(space_directions="(2,0,0) (2,1,0) (0,0,2)"), "axes"), (nrrd(space_origin="(nan,0,0)"), "nrrd"),
        (nrrd(space="left-anterior-superior"), "which ITK reads wrongly"), (nrrd(space="LAS"), "save it as left-posterior"),
        (nrrd(space="left anterior superior"), "which ITK reads wrongly"), (nrrd(space="RAST"), "its space is rast"),
        (nrrd(space="right-anterior-superior-time"), "which ITK reads wrongly")))),
    ("x.dcm", b"x" * 200, "no known format"), ("x", nifti(), "no known format"), ("x.nii.bz2", nifti(), "no known format"),
    ("x.Nii", nifti(), "no known format"), ("x.NII.gz", nifti(gz=True), "no known format"),
]
DAMAGED_IMAGES = [({name: data}, call, f"{name}|{words}")
                  for n, (name, data, words) in enumerate(IMAGES)
                  for call in [("ffdreg -f {} -m m.nii -o out_", "linreg -f f.nii -m {} -o out_", "nlmdenoise -i {} -o out_",
                                "fluidreg -f f.nii -m {} -o out_")[n % 4]]]
ANALYZE = {"an.img": nifti()[352:], "an.hdr": nifti()[:344] + bytes(4)}
UNFIT_IMAGES = [
    *((ANALYZE, f"regtool info {name}", f"{name}|it is an Analyze file") for name in ANALYZE),
    ({"one.nii": nifti(lambda x, y, z: 7)}, f"ffdreg -f {{}} -m m.nii -o out_ {QUICK}", "constant", 1),
    ({"one.nii": nifti(lambda x, y, z: 7)}, "linreg -f f.nii -m {} -o out_", "constant", 1),
    ({"one.nii": nifti(lambda x, y, z: 7)}, "nlmdenoise -i {} -o out_", "one.nii|7 alone"),
    ({"far.nii": nifti(origin=(5000, 0, 0))}, f"ffdreg -f f.nii -m {{}} -o out_ {QUICK}", "overlap", 1),
    ({"none.nii": nifti(lambda x, y, z: 0)}, f"{FFDREG} --fixed-mask {{}}", "none.nii|no voxel above 0.5"),
    ({"noise.nii": nifti(lambda x, y, z: ((x * 7919 + y * 104729 + z * 1299709) % 1009) / 504.5 - 1)}, "nlmdenoise -i {} -o out_",
     "noise.nii|--input-kind|--iso"),
    ({"grey.nii": nifti(lambda x, y, z: 0.37 * (x * y + z))}, "nlmdenoise -i {} -o out_", "grey.nii|--iso"),
    ({"many.nii": nifti(lambda x, y, z: float(x // 3))}, "nlmdenoise -i {} -o out_", "several labels"),
    ({"frac.nii": nifti()}, "regtool apply -i {} -r f.nii -t a.txt -o out.nii --interpolation labels", "frac.nii|no label image"),
]

# --- damaged transforms ----------------------------------------------------------------------------------------------------------

MATLAB = struct.pack("<5i", 0, 12, 1, 0, 27) + b"AffineTransform_double_3_3\0" + struct.pack("<12d", 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)
TRANSFORMS = [
    *((f"{n}.txt", data, words) for n, (data, words) in enumerate((
        (b"hello\n", "Insight Transform"), (affine(head="#Something"), "Insight Transform"), (affine(numbers="1 2 3"), "as many numbers as such a one has"),
        (affine(numbers="0 0 0 0 0 0 0 0 0 0 0 0"), "singular"), (affine(numbers="nan 0 0 0 1 0 0 0 1 0 0 0"), ".txt"),
        (affine(kind="BSplineTransform_double_3_3"), "18"),
        (affine(kind="BSplineTransform_double_3_3", numbers="1 2", fixed="3 4 4 0 0 0 1 1 1 1 0 0 0 1 0 0 0 1"), "side of too few points"),
        (affine(kind="BSplineTransform_double_3_3", numbers="1 2", fixed="4 4 4 0 0 0 1 1 1 1 0 0 0 1 0 0 0 1"), "three numbers a control point"),
        (affine(kind="BSplineTransform_double_2_2", numbers="1 0 0 1 0 0", fixed="0 0"), "3-D"), (affine(kind="AffineTransform_double_2_2", numbers="1 0 0 1 0 0", fixed="0 0"), "3-D"),
        (affine(kind="Nonsense_double_3_3"), "neither a linear 3-D transform"), (affine(fixed="inf 0 0"), "fixed parameter"),
        (affine(kind="DisplacementFieldTransform_double_3_3", numbers="1 2", fixed="1 2 3"), "18"),
        (b"#Insight Transform File V1.0\n", "transform")))),
    *((f"{n}.mat", data, words) for n, (data, words) in enumerate((
        (b"x" * 10, "MATLAB"), (MATLAB[:40], ".mat"), (MATLAB + b"x", "MATLAB"), (changed(MATLAB, 4, struct.pack("<i", -1)), "MATLAB"),
        (changed(MATLAB, 4, struct.pack("<i", 1 << 19)), "ends within"), (changed(MATLAB, 16, struct.pack("<i", 5000)), "MATLAB"),
        (b"1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "MATLAB")))),
    ("0.h5", b"x" * 100, "not an HDF5 file"), ("1.h5", b"\x89HDF\r\n\x1a\n and so on", "damaged"), ("2.h5", b"\x89HDF\r\n\x1a\n" + bytes(5000), "damaged"),
    ("far.nii", field(origin=(10000, 0, 0)), "covers 0 %"), ("metres.nii", field(1000), "another unit"), ("in_metres.nii", field(at_123=("B", 1)), "its lengths are in metres; convert it"),
    ("um.nii", field(at_123=("B", 3)), "its lengths are in micrometres; convert it"), ("scalar.nii", nifti(), "scalar.nii"),
    ("nan.nii", field(NAN), "finite"), ("two.nii", nifti(components=2, value=lambda x, y, z: (x, y)), "two.nii"), ("cut.nii", field(cut=900), "file ends after"),
]
SPM = nifti(lambda x, y, z: (2 * x - 10, 2 * y - 13, 2 * z - 11), components=3)  # where voxels of 2 mm go to, in RAS
DAMAGED_TRANSFORMS = [
    *(({name: data}, call, f"{name}|{words}") for call in (f"{FFDREG} --init {{}}", "regtool measure --field {}")
      for name, data, words in (("y_f.nii", changed(SPM, 328, b"Mapping"), "SPM's"), ("lost.nii", SPM, "positions, as SPM writes them"))),
    *(({name: data}, f"{FFDREG} --init {{}}", f"{name}|{words}") for name, data, words in TRANSFORMS),
    *(({name: data}, "regtool apply -i m.nii -r f.nii -o out.nii -t {}", name) for name, data, _ in TRANSFORMS
      if name not in ("6.mat",)),
    ({"away.nii": field(30, size=(40, 40, 40))}, f"{FFDREG} --init {{}}", "away.nii|overlap", 1),
    ({"one.nii": nifti(components=3, value=lambda x, y, z: (30, 0, 0))}, f"{FFDREG} --init {{}}", "one.nii|overlap enough", 1),
    ({"fl.mat": b"1  0  0  0\n0  1  0  0\n0  0  1  0\n0  0  0  1\n"}, "regtool convert -t [{},1] --to itk -o out.txt --fixed f.nii",
     "fl.mat|needs --moving"),
    ({"flat.txt": affine(numbers="1 0 0 0 1 0 0 0 1e-9 0 0 0")}, "regtool apply -i m.nii -r f.nii -o out.nii -t {}", "flat.txt"),
    ({"p.aff12.1D": b"# 3dAllineate parameters:\n#  x-shift   y-shift  \n .5 -.3 1.2 .1 .2 -.3 1 1 1 0 0 0\n"},
     "regtool apply -i m.nii -r f.nii -o out.nii -t {}", "p.aff12.1D|not a matrix"),
]
POINTS = [({"p.csv": data}, "regtool points -i {} -t a.txt -o out.csv --direction fixed-to-moving", f"p.csv|{words}") for data, words in (
    (b"x,y,z\n", "no point"), (b"1,2\n3,4\n", "line 1"), (b"x,y\n1,2\n", "names of columns"), (b"1,2,3\n4,x,6\n", "line 2"), (b"1,2,3\nnan,1,1\n", "line 2"),
    (b"1,2,3\n1e999,1,1\n", "line 2"), (b"\x00\xff\x00\n\x01\n", "no table of points"))]

# --- the machine -----------------------------------------------------------------------------------------------------------------

MACHINE = [
    *(({}, f"{program} {flag}", "cannot write to standard output", dict(status=1, stdout="/dev/full"))
      for program in ("ffdreg", "fluidreg", "linreg", "nlmdenoise", "regtool", "regtool apply", "regtool info") for flag in ("--help",)),
    *(({}, f"{program} --version", "cannot write to standard output", dict(status=1, stdout="/dev/full"))
      for program in ("ffdreg", "fluidreg", "linreg", "nlmdenoise", "regtool")),
    ({}, "ffdreg --list-schemes", "cannot write to standard output", dict(status=1, stdout="/dev/full")),
    ({}, "regtool info f.nii", "cannot write to standard output", dict(status=1, stdout="/dev/full")),
    ({}, FFDREG, "memory", dict(status=1, memory="to start", sanitized=False)),
    ({}, f"{FFDREG} --threads 64", "--threads", dict(status=1, limits=[(resource.RLIMIT_NPROC, 1)], user=65534, sanitized=False)),
]

TABLE = CALLS + NO_FILES + CONFIGURATIONS + DAMAGED_IMAGES + UNFIT_IMAGES + DAMAGED_TRANSFORMS + POINTS + MACHINE
