"""The list of planted faults is true of the sources, every scheme has its share, and what a list is asked for is what is done."""
import importlib.util
import json
import re
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("plant_faults", TREE / "tests" / "emulation" / "plant_faults.py")
plant_faults = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plant_faults)

# Where the schemes of a family are named, and how.
FAMILIES = {
    "joint_histogram": ("similarity/joint_histogram/*.cu", r"const CudaScheme (\w+)_scheme\{"),
    "ratio_histogram": ("similarity/ratio_histogram/schemes.h", r"void ratio_(\w+)\(backend::Cuda, const RatioPlan&, const RatioInput&"),
    "patch_search": ("denoise/patch_search/*.cu", r"const CudaSearch (\w+)_search\{"),
}


def schemes(family):
    pattern, name = FAMILIES[family]
    return {word for path in TREE.glob(pattern) for word in re.findall(name, path.read_text())}


class TheList(unittest.TestCase):
    def setUp(self):
        self.faults = plant_faults.load()

    def test_every_text_stands_in_its_source(self):
        for fault in self.faults:
            with self.subTest(scheme=fault["scheme"], name=fault["name"]):
                self.assertNotEqual(plant_faults.planted(fault), (TREE / fault["file"]).read_text())

    def test_every_scheme_has_five(self):
        counts = {}
        for fault in self.faults:
            counts[fault["scheme"]] = counts.get(fault["scheme"], 0) + 1
        for family, least in (("joint_histogram", 9), ("ratio_histogram", 6), ("patch_search", 4)):
            names = schemes(family)
            self.assertGreaterEqual(len(names), least, names)
            for name in names:
                self.assertGreaterEqual(counts.get(f"{family}/{name}", 0), 5, name)
        self.assertEqual({scheme: n for scheme, n in counts.items() if n < 5}, {})

    def test_no_two_are_the_same(self):
        keys = [(fault["scheme"], fault["file"], fault["find"], fault["replace"]) for fault in self.faults]
        self.assertEqual(len(set(keys)), len(keys))
        names = [(fault["scheme"], fault["name"]) for fault in self.faults]
        self.assertEqual(len(set(names)), len(names))

    def test_a_fault_in_a_header_says_what_is_compiled(self):
        for fault in self.faults:
            with self.subTest(scheme=fault["scheme"], name=fault["name"]):
                if not fault["file"].endswith(".cu"):
                    self.assertTrue(fault.get("sources"))
                    for source in fault["sources"]:
                        self.assertTrue((TREE / source).is_file(), source)
                self.assertGreater(fault["timeout"], 0)


class Planting(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "a.cu").write_text("one two two\n")

    def fault(self, find, replace, times=1):
        return {"file": "a.cu", "find": find, "replace": replace, "times": times}

    def test_the_stated_number_of_times(self):
        self.assertEqual(plant_faults.planted(self.fault("one", "1"), self.root), "1 two two\n")
        self.assertEqual(plant_faults.planted(self.fault("two", "2", 2), self.root), "one 2 2\n")
        for fault, words in ((self.fault("two", "2"), "stands 2 times"), (self.fault("three", "3"), "stands 0 times"), (self.fault("one", "one"), "nothing")):
            with self.assertRaisesRegex(plant_faults.Broken, words):
                plant_faults.planted(fault, self.root)

    def test_a_file_that_is_gone(self):
        with self.assertRaises(plant_faults.Broken):
            plant_faults.planted(self.fault("one", "1") | {"file": "b.cu"}, self.root)

    def test_faults_take_what_their_scheme_says(self):
        path = self.root / "list.json"
        path.write_text(json.dumps([{"scheme": "s", "suite": "u", "tests": ["A.b", "A.c"], "timeout": 9, "file": "a.cu", "faults": [
            {"name": "n", "find": "one", "replace": "1"}, {"name": "m", "tests": ["A.d"], "file": "b.cu", "find": "two", "replace": "2"}]}]))
        first, second = plant_faults.load(path)
        self.assertEqual((first["filter"], first["suite"], first["times"]), ("Devices/A.b/cuda:Devices/A.c/cuda", "u", 1))
        self.assertEqual((second["filter"], second["timeout"], second["file"]), ("Devices/A.d/cuda", 9, "b.cu"))

    def test_turns_come_to_every_fault(self):
        faults = [{"scheme": scheme, "name": i} for scheme, n in (("a", 5), ("b", 7)) for i in range(n)]
        seen = set()
        for number in range(7):
            chosen = plant_faults.by_turns(faults, number)
            self.assertEqual([fault["scheme"] for fault in chosen], ["a", "b"])
            seen |= {(fault["scheme"], fault["name"]) for fault in chosen}
        self.assertEqual(len(seen), len(faults))


if __name__ == "__main__":
    unittest.main()
