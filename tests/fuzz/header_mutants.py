#!/usr/bin/env python3
"""Damaged headers through the programs: files of every format as the programs write them, with random bytes changed, read by each program
that takes them. A run ends with status 0, 1 or 2 within ten seconds, never by a signal; a failure is one line (after warnings) that begins with the
program's name, and leaves nothing behind; 256 MB of address space more than the whole file needs are enough, so that no header makes a program ask for
what its file cannot hold.

    header_mutants.py FOLDER_OF_PROGRAMS [--count N] [--first N] [--keep FOLDER] [FORMAT...]

--count: how many mutants in all (300; under sanitizers, where a run takes long, 100), the same ones every time; --first: the number of the first. Prints a line per format and what went
wrong; --keep saves those files. Under sanitizers, which take all addresses, memory has no limit."""
import argparse
import gzip
import os
import random
import re
import resource
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "apps/bad_input")]
import seeds  # noqa: E402
from programs import QUICK, SECONDS, Folder  # noqa: E402

WORKERS = os.cpu_count() or 1
MORE_MEMORY = 256 << 20  # above what the whole file takes
LINREG = "linreg -f f.nii -m m.nii -o out_ --levels 1 --iterations 1"
IMAGES = ["regtool info {}", f"ffdreg -f {{}} -m m.nii -o out_ {QUICK}", f"ffdreg -f f.nii -m {{}} -o out_ {QUICK}",
          "linreg -f f.nii -m {} -o out_ --levels 1 --iterations 1", f"fluidreg -f {{}} -m m.nii -o out_ {QUICK}",
          f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --fixed-mask {{}}", "nlmdenoise -i {} -o out_ --iterations 1 --iso 50",
          "regtool apply -i {} -r f.nii -t a.txt -o out.nii", "regtool apply -i m.nii -r {} -t a.txt -o out.nii"]
FIELDS = [f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --init {{}}", "regtool apply -i m.nii -r f.nii -t {} -o out.nii",
          "regtool invert -t {} -o out.nii.gz", "regtool jacobian -r f.nii -t {} -o out.nii.gz"]
AFFINES = [f"{LINREG} --init {{}}", "regtool points -i points.csv -t {} --direction fixed-to-moving -o out.csv", *FIELDS[:2]]
FOREIGN = ["regtool info {} --fixed f.nii --moving m.nii --from ", "regtool convert -t {} --to itk -o out.h5 --fixed f.nii --moving m.nii --from "]
POINTS = ["regtool points -i {} -t a.txt --direction fixed-to-moving -o out", "regtool points -i {} -t u.nii --direction moving-to-fixed -o out"]


def made(folder, call, name):
    """What a program writes as that file."""
    status, _, err = folder.run(call + f" -o {name}", seconds=60)
    if status != 0:
        sys.exit(f"header_mutants: {call}: {err}")
    return (folder.path / name).read_bytes()


