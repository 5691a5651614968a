#!/usr/bin/env python3
"""Plants faults in CUDA sources, one at a time, and demands that a test on the emulated device fails for each.

    plant_faults.py                  one fault of every scheme, by turns: which is told by the commit
    plant_faults.py --all            all of them
    plant_faults.py --match WORD     all whose line of --list has WORD; may be said several times
    plant_faults.py --list           their names
    plant_faults.py --passed ...     the tests have just passed without a fault: not run again

faults.json names for every scheme the suite and the tests that guard it (`only`: for which schemes these are run; `device`: gpus for several at once), and its faults: a file, a text that stands there exactly once (or
`times`), and what is put in its place. Nothing of the tree is touched: the changed source is translated and compiled beside the build
(--build, made by scripts/emulated_check), and linked with it. A failing assertion, a crash or a time-out is a fault found. First the tests
must pass as things stand. Exit status 1 if a fault was missed, does not compile or no longer stands in its source.
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import translate  # noqa: E402

TREE = Path(__file__).resolve().parents[2]
LIST = Path(__file__).resolve().with_name("faults.json")
INHERITED = ("suite", "tests", "device", "only", "timeout", "file", "sources")


class Broken(Exception):
    """A fault that cannot be planted."""


def load(path=LIST):
    """Every fault, in order, with what it takes from its scheme."""
    faults = []
    for scheme in json.loads(Path(path).read_text()):
        common = {key: scheme[key] for key in INHERITED if key in scheme}
        for fault in scheme["faults"]:
            faults.append({"scheme": scheme["scheme"], "times": 1} | common | fault)
            faults[-1]["filter"] = ":".join(f"Devices/{test}/{faults[-1].get('device', 'cuda')}" for test in faults[-1]["tests"])
    return faults


def planted(fault, root=TREE):
    """The text of the fault's file with the fault in it."""
    path = Path(root) / fault["file"]
    text = path.read_text() if path.is_file() else ""
    if (found := text.count(fault["find"])) != fault["times"]:
        raise Broken(f"its text stands {found} times in {fault['file']}, not {fault['times']}")
    if fault["find"] == fault["replace"]:
        raise Broken("changes nothing")
    return text.replace(fault["find"], fault["replace"])


def by_turns(faults, number):
    """One fault of every scheme: the number goes round the faults of each."""
    schemes = {}
    for fault in faults:
        schemes.setdefault(fault["scheme"], []).append(fault)
    return [own[(number + i) % len(own)] for i, own in enumerate(schemes.values())]


def commit_number():
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TREE, capture_output=True, text=True).stdout.strip()
    return int(head or "0", 16)


class Build:
    """A build of the emulated device: how it compiles a source and links a suite."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        commands = self.folder / "compile_commands.json"
        if not commands.is_file():
            sys.exit(f"plant_faults: {commands} is missing; run scripts/emulated_check, or configure with CMAKE_EXPORT_COMPILE_COMMANDS=ON")
        self.compile = {os.path.realpath(entry["file"]): shlex.split(entry["command"]) for entry in json.loads(commands.read_text())}
        self.links = {}

    def source(self, path):
        """What is compiled for a source of the tree."""
        return self.folder / "emulated" / f"{path}.cpp" if path.endswith(".cu") else TREE / path

    def program(self, suite):
        return self.folder / "tests" / f"test_{suite}"

    def link(self, suite):
        """The words of the command that links a suite; the last step that ninja names for it holds it."""
        if suite not in self.links:
            target = f"tests/test_{suite}"
            said = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", target], capture_output=True, text=True, check=True).stdout
            steps = said.strip().splitlines()[-1].split(" && ")
            self.links[suite] = shlex.split(next(step for step in steps if f" -o {target} " in step))
        return self.links[suite]

    def run(self, words, log):
        with open(log, "a") as file:
            if subprocess.run(words, cwd=self.folder, stdout=file, stderr=file).returncode:
                raise Broken(f"does not compile: {log}")

    def plant(self, fault, name):
        """The suite's program with the fault in it."""
        here = self.folder / "faults" / name
        include = here / "include" / "freeflow"
        here.mkdir(parents=True, exist_ok=True)
        log = here / "log"
        log.write_text("")
        file, text = fault["file"], planted(fault)
        if file.endswith((".cu", ".cuh")):
            text = translate.translated(str(TREE / file), text)
        own = here / f"{file}.cpp" if file.endswith(".cu") else include / file
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(text)
        objects = []
        for source in [file] if file.endswith(".cu") else fault["sources"]:
            command = list(self.compile[os.path.realpath(self.source(source))])
            objects.append(str(here / f"{Path(source).name}.o"))
            command[command.index("-o") + 1] = objects[-1]
            command[command.index("-c") + 1] = str(own if source == file else self.source(source))
            first = next(i for i, word in enumerate(command) if word.startswith("-"))
            self.run(command[:first] + ["-I", str(here / "include")] + command[first:], log)
        words = list(self.link(fault["suite"]))
        words[words.index("-o") + 1] = str(here / "test")
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        self.run(words[:first] + objects + words[first:], log)  # before the libraries: their object of that source is not taken
        return here / "test"


