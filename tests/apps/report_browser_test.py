"""The pages of --report html and regtool report --group in a real browser, where one is installed: no errors on the console, nothing
asked of the network, the flicker flickers, and what is seen is no empty page.   report_browser_test.py FOLDER_OF_PROGRAMS [unittest's]"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent / "bad_input"))
from volumes import blob, nifti  # noqa: E402

PROGRAMS = Path(sys.argv.pop(1)).resolve()
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SIZE = (24, 22, 14)
# In a copy of the page: holds the flicker still at its first half, as a hand on it would see it, and says what then lies over the picture.
PROBE = """<script>const row=document.querySelector('.flicker'),over=row.querySelector('.over');
const say=()=>{const s=getComputedStyle(over);return s.opacity+' '+s.animationName};
const before=say();row.focus();let looks=0;
const look=()=>{const now=say();if(/flicker/.test(now)||++looks==100)document.title='probe '+before+' then '+now;else setTimeout(look,20)};
look();</script>"""


class Tags(HTMLParser):
    """Whether every tag is closed by its own."""
    ALONE = {"meta", "link", "br", "img"}

    def __init__(self):
        super().__init__()
        self.open, self.faults = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(self.getpos())


def pixels(png):
    """Rows of bytes of an 8-bit PNG, its filters undone, and its width and height."""
    width, height, depth, colours = struct.unpack(">IIBB", png[16:26])
    assert depth == 8
    step = {2: 3, 6: 4}[colours]
    data = b"".join(png[m.end():m.end() + struct.unpack(">I", png[m.start() - 4:m.start()])[0]] for m in re.finditer(b"IDAT", png))
    raw, rows, above = zlib.decompress(data), [], bytes(width * step)
    for y in range(height):
        kind, row = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        for i in range(len(row)):
            left, up, corner = (row[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, near)[kind]) & 255
        rows.append(above := bytes(row))
    return rows, width, height


@unittest.skipUnless(BROWSER, "no Chromium here (apt-get install chromium); the pages were not opened")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        (cls.path / "f.nii").write_bytes(nifti(blob(), SIZE))
        (cls.path / "m.nii").write_bytes(nifti(blob(1.5), SIZE))
        for call in (["ffdreg", "-f", "f.nii", "-m", "m.nii", "-o", "run/a_", "--report", "both", "--linear", "none", "--start", "none",
                      "--levels", "1", "--iterations", "5", "-q"], ["regtool", "report", "--group", "run"]):
            subprocess.run([PROGRAMS / call[0], *call[1:]], cwd=cls.path, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def browse(self, page, *options):
        """What it prints, and what it says on its console."""
        profile = self.path / "profile"
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
                               "--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000", *options, page.as_uri()],
                              capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(self.path)})
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return done.stdout, console

    def test_pages_open_without_a_word(self):
        for name in ("run/a_report.html", "run/group.html"):
            page = self.path / name
            tags = Tags()
            tags.feed(page.read_text())
            self.assertEqual((tags.open, tags.faults), ([], []), name)
            dom, console = self.browse(page, "--dump-dom")
            self.assertEqual(console, [], name)
            self.assertIn("</h1>", dom)

    def test_the_flicker_flickers(self):
        probed = self.path / "run/probed.html"
        probed.write_text((self.path / "run/a_report.html").read_text().replace("</body>", PROBE + "</body>"))
        dom, console = self.browse(probed, "--dump-dom")
        self.assertEqual(console, [])
        self.assertRegex(dom, r"<title>probe 0 none then [01] flicker</title>")

    def test_something_is_seen_in_light_and_dark(self):
        grounds = []
        for name, scheme in (("light", "1"), ("dark", "0")):
            shot = self.path / f"{name}.png"
            self.browse(self.path / "run/a_report.html", f"--blink-settings=preferredColorScheme={scheme}", "--window-size=900,1400",
                        f"--screenshot={shot}")
            rows, width, height = pixels(shot.read_bytes())
            self.assertEqual((width, height), (900, 1400))
            self.assertGreater(len(set(b"".join(rows[::7]))), 100, "an empty page")
            grounds.append(rows[2][0])
        self.assertGreater(grounds[0], 200)
        self.assertLess(grounds[1], 60)


if __name__ == "__main__":
    unittest.main()