def formats(folder):
    """name: (bytes, how many of them are the header, calls, files beside). Names end with the extension."""
    apply = "regtool apply -i f.nii -r f.nii -t a.txt"
    nii, mha, nrrd = (made(folder, apply, "whole" + extension) for extension in (".nii", ".mha", ".nrrd"))
    packed = made(folder, apply, "whole.nii.gz")
    in_header = mha.index(b"LOCAL\n") + 6, nrrd.index(b"\n\n") + 2
    yield "image.nii", nii, 352, IMAGES, {}
    yield "image.nii.gz", packed, 352, IMAGES, {}
    yield "image.hdr", nii[:108] + struct.pack("<f", 0) + nii[112:344] + b"ni1\0", 348, IMAGES, {"image.img": nii[352:]}
    yield "image.mha", mha, in_header[0], IMAGES, {}
    yield "image.mhd", mha[:in_header[0]].replace(b"LOCAL", b"image.raw"), in_header[0] + 4, IMAGES, {"image.raw": mha[in_header[0]:]}
    yield "image.nrrd", nrrd, in_header[1], IMAGES, {}
    yield "image.mgh", made(folder, apply, "whole.mgh"), 284, IMAGES, {}
    yield "image.mgz", made(folder, apply, "whole.mgz"), 284, IMAGES, {}
    detached = nrrd[:in_header[1] - 1] + b"data file: image.raw\n"
    yield "image.nhdr", detached, len(detached), IMAGES, {"image.raw": nrrd[in_header[1]:]}
    packed_nrrd = nrrd[:in_header[1]].replace(b"raw", b"gzip") + gzip.compress(nrrd[in_header[1]:], mtime=0)
    yield "packed.nrrd", packed_nrrd, in_header[1] + 11, IMAGES, {}
    for extension in (".mat", ".tfm", ".txt"):
        data = made(folder, "regtool convert -t a.txt --to itk", "whole" + extension)
        yield "affine" + extension, data, len(data), ["regtool info {}", *AFFINES], {}
    data = made(folder, "regtool convert -t a.txt --to itk", "whole.h5")
    yield "affine.h5", data, len(data), ["regtool info {}", *AFFINES], {}
    data = made(folder, "regtool convert -t u.nii -t a.txt --to itk", "composite.h5")
    yield "composite.h5", data, len(data), ["regtool info {}", *FIELDS[:3]], {}
    yield "field.nii", folder.path.joinpath("u.nii").read_bytes(), 352, ["regtool info {}", *FIELDS], {}
    for extension, bytes_ in ((".nii.gz", 352), (".mha", 400), (".nrrd", 400)):
        yield "field" + extension, made(folder, "regtool compose -r f.nii -t u.nii", "field" + extension), bytes_, ["regtool info {}", *FIELDS], {}
    for to, extension in (("fsl", ".mat"), ("niftyreg", ".txt"), ("afni", ".1D"), ("freesurfer", ".lta"), ("mrtrix", ".txt")):
        data = made(folder, f"regtool convert -t a.txt --to {to} --fixed f.nii --moving m.nii", "whole_" + to + extension)
        yield f"{to}{extension}", data, len(data), [call + to for call in FOREIGN], {}
    for to in ("fsl", "niftyreg", "spm", "afni", "mrtrix"):
        data = made(folder, f"regtool convert -t u.nii --to {to} --fixed f.nii --moving m.nii", f"whole_{to}.nii")
        yield f"{to}.nii", data, 352, [call + to for call in FOREIGN], {}
    for number, data in enumerate(seeds.morphs()):  # of which none is written
        if number < 2:
            yield f"morph{number}.m3z", data, len(data), [call + "freesurfer" for call in FOREIGN], {}
    yield "points.csv", b"x,y,z,name\n" + b"".join(b"%d,%d.5,-%d,p\n" % (i, i, i) for i in range(9)), 60, [call + ".csv" for call in POINTS], {}
    row = b"f.nii\tm.nii\tout_\ta.txt\n"
    yield "pairs.tsv", b"fixed\tmoving\toutput\tinit\n" + row, 50, [f"ffdreg --pairs {{}} {QUICK}"], {}
    yield "job.ini", b"# by hand\nlevels = 1\nbending = 0.01\nthreads = 1\nquiet = no\nsimilarity = nmi\n", 80, [f"ffdreg -f f.nii -m m.nii -o out_ {QUICK} --config {{}}"], {}
    if folder.run("regtool points -i whole.ply -t a.txt --direction fixed-to-moving -o out.ply")[2].find("this build has no meshes") < 0:
        for number, data in enumerate(seeds.plys()):
            yield f"mesh{number}.ply", data, len(data), [call + ".ply" for call in POINTS] + ["nlmdenoise -i {} -o out_ --iterations 1"], {}


ODD_WORDS = [b"nan", b"-1", b"0", b"inf", b"1e308", b"-1e-308", b"2147483647", b"4294967296", b"99999999999999999999", b"", b"\n", b" ", b"\0", b"%s"]
ODD_NUMBERS = [struct.pack(form, value) for form, values in (
    ("<h", (0, -1, 1, 32767, -32768)), ("<i", (0, -1, 2**31 - 1, -2**31, 65536)), ("<f", (0, -1, 1e30, 1e-30, float("nan"), float("inf"))),
    ("<d", (0, -1, 1e300, float("nan"))), ("<q", (2**63 - 1, -1, 2**32))) for value in values]


def change(data, end, draw):
    """Random bytes before `end`: mostly one, sometimes an odd number or word, a line twice or none."""
    data = bytearray(data)
    is_text = all(9 <= byte <= 13 or 32 <= byte < 127 for byte in data[:min(end, 64)])
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        at = draw.randrange(min(end, len(data)) or 1)
        kind = draw.random()
        if kind < 0.6:
            data[at:at + 1] = bytes([draw.randrange(256)])
        elif kind < 0.7:
            data[at:at + 1] = bytes([data[at] ^ 1 << draw.randrange(8)]) if at < len(data) else b""
        elif not is_text:
            odd = draw.choice(ODD_NUMBERS)
            at -= at % len(odd)
            data[at:at + len(odd)] = odd
        elif kind < 0.9:
            words = list(re.finditer(rb"[^\s=:,()]+", data[:end]))
            if words:
                begin, stop = draw.choice(words).span()
                data[begin:stop] = draw.choice(ODD_WORDS)
        else:
            begin = data.rfind(b"\n", 0, at) + 1
            stop = data.find(b"\n", at) + 1 or len(data)
            data[begin:stop] = draw.choice((b"", bytes(data[begin:stop]) * 2))
    return bytes(data)


def mutant(name, data, end, draw):
    if draw.random() < 0.05:  # broken off as well
        data = data[:draw.randrange(len(data))]
    if data[:2] == b"\x1f\x8b" and draw.random() < 0.7:  # the header within
        try:
            return gzip.compress(change(gzip.decompress(data), end, draw), 1, mtime=0)
        except EOFError:
            pass
    if name.endswith(".h5"):
        end = draw.choice((200, 2000, end))
    return change(data, end, draw)


