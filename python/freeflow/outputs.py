"""Files that appear all or not at all."""

import errno
import os

from ._speaking import warn

_WORDS = ("warp", "inverse", "warped", "inversewarped", "report")
_ENDS_OF_FILES = (".nii", ".nii.gz", ".hdr", ".img", ".img.gz", ".mha", ".mhd", ".nrrd", ".nhdr", ".mgz", ".mgh", ".ply", ".stl", ".obj", ".vtk")
_KINDS = {
    "0GenericAffine.mat": "affine",
    "1Warp.nii.gz": "warp",
    "1InverseWarp.nii.gz": "inverse_warp",
    "Warped": "warped",
    "InverseWarped": "inverse_warped",
    "report.json": "report",
}


def chosen(words):
    """The words of `what`, checked."""
    if words == "all":
        return _WORDS
    found = [w.strip() for w in words.split(",")] if isinstance(words, str) else list(words)
    for word in found:
        if word not in _WORDS:
            raise ValueError(f"what {word!r} is not one of all, {', '.join(_WORDS)}")
    return found


def checked_prefix(prefix):
    """As the programs take it: what is a file's name is refused, of what is a folder they warn, and '.' is './'."""
    if os.path.basename(prefix) in (".", ".."):
        return prefix + "/"
    if prefix.lower().endswith(_ENDS_OF_FILES):
        start, end = os.path.splitext(prefix)
        start = os.path.splitext(start)[0] if end.lower() == ".gz" else start
        raise ValueError(f"prefix '{prefix}' ends as a file's name, but is the prefix of several files: '{start}_'")
    if os.path.basename(prefix) and os.path.isdir(prefix):
        warn(
            f"'{prefix}' is a folder, and the outputs lie beside it with names that begin like its; '{prefix}/' puts them into it"
        )
    return prefix


def peak_host_bytes():
    """Of the whole process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class OutputSet:
    """Names behind a prefix, written beside their places and moved there by commit()."""

    def __init__(self, prefix, inputs=()):
        """inputs: paths of files that must stay."""
        self._prefix, self._inputs = prefix, [path for path in inputs if os.path.exists(path)]
        self._folder, self._start = os.path.split(prefix)
        self._folder = self._folder or "."
        self._names, self._made = [], []

    def __enter__(self):
        import tempfile  # here, as json and datetime below: `import freeflow` shall not wait for them

        try:
            self._make_folders()
            self._staging = tempfile.TemporaryDirectory(prefix=".freeflow-", dir=self._folder)
        except OSError as error:  # it names what nobody gave
            self._remove_folders()
            raise type(error)(f"cannot write '{self._prefix}': {error.strerror}") from None
        return self

    def __exit__(self, *_):
        self._staging.cleanup()
        self._remove_folders()

    def _make_folders(self):
        missing, folder = [], self._folder
        while folder and not os.path.lexists(folder):
            missing, folder = [folder, *missing], os.path.dirname(folder)
        for folder in missing:
            os.makedirs(folder, exist_ok=True)
            self._made.append(folder)

    def _remove_folders(self):
        """Those that were made and hold nothing, innermost first."""
        for folder in reversed(self._made):
            try:
                os.rmdir(folder)
            except OSError:
                return

    def _place(self, name):
        return os.path.join(self._folder, self._start + name)

    def file(self, name):
        """Where to write what will be PREFIXname. Raises ValueError where that is an input."""
        place = self._place(name)
        if os.path.exists(place) and any(os.path.samefile(place, path) for path in self._inputs):
            raise ValueError(f"the output '{place}' is also an input; choose another prefix")
        self._names.append(name)
        return os.path.join(self._staging.name, name)

    def write_report(self, report):
        """PREFIXreport.json, as the last file, with the date and the files beside it: `regtool report PREFIX` draws its page."""
        import json
        from datetime import datetime, timezone

        with open(self.file("report.json"), "w", encoding="utf-8") as file:
            date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            json.dump({**report, "date": date, "outputs": self._listed()}, file, indent=1, default=_plain)

    def _listed(self):
        listed = {}
        for name in self._names:
            kind = _KINDS.get(name) or _KINDS[name.split(".")[0].rstrip("0123456789")]
            listed[kind] = listed.get(kind, []) + [self._start + name]
        return {kind: names if "warped" in kind else names[0] for kind, names in listed.items()}

    def commit(self):
        """All of them, or none: then what stood there before is put back. Returns the paths."""
        before = os.path.join(self._staging.name, "before")
        os.mkdir(before)
        places = [self._place(name) for name in self._names]
        try:
            for name, path in zip(self._names, places, strict=True):
                _set_aside(path, os.path.join(before, name))
            for name, path in zip(self._names, places, strict=True):
                os.replace(os.path.join(self._staging.name, name), path)
        except BaseException as error:
            for name, place in zip(self._names, places, strict=True):
                if os.path.lexists(os.path.join(before, name)):
                    os.replace(os.path.join(before, name), place)
                elif not os.path.lexists(os.path.join(self._staging.name, name)):
                    os.remove(place)
            if isinstance(error, OSError):
                raise type(error)(f"cannot write '{path}': {error.strerror}") from None
            raise
        return places


def _set_aside(path, aside):
    """Under a second name, so that no moment is without it; moved where the file system has none."""
    if not os.path.lexists(path):
        return
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    try:
        os.link(path, aside, follow_symlinks=False)
    except OSError:
        os.rename(path, aside)


def _plain(value):
    """Numbers and lists of what numpy and torch have."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
