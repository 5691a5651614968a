"""docs/troubleshooting.md quotes what the programs say: every quotation stands in the sources, and every sentence of the rooms that
speak to a user stands on the page."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/troubleshooting.md"
ROOMS = ["core", "deform", "transform", "evaluation", "similarity", "regularize", "registration", "atlas", "denoise", "io", "apps"]
SPEAKING = ["core", "apps", "io", "atlas", "denoise", "registration", "transform", "evaluation"]  # of the others a program never meets most
GAP = "\0"  # where a name or a number stands
OTHERWISE = "\1"  # the same, and what follows takes the place of what was before

# Sentences for those who call the library with what the programs never give it, and parts of sentences quoted elsewhere.
NOT_ON_THE_PAGE = [
    "the number of voxels does not fit the", "the number of displacements does not fit the geometry", "the number of pixels does not fit",
    "the stored type is not one of StoredType", "an output set is committed once", "a mesh keeps its number of vertices",
    "the image is not on the grid that the map leads to", "a displacement field of a transform must not be empty", "no image",
    "the mask does not share the field's grid", "the two label volumes do not share a grid", "is named twice", "each needs its counterpart",
    "there are no landmarks", "zlib cannot be started", "close other programs", "writing the results", "the chain of transforms",
    "composing the transforms", "inverting the transform", "the Jacobian determinant", "the programs refuse it", "there is no subject",
    "a Fourier transform needs voxels", "patches to choose", "rows of patches must be padded", "are not among the patches",
    "the number of seeds does not fit", "take a coarser grid", "subject '", "cannot read '", "cannot write '", "the program warned once", "the denoising",
    "a level's mask has other voxels than its image", "AtlasOptions::start needs as many channels as the subjects have",
]

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?P<raw>.*?)\)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'|(?P<end>[;{}])|(?P<code>[^\s"/\';{}]+|[/\'])',
                   re.S)
SAYS = re.compile(r"\brequire\w*\(|\bthrow\b|warnings?\.push_back|\b(?:InvalidArgument|IoError|WriteError|DeviceError)[({]|\brefuse\w*\(|\bfail\w*\(")


def statements(source):
    """(code without its strings, its strings joined, with GAP or OTHERWISE where an expression stands between two) of each statement."""
    source = re.sub(r"^\s*#.*$", "", source, flags=re.M)
    code, texts, gap = [], [], ""
    for m in TOKEN.finditer(source):
        text = m.group("text") if m.group("text") is not None else m.group("raw")
        if text is not None:
            text = re.sub(r"%[-+.*0-9]*(?:l|z|h)*[a-zA-Z]", GAP, text.replace('\\"', '"').replace("\\n", " "))
            texts.append((gap if texts else "") + text)
            gap = ""
        elif m.group("code"):
            code.append(m.group("code"))
            gap = OTHERWISE if gap == OTHERWISE or re.search(r"(?<!:):(?!:)", m.group("code")) else GAP
        elif m.group("end"):
            if texts:
                yield "".join(code), "".join(texts)
            code, texts, gap = [], [], ""


def of_sources(rooms):
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh"):
                for code, text in statements(path.read_text(encoding="utf-8")):
                    yield path, code, text


def of_python():
    for path in sorted((ROOT / "python/freeflow").glob("*.py")):
        for text in re.findall(r'f?"((?:[^"\\\n]|\\.)*)"', path.read_text(encoding="utf-8")):
            yield re.sub(r"\{[^{}]*\}", GAP, text)


def quotations(page):
    """What stands between backticks in the first cell of each row."""
    for row in re.findall(r"^\| (`.*?) \| ", page, re.M):
        yield from re.findall(r"`([^`]+)`", row)


def fixed_parts(quotation):
    return [part for part in quotation.split("...") if part.strip(" ',;:()")]


def says(text, quotation):
    at = 0
    for part in fixed_parts(quotation):
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


class Troubleshooting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.quoted = list(quotations(PAGE.read_text(encoding="utf-8")))

    def test_every_quotation_stands_in_the_sources(self):
        texts = [text for _, _, text in of_sources([*ROOMS, "python/native"])] + list(of_python())
        self.assertGreater(len(self.quoted), 300)
        self.assertEqual([], [q for q in self.quoted if not any(says(text, q) for text in texts)])

    def test_every_quotation_says_something(self):
        self.assertEqual([], [q for q in self.quoted if len("".join(fixed_parts(q))) < 6])

    def test_every_sentence_of_the_sources_is_quoted(self):
        lacking = []
        for path, code, text in of_sources(SPEAKING):
            for one in text.split(OTHERWISE) if SAYS.search(code) else []:
                longest = max(one.split(GAP), key=len)
                if len(re.findall(r"[A-Za-z]{2,}", longest)) < 3 or any(part in text for part in NOT_ON_THE_PAGE):
                    continue
                quoting = [q for q in self.quoted if says(text, q)]
                if not any(says(one, q) or longest in q or any(part in one for part in fixed_parts(q) if len(part) > 8) for q in quoting):
                    lacking.append(f"{path.relative_to(ROOT)}: {one.replace(GAP, '...')}")
        self.assertEqual([], lacking)

    def test_a_sentence_that_has_changed_is_found(self):
        (code, text), = statements('require(a, "--" + name + " must lie\\n" " between " + b);')
        self.assertTrue(SAYS.search(code + ""))
        self.assertTrue(says(text, "--... must lie  between ..."))
        self.assertFalse(says(text, "must lie among"))


if __name__ == "__main__":
    unittest.main()
