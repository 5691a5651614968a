"""A block of code after <!-- code: FILE --> in the documents is that file, which CI compiles."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUOTED = re.compile(r"<!-- code: (\S+) -->\n```\w*\n(.*?)\n```", re.S)


class QuotedCode(unittest.TestCase):
    def test_it_is_what_the_file_holds(self):
        seen = 0
        for page in sorted((ROOT / "docs").glob("*.md")):
            for path, code in QUOTED.findall(page.read_text(encoding="utf-8")):
                seen += 1
                self.assertEqual((ROOT / path).read_text(encoding="utf-8").strip("\n"), code, f"{page.name}: {path} has changed")
        self.assertGreaterEqual(seen, 3)


if __name__ == "__main__":
    unittest.main()
