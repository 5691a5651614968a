"""No two kernel bodies have one name: the linker would keep one of the two loops for both, without a word.
python3 -m unittest discover -s tests/scripts -p '*_test.py'"""
import re
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("core", "deform", "similarity", "regularize", "registration", "denoise", "atlas", "transform", "evaluation")


class BodyNames(unittest.TestCase):
    def test_each_names_one_struct(self):
        places = defaultdict(set)
        for room in ROOMS:
            for path in (ROOT / room).rglob("*.h"):
                for name in re.findall(r"^(?:struct|class) (\w+)(?: final)?(?: : [^;{]*)? \{", path.read_text(), re.M):
                    places[name].add(str(path.relative_to(ROOT)))
        self.assertGreater(len(places), 200)
        self.assertEqual({name: found for name, found in places.items() if len(found) > 1}, {})


if __name__ == "__main__":
    unittest.main()
