"""The scikit-learn estimator over a run, and a run from its folder."""

from pydaub.search.estimator import DaubSearch

__all__ = ["DaubSearch"]
