"""The parameters of strategies that decide by an upper bound, and the bound that they describe."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from pydaub.algorithm.bounds import NonIncreasing, SlopeBound, check_bound, described
from pydaub.algorithm.noisy import FITS, INTERVALS, ConfidenceBound, FittedBound
from pydaub.algorithm.strategies.base import UNKNOWN_SCORES, Parameter
from pydaub.errors import InputError

if TYPE_CHECKING:
    from pydaub.algorithm.bounds import UpperBound
    from pydaub.records import Scores

POINTS: Final = {"slope": 3, "line": 2}  # how many of the last points give the slope
NAMES: Final = (*POINTS, *FITS, *INTERVALS)
SHARES: Final = ("accuracy", "score")  # scores that are the share of correct predictions; "score" is the default one
BOUND: Final = Parameter(
    "bound",
    str,
    "slope",
    "How scores are extended to all rows: `slope` is the paper's least-squares line over the last three points, `line`"
    " goes through the last two; `isotonic`, `concave` and `spline` are lines that extend a fit to the whole curve;"
    " `hoeffding` and `bernstein` are confidence bounds.",
    NAMES,
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
    cap = train_bound is not False
    if not isinstance(bound, str):
        check_bound(bound)
        if not cap or non_increasing_bound:
            raise InputError("`train_bound` and `non_increasing_bound` must go with a bound by name, got a callable.")
        return bound
    named: UpperBound
    if bound in POINTS:
        named = SlopeBound(points=POINTS[bound], train_cap=cap)
    elif bound in FITS:
        named = FittedBound(bound, train_cap=cap)
    elif bound in INTERVALS:
        named = _confidence_bound(bound, scores, looks, capped=train_bound is True)
    else:
        raise InputError(f"`bound` must be one of {', '.join(NAMES)}, or a callable, got {bound!r}.")
    return NonIncreasing(named) if non_increasing_bound else named


def _confidence_bound(interval: str, scores: Scores, looks: int, *, capped: bool) -> ConfidenceBound:
    if capped:
        raise InputError(
            f"`train_bound` must be left out or False with `bound` {interval}, got True. A training score can be below"
            " the score at all rows, so a bound that it caps would not hold with the stated probability."
        )
    if scores.name not in SHARES or not scores.proportion or scores.cross_validated:
        how = ", cross-validated" if scores.cross_validated else ""
        raise InputError(f"`bound` {interval} must go with accuracy on validation rows, got {scores.name}{how}.")
    if scores.rows is None:
        raise InputError(
            f"`bound` {interval} must know the number of validation rows, which these scores do not say. Give it to"
            " `replay` with --validation-rows."
        )
    return ConfidenceBound(scores.rows, looks, interval)


def bound_settings(bound: UpperBound, scores: Scores) -> dict[str, Any]:
    """Return the parameters that describe a bound; one of the user's own is described by its name.

    The scores belong to them where the bound depends on the scores.
    """
    inner = bound.bound if isinstance(bound, NonIncreasing) else bound
    if isinstance(inner, ConfidenceBound) and inner.rows == scores.rows:
        settings = {"bound": inner.interval, "train_bound": False, "non_increasing_bound": bound is not inner}
        return {**settings, "scores": scores.to_json()}
    for name, train_bound, non_increasing_bound in product((*POINTS, *FITS), (True, False), (False, True)):
        settings = {"bound": name, "train_bound": train_bound, "non_increasing_bound": non_increasing_bound}
        if make_bound(**settings) == bound:  # type: ignore[arg-type]  # by name
            return settings
    return {"bound": described(bound), "train_bound": True, "non_increasing_bound": False}
