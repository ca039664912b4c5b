"""The parameters of strategies that decide by an upper bound, and the bound that they describe."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.bounds import NonIncreasing, SlopeBound, check_bound, described
from pydaub.algorithm.strategies.base import Parameter
from pydaub.errors import InputError

if TYPE_CHECKING:
    from pydaub.algorithm.bounds import UpperBound

POINTS: Final = {"slope": 3, "line": 2}  # how many of the last points give the slope
BOUND: Final = Parameter(
    "bound",
    str,
    "slope",
    "How scores are extended to all rows: `slope` is the paper's least-squares line over the last three points, `line`"
    " goes through the last two.",
    tuple(POINTS),
)
TRAIN_BOUND: Final = Parameter(
    "train_bound", bool, default=True, help="Cap bounds by the training score, as the paper does."
)
NON_INCREASING_BOUND: Final = Parameter(
    "non_increasing_bound", bool, default=False, help="Never let a learner's bound rise."
)
BOUND_PARAMETERS: Final = (BOUND, TRAIN_BOUND, NON_INCREASING_BOUND)


def make_bound(bound: str | UpperBound, *, train_bound: bool, non_increasing_bound: bool) -> UpperBound:
    """Return the bound that the parameters describe; a callable is used as it is."""
    for name, value in (("train_bound", train_bound), ("non_increasing_bound", non_increasing_bound)):
        if not isinstance(value, bool):
            raise InputError(f"`{name}` must be True or False, got {value!r}.")
    if not isinstance(bound, str):
        check_bound(bound)
        if not train_bound or non_increasing_bound:
            raise InputError("`train_bound` and `non_increasing_bound` must go with a bound by name, got a callable.")
        return bound
    if bound not in POINTS:
        raise InputError(f"`bound` must be one of {', '.join(POINTS)}, or a callable, got {bound!r}.")
    slope = SlopeBound(points=POINTS[bound], train_cap=train_bound)
    return NonIncreasing(slope) if non_increasing_bound else slope


def bound_settings(bound: UpperBound) -> dict[str, Any]:
    """Return the parameters that describe a bound; one of the user's own is described by its name."""
    for name, train_bound, non_increasing_bound in product(POINTS, (True, False), (False, True)):
        settings = {"bound": name, "train_bound": train_bound, "non_increasing_bound": non_increasing_bound}
        if make_bound(**settings) == bound:  # type: ignore[arg-type]  # by name
            return settings
    return {"bound": described(bound), "train_bound": True, "non_increasing_bound": False}
