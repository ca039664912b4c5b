"""Which learner gets data next? One file, one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydaub.algorithm.strategies.base import Strategy
from pydaub.algorithm.strategies.daub import Daub
from pydaub.algorithm.strategies.elimination import Elimination
from pydaub.algorithm.strategies.frugal import Frugal
from pydaub.algorithm.strategies.full import Full
from pydaub.algorithm.strategies.halving import Halving
from pydaub.algorithm.strategies.subset import Subset

if TYPE_CHECKING:
    from collections.abc import Mapping

# By the names that the command line knows.
STRATEGIES: Final[Mapping[str, type[Strategy]]] = {
    "frugal": Frugal,
    "daub": Daub,
    "full": Full,
    "subset": Subset,
    "elimination": Elimination,
    "halving": Halving,
}

DEFAULT: Final = "frugal"  # why: README.md, "Does it pay?"

__all__ = ["DEFAULT", "STRATEGIES", "Daub", "Elimination", "Frugal", "Full", "Halving", "Strategy", "Subset"]