def outcome(program, fault, log):
    """How the guarding tests end: passed, failed, crashed or hung."""
    environment = os.environ | {"FREEFLOW_SOURCE_DIR": str(TREE), "OMP_WAIT_POLICY": "passive"}
    if "only" in fault:
        environment["FREEFLOW_TEST_SCHEMES"] = fault["only"]
    with open(log, "a") as file:
        try:
            status = subprocess.run([program, f"--gtest_filter={fault['filter']}", "--gtest_brief=1", "--gtest_fail_fast", "--gtest_throw_on_failure"], stdout=file, stderr=file,
                                    timeout=fault["timeout"], env=environment).returncode
        except subprocess.TimeoutExpired:
            return "time-out"
    if status == 0:
        return "passed"
    return "assertion" if ": Failure\n" in Path(log).read_text(errors="replace") else "crash"  # the first failure ends the program


def try_fault(build, fault, number):
    """("found", "MISSED" or "BROKEN", how)."""
    name = f"{fault['scheme'].replace('/', '_')}_{number}"
    try:
        program = build.plant(fault, name)
    except Broken as error:
        return "BROKEN", str(error)
    how = outcome(program, fault, program.with_name("log"))
    if how == "passed":  # what was compiled stays, for who looks why
        return "MISSED", f"test_{fault['suite']} --gtest_filter={fault['filter']} passes: {program}"
    shutil.rmtree(program.parent)
    return "found", how


def check_sound(build, faults, jobs):
    """The tests that guard these faults must pass without them."""
    guards = {(fault["suite"], fault["filter"], fault.get("only")): fault for fault in faults}
    log = build.folder / "faults"
    log.mkdir(exist_ok=True)

    def run(item):
        number, fault = item
        path = log / f"sound_{number}.log"
        path.write_text("")
        return outcome(build.program(fault["suite"]), fault, path), fault, path

    with ThreadPoolExecutor(jobs) as pool:
        for how, fault, path in pool.map(run, enumerate(guards.values())):
            if how != "passed" or "[  PASSED  ] 0 tests" in path.read_text():
                sys.exit(f"plant_faults: test_{fault['suite']} --gtest_filter={fault['filter']} does not pass without a fault ({how}): {path}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--match", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--passed", action="store_true")
    parser.add_argument("--build", default=TREE / "build" / "emulated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    faults = load()
    numbers = {id(fault): i for i, fault in enumerate(faults)}
    if options.list:
        for fault in faults:
            print(f"{fault['scheme']}: {fault['name']}")
        return 0
    gone = []
    for fault in faults:
        try:
            planted(fault)
        except Broken as error:
            gone.append(fault)
            print(f"BROKEN {fault['scheme']}: {fault['name']}: {error}", flush=True)
    if options.match:
        chosen = [fault for fault in faults if any(word in f"{fault['scheme']}: {fault['name']}" for word in options.match)]
    else:
        chosen = faults if options.all else by_turns(faults, commit_number())
    chosen = [fault for fault in chosen if fault not in gone]
    begin = time.monotonic()
    build = Build(options.build)
    for suite in sorted({fault["suite"] for fault in chosen}):
        build.link(suite)
    if not options.passed:
        check_sound(build, chosen, options.jobs)
    counts = {"found": 0, "MISSED": 0, "BROKEN": len(gone)}

    def work(fault):
        start = time.monotonic()
        return fault, *try_fault(build, fault, numbers[id(fault)]), time.monotonic() - start

    with ThreadPoolExecutor(options.jobs) as pool:
        for fault, verdict, how, seconds in pool.map(work, chosen):
            counts[verdict] += 1
            print(f"{verdict:6} {fault['scheme']}: {fault['name']} ({how}, {seconds:.0f} s)", flush=True)
    print(f"planted faults: {len(chosen)} of {len(faults)} tried in {time.monotonic() - begin:.0f} s, {counts['found']} found, {counts['MISSED']} missed, "
          f"{counts['BROKEN']} broken")
    return 1 if counts["MISSED"] or counts["BROKEN"] else 0


if __name__ == "__main__":
    sys.exit(main())
