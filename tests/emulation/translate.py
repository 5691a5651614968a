#!/usr/bin/env python3
"""Makes C++ of a CUDA source (.cu, .cuh) for the emulated device of tests: launches, dynamic shared memory and the few lines of machine code
are rewritten, and sums in a block's partial histogram watched; the rest is as it stands.

    translate.py SOURCE OUT
"""
import os
import re
import sys

LAUNCH = re.compile(r"([\w:.]+(?:<[\w:,\s]*>)?)\s*<<<(.*?)>>>\s*\(", re.S)
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w:]+(?:\s+char)?)\s+(\w+)\[\];")
INDEPENDENT = "core/for_each_voxel.cuh"
MACHINE = [
    (re.compile(r'asm volatile\("cp\.async\.(?:commit_group|wait_group 0);\\n" ::(?:: "memory"| : "memory")?\);'), ";"),
    (re.compile(r'asm volatile\("cp\.async\.cg[^"]*"\s*::"r"\((.*?)\),\s*"l"\((.*?)\)\);', re.S), r"::emulation::copy_16_bytes(\1, \2);"),
    (re.compile(r'asm volatile\("ldmatrix.*?: "memory"\);', re.S), "::emulation::load_matrices(f, address);"),
    (re.compile(r'asm volatile\(\s*"mma\.sync.*?"r"\(b1\)\);', re.S), "::emulation::multiply_16_8_16(c, a, b0, b1);"),
    (re.compile(r"\bpartial\[([^;\n]*)\] \+= (?=\w+;)"), r"(::emulation::write_alone(&partial[\1]), partial[\1]) += "),
    (re.compile(r"#include <cuda_fp16.h>"), "#include \"tensor_core.h\""),
    (re.compile(r"!defined\(__CUDA_ARCH__\) \|\| __CUDA_ARCH__ >= 800"), "1"),
    (re.compile(r"__CUDA_ARCH__ >= 800"), "1"),
]


def translate(text, kind):
    text = DYNAMIC.sub(r"\1* const \2 = reinterpret_cast<\1*>(::emulation::dynamic_shared());", text)
    for pattern, replacement in MACHINE:
        text = pattern.sub(replacement, text)
    return LAUNCH.sub(lambda m: f"::emulation::Launch(::emulation::Threads::{kind}, {m[2]}).run([&](auto... given) {{ {m[1]}(given...); }})(", text)


def translated(source, text):
    """What is compiled for a source that holds this text."""
    return f'#line 1 "{os.path.abspath(source)}"\n' + translate(text, "independent" if source.endswith(INDEPENDENT) else "dependent")


def main(source, out):
    with open(source) as file:
        text = file.read()
    os.makedirs(os.path.dirname(out), exist_ok=True)
    with open(out, "w") as file:
        file.write(translated(source, text))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
