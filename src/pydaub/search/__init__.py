"""The scikit-learn estimator over a run, and a run from its folder."""

from pydaub.search.estimator import DaubSearch
from pydaub.search.loaded import LoadedRun, load

__all__ = ["DaubSearch", "LoadedRun", "load"]
