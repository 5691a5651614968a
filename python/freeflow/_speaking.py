"""Warnings that point at the user's line."""

import os
import sys
import warnings

_HERE = os.path.dirname(__file__)


def warn(*sentences):
    """At the first line outside this package that leads here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and os.path.dirname(frame.f_code.co_filename) == _HERE:
        level, frame = level + 1, frame.f_back
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=level)
