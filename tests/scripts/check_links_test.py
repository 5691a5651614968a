"""Every link of the documents leads somewhere, the site's list of pages is whole, and scripts/check_links finds what it should."""
import importlib.machinery
import importlib.util
import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


check_links, site, manual_pages = script("check_links"), script("site"), script("manual_pages")


class TheDocuments(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        self.assertEqual([], [(str(page.relative_to(ROOT)), *wrong) for page in check_links.pages() for wrong in check_links.broken(page)])

    def test_every_page_stands_in_the_sites_list(self):
        listed = set(re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
        pages = [str(page.relative_to(ROOT / "docs")) for page in sorted((ROOT / "docs").rglob("*.md"))]
        self.assertEqual([], [page for page in pages if page not in listed and not page.startswith("api/")])

    def test_every_program_has_its_page(self):
        """What it is for, with a call, a picture, its options, what it writes and what it cannot do."""
        build = (ROOT / "apps/CMakeLists.txt").read_text(encoding="utf-8")
        built = re.findall(r"^add_executable\((\w+)", build, re.M) + re.search(r"program IN ITEMS ([\w ]+)\)", build)[1].split()
        self.assertEqual(sorted(built), sorted(manual_pages.PROGRAMS))
        for name in manual_pages.PROGRAMS:
            text = (ROOT / f"docs/programs/{name}.md").read_text(encoding="utf-8")
            self.assertTrue(text.startswith(f"# {name}\n"), name)
            for part in ("```sh\n", "![", "\n## Limits\n", "\n## Every option\n"):
                self.assertIn(part, text, name)


class TheSite(unittest.TestCase):
    def test_its_pages_lead_somewhere_without_the_repository(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            old, check_links.ROOT, site.PAGES = check_links.ROOT, root, root
            try:
                site.lay_out()
                wrong = [(str(page.relative_to(root)), *link) for page in sorted(root.rglob("*.md")) for link in check_links.broken(page)]
            finally:
                check_links.ROOT = old
            self.assertEqual([], wrong)
            listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
            self.assertEqual(sorted(listed), sorted(str(page.relative_to(root)) for page in root.rglob("*.md")))

    def test_lists_and_tables_get_their_empty_line(self):
        self.assertEqual("Text\n\n- a\n- b\n", site.for_mkdocs("Text\n- a\n- b\n"))
        self.assertEqual("```\nText\n- a\n```", site.for_mkdocs("```\nText\n- a\n```"))


class TheChecker(unittest.TestCase):
    def wrong(self, text, other="# Other\n## Two words, and `code`\n## Same\n## Same\n"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            (root / "other.md").write_text(other)
            (root / "page.md").write_text("# Page\n" + text)
            old, check_links.ROOT = check_links.ROOT, root
            try:
                return [target for target, _ in check_links.broken(root / "page.md")]
            finally:
                check_links.ROOT = old

    def test_links_that_lead_somewhere(self):
        self.assertEqual([], self.wrong("[a](other.md) [b](other.md#two-words-and-code) [c](#page) [d](https://example.org/x) [e](other.md#same-1)"))

    def test_links_that_lead_nowhere(self):
        self.assertEqual(["no.md"], self.wrong("[a](no.md)"))
        self.assertEqual(["other.md#three"], self.wrong("[a](other.md#three)"))
        self.assertEqual(["#nothing"], self.wrong("[a](#nothing)"))
        self.assertEqual(["no.png"], self.wrong("![a picture](no.png)"))
        self.assertEqual(["no.md"], self.wrong("[over two\nlines](no.md)"))
        self.assertEqual(["../outside.md"], self.wrong("[a](../outside.md)"))

    def test_code_holds_no_links(self):
        self.assertEqual([], self.wrong("```\n[a](no.md)\n```\n`[b](no.md)`\n\n    [c](no.md)\n"))


if __name__ == "__main__":
    unittest.main()
