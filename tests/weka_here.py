"""Marks that skip tests if WEKA cannot be used on this machine, with the reason."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from pydaub.learners.weka.jar import obstacle

MISSING = obstacle()
needs_weka = pytest.mark.skipif(bool(MISSING), reason=f"needs WEKA: {MISSING}")
# WEKA 3.8 and 3.9 lack some of the paper's classes; Debian's WEKA 3.6 has them all.
needs_old_weka = pytest.mark.skipif(
    bool(obstacle("weka.classifiers.trees.BFTree")),
    reason=f"needs WEKA 3.6: {obstacle('weka.classifiers.trees.BFTree')}",
)


def newer_weka() -> str:
    """Return the class path of the WEKA 3.9 in python-weka-wrapper3, or skip the test if it is not installed."""
    found = find_spec("weka")
    places = list(found.submodule_search_locations or []) if found else []
    jars = sorted(Path(places[0], "lib").glob("*.jar")) if places else []
    if not jars or MISSING:
        pytest.skip(f"needs a newer WEKA: {MISSING or 'python-weka-wrapper3 is not installed.'}")
    return os.pathsep.join(map(str, jars))
