"""The pictures of a registration's page (`--report html`), taken over into a page of several pairs."""
import re

BASE = re.compile(r"\.([fw][012])(?:,\.pic>\.\1)?\{background-image:url\((data:image/png;base64,[A-Za-z0-9+/=]+)\)\}")
SECTION = re.compile(r"<h2>([^<]*)</h2>(.*?)(?=<h2>|</body>)", re.S)


class Pictures:
    """One report: its base images (f0..f2 fixed, w0..w2 warped) and the HTML of its sections by their titles."""

    def __init__(self, path):
        text = path.read_text()
        self.images = dict(BASE.findall(text))
        self.sections = dict(SECTION.findall(text))
        if len(self.images) < 6 or "Checkerboard" not in self.sections:
            raise ValueError(f"{path} has no pictures in the form of this version's reports")

    def rows(self, title):
        """The rows of pictures of a section, without its words."""
        return re.findall(r'<div class="row.*?</div>\n</div>', self.sections.get(title, ""), re.S)


EDGES = "Edges of the fixed image over the warped one"


def style(scope, before, after):
    """The base images of one pair, valid below `scope` only: pages of several pairs have several of each."""
    rules = [f".{scope} .{n},.{scope} .pic>.{n}{{background-image:url({after.images[n]})}}" for n in sorted(after.images)]
    rules += [f".{scope} .asis .{n},.{scope} .asis .pic>.{n}{{background-image:url({before.images[n]})}}" for n in ("w0", "w1", "w2")]
    return "\n".join(rules)


def block(scope, title, before, after):
    """Before beside after: checkerboard and contours; then the deformation's grid and the map of its log-Jacobian."""
    def pair(heading, name):
        return (f"<figcaption>{heading}, before</figcaption><div class='asis'>{before.rows(name)[0]}</div>"
                f"<figcaption>{heading}, after</figcaption>{after.rows(name)[0]}")

    deformation = after.rows("Deformation")
    out = [f"<div class='case {scope}'><h3>{title}</h3>", pair("Checkerboard of fixed and moving", "Checkerboard"),
           pair("Contours of the fixed image over the moving one", EDGES)]
    if deformation:
        out.append(f"<figcaption>Deformation of a regular grid, without the affine</figcaption>{deformation[0]}")
        key = re.search(r'<p class="soft key"><span>log-Jacobian.*?</p>', after.sections["Deformation"], re.S)
        out.append((key.group(0) if key else "") + "".join(deformation[1:]))
    return "\n".join(out) + "</div>"
