"""The parameters of strategies that decide by an upper bound, and the bound that they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.bounds import BoundOptions, NonIncreasing, SlopeBound, check_bound, described
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES, Parameter
from pydaub.errors import InputError, PydaubError, one_line
from pydaub.installed import load

if TYPE_CHECKING:
    from pydaub.algorithm.bounds import UpperBound
    from pydaub.records import Scores

POINTS: Final = {"slope": 3, "line": 2}  # how many of the last points give the slope
BOUND: Final = Parameter(
    "bound",
    str,
    "slope",
    "How scores are extended to all rows: `slope` is the paper's least-squares line over the last three points, `line`"
    " goes through the last two; `isotonic`, `concave` and `spline` are lines that extend a fit to the whole curve;"
    " `hoeffding` and `bernstein` are confidence bounds. Installed packages may add others.",
    tuple(POINTS),
    group="pydaub.bounds",
)
TRAIN_BOUND: Final = Parameter(
    "train_bound",
    bool,
    default=True,
    help="Cap bounds by the training score. The paper caps them; confidence bounds are never capped.",
)
NON_INCREASING_BOUND: Final = Parameter(
    "non_increasing_bound", bool, default=False, help="Never let a learner's bound rise."
)
BOUND_PARAMETERS: Final = (BOUND, TRAIN_BOUND, NON_INCREASING_BOUND)


def make_bound(
    bound: str | UpperBound,
    *,
    train_bound: bool | None,
    non_increasing_bound: bool,
    scores: Scores = UNKNOWN_SCORES,
    looks: int = 1,
) -> UpperBound:
    """Return the bound that the parameters describe; a callable is used as it is.

    Parameters
    ----------
    bound, train_bound, non_increasing_bound
        As for `Daub`.
    scores
        What the scores are. Confidence bounds need the number of validation rows.
    looks
        Number of learners times sizes, for confidence bounds.
    """
    if train_bound is not None and not isinstance(train_bound, bool):
        raise InputError(f"`train_bound` must be True, False or None, got {train_bound!r}.")
    if not isinstance(non_increasing_bound, bool):
        raise InputError(f"`non_increasing_bound` must be True or False, got {non_increasing_bound!r}.")
    if not isinstance(bound, str):
        check_bound(bound)
        if train_bound is False or non_increasing_bound:
            raise InputError("`train_bound` and `non_increasing_bound` must go with a bound by name, got a callable.")
        return bound
    options = BoundOptions(train_bound, scores, looks)
    named = SlopeBound(POINTS[bound], options.train_cap) if bound in POINTS else _installed(bound, options)
    return NonIncreasing(named) if non_increasing_bound else named


def _installed(name: str, options: BoundOptions) -> UpperBound:
    """Return the bound that an installed package, or an extension of pydaub, makes for these options."""
    BOUND.check(name)
    make = load(BOUND.group, name, BOUND.name)
    try:
        made: UpperBound = make(options)
    except PydaubError:
        raise
    except Exception as error:
        raise InputError(f"`bound` {name} must be made from BoundOptions, got {one_line(error)}.") from error
    check_bound(made)
    return made


def bound_settings(
    bound: str | UpperBound, made: UpperBound, *, train_bound: bool | None, scores: Scores
) -> dict[str, Any]:
    """Return the parameters that describe a bound; one of the user's own is described by its name.

    Parameters
    ----------
    bound, train_bound, scores
        As they were given to `make_bound`. The scores are among the settings where an installed bound may need them.
    made
        The bound that they made.
    """
    inner = made.bound if isinstance(made, NonIncreasing) else made
    settings = {"bound": bound, "train_bound": train_bound, "non_increasing_bound": made is not inner}
    if isinstance(inner, SlopeBound) and inner.points in POINTS.values() and made in (inner, NonIncreasing(inner)):
        name = next(name for name, points in POINTS.items() if points == inner.points)
        return {**settings, "bound": name, "train_bound": inner.train_cap}
    if isinstance(bound, str):
        known = {"scores": scores.to_json()} if scores != UNKNOWN_SCORES else {}
        return {**settings, "train_bound": getattr(inner, "train_cap", train_bound), **known}
    return {"bound": described(made), "train_bound": True, "non_increasing_bound": False}
