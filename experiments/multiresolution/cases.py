"""What an experiment is made of: pairs of images, what they are judged by, and the registrations that are tried on them."""
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One thing a result is judged by, as `regtool measure` measures it. kind: dice (label images) or mm (landmarks).

    points: which landmarks count, by their place in the files (none named: all). frame: what the landmarks' numbers are."""
    name: str
    kind: str
    fixed: Path
    moving: Path
    labels: str = ""
    points: tuple = ()
    frame: str = "lps"


@dataclass(frozen=True)
class Case:
    name: str
    fixed: Path
    moving: Path
    figures: tuple
    masks: tuple = ()  # of the fixed and of the moving image; None where there is none
    note: str = ""


@dataclass(frozen=True)
class Method:
    """A program with options, as the page names it."""
    name: str
    program: str
    options: tuple = ()


@dataclass(frozen=True)
class Paper:
    """An experiment of a paper beside ours: what the paper reports, in its words and units, and what differs."""
    source: str
    reports: str
    differs: str


@dataclass
class Experiment:
    name: str
    about: str
    papers: tuple
    methods: tuple
    cases: list = field(default_factory=list)