def least_memory(folder, call):
    """Bytes of address space, to 16 MiB, with which the call ends well."""
    low, high = 0, 4 << 30
    while high - low > 16 << 20:
        middle = (low + high) // 2
        ended = folder.run(call, limits=[(resource.RLIMIT_AS, middle)])[0] == 0
        clear(folder)
        low, high = (low, middle) if ended else (middle, high)
    return high


def clear(folder):
    for name in folder.names("out"):
        path = folder.path / name
        if path.is_file():
            path.unlink()


def faults(folder, call, ending):
    """What is wrong with how a run ended, in words."""
    status, _, err = ending
    program = call.split()[0]
    left = folder.names("out")
    clear(folder)
    if status is None:
        return [f"longer than {SECONDS} seconds"]
    found = [f"status {status}"] if status not in (0, 1, 2) else []
    if status:
        said = [line for line in err.split("\n")[:-1] if not line.startswith(f"{program}: warning: ")]
        # Of a list a line for each pair that failed, and that of all; what other pairs made stays.
        pairs = re.search(r": (\d+) done, \d+ made before, (\d+) failed\n$", err)
        done, failed = map(int, pairs.groups()) if pairs and "--pairs" in call else (0, 0)
        if len(said) != failed + 1 or not all(line.startswith(program + ": ") for line in said):
            found.append("not one line of the program's")
        found += ["a control character"] if any(ord(c) < 32 for c in err.replace("\n", "")) else []
        if "memory" in err:
            found.append("it asked for more memory than the file can mean")
        found += [f"speaks of {word}" for word in ("std::", "Options::", ".freeflow", "max_size") if word in err]
        found += [f"left behind {left}"] if left and done == 0 else []
    elif err and not err.startswith(program + ": "):
        found.append("somebody else speaks first")
    return found


class Run:
    """One mutant through one call."""

    def __init__(self, o, originals, limits):
        self.o, self.originals, self.limits = o, originals, limits

    def __call__(self, folder, number):
        name, data, end, calls, beside = self.originals[number % len(self.originals)]
        draw = random.Random(f"{name} {number}")
        call = draw.choice(calls)
        bad = mutant(name, data, end, draw)
        (folder.path / name).write_bytes(bad)
        for other, content in beside.items():
            (folder.path / other).write_bytes(content)
        limit = self.limits.get((name, call))
        begin = time.monotonic()
        ending = folder.run(call.replace("{}", name), limits=[(resource.RLIMIT_AS, limit)] if limit else ())
        seconds = time.monotonic() - begin
        found = faults(folder, call, ending)
        if found and self.o.keep:
            (self.o.keep / f"{number}_{name}").write_bytes(bad)
        return name, ending[0], seconds, [f"mutant {number}: {call.replace('{}', name)}\n    {fault}\n    {ending[2].strip()[:1000]}" for fault in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("formats", nargs="*", metavar="FORMAT")
    o = parser.parse_args()
    if o.keep:
        o.keep.mkdir(parents=True, exist_ok=True)
    programs = o.programs.resolve()
    folders = [Folder(programs) for _ in range(WORKERS)]
    originals = [one for one in formats(folders[0]) if not o.formats or one[0] in o.formats]
    sanitized = b"__asan_init" in (programs / "regtool").read_bytes()
    count = o.count or (100 if sanitized else 300)

    def whole(part):
        """The limit of memory for each call, and whether the whole file is good at all."""
        limits, folder = {}, folders[part]
        for name, data, _, calls, beside in originals[part::WORKERS]:
            for file, content in ((name, data), *beside.items()):
                (folder.path / file).write_bytes(content)
            for call in calls:
                status, _, err = folder.run(call.replace("{}", name), seconds=60)
                clear(folder)
                if status == 0 and not sanitized:
                    limits[name, call] = least[call.split()[0]] + MORE_MEMORY
                elif status != 0 and "out of memory" in err:
                    sys.exit(f"header_mutants: the whole file fails: {call.replace('{}', name)}: {err}")
        return limits

    least = {}
    if not sanitized:
        for program, call in {call.split()[0]: call for call in (*IMAGES, *FIELDS)}.items():
            least[program] = least_memory(folders[0], call.replace("{}", "u.nii" if call in FIELDS else "f.nii"))
    with ThreadPoolExecutor(WORKERS) as pool:
        limits = {call: limit for part in pool.map(whole, range(WORKERS)) for call, limit in part.items()}
        run = Run(o, originals, limits)
        numbers = range(o.first, o.first + count)
        results = [result for part in pool.map(lambda worker: [run(folders[worker], number) for number in numbers[worker::WORKERS]], range(WORKERS))
                   for result in part]
    for folder in folders:
        folder.made.cleanup()
    for name, *_ in originals:
        mine = [result for result in results if result[0] == name]
        statuses = ", ".join(f"{status}: {sum(result[1] == status for result in mine)}" for status in sorted({result[1] for result in mine}, key=str))
        print(f"{name:16}{len(mine):6} mutants, at most {max([result[2] for result in mine], default=0):5.2f} s, statuses {statuses}")
    wrong = [fault for result in results for fault in result[3]]
    print(f"{len(results)} mutants, {len(wrong)} faults")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
