"""The events of a run, which are the lines of its journal, to and from JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydaub.errors import InputError
from pydaub.records import Allocation, Outcome, number, outcome_from_json, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMANDS: Final = ("pause", "resume", "stop", "drop", "restore", "boost", "retry", "add")
ADJUSTMENTS: Final = ("threshold", "temperature")  # of a classifier to the score


@dataclass(frozen=True, slots=True)
class Started:
    """The first line of a journal.

    `settings` say what the run is about, as plain JSON values: a run can be resumed only with the same ones. `versions`
    are those of Python and of the libraries that the run started with. `descriptions` say what each learner is.
    """

    settings: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """The strategy asked for an allocation.

    Parameters
    ----------
    allocation
        What it asked for.
    bound, priority
        Those of the learner at that moment, if any.
    why
        The reason as a word, from which the strategy can take up the same decision again.
    """

    allocation: Allocation
    bound: float | None
    priority: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Submitted:
    """An evaluation began, of an allocation that was asked for or guessed ahead."""

    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The outcome of an allocation came in, `clock` seconds after the run began."""

    allocation: Allocation
    outcome: Outcome
    clock: float


@dataclass(frozen=True, slots=True)
class Selected:
    """The strategy is done and selected this learner, `clock` seconds after the run began."""

    learner: str
    clock: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run ended before its strategy was done, for this reason and at this `clock`; it can be resumed."""

    reason: str
    clock: float


@dataclass(frozen=True, slots=True)
class Limited:
    """The run has a time limit: it ends `until` seconds after it began, at the latest."""

    until: float


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """At this `clock` the evaluation of an `allocation` was ended: another must be done before the time limit."""

    allocation: Allocation
    clock: float


@dataclass(frozen=True, slots=True)
class Resumed:
    """Another process continued the run at this `clock`; whatever the earlier one was evaluating is lost."""

    clock: float


@dataclass(frozen=True, slots=True)
class Steered:
    """A person's command was carried out at this `clock`. `learner` is None for commands about the whole run."""

    command: str
    learner: str | None
    clock: float

    def __post_init__(self) -> None:
        if self.command not in COMMANDS:
            raise InputError(f"`command` must be one of {', '.join(COMMANDS)}, got {self.command!r}.")
        if not isinstance(self.learner, str | None) or (self.learner is None) != (self.command in COMMANDS[:3]):
            wanted = "no learner" if self.command in COMMANDS[:3] else "the name of a learner"
            got = "none" if self.learner is None else repr(self.learner)
            raise InputError(f"`{self.command}` must come with {wanted}, got {got}.")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A configuration of a space joined the race under the name `learner`; it is at this `point`, in `words`."""

    learner: str
    point: Mapping[str, float]
    words: str


@dataclass(frozen=True, slots=True)
class Combined:
    """Learners that have all rows were combined. The ensemble is used if its score is higher than `alone`.

    Parameters
    ----------
    weights
        Those of its members.
    score
        Its score on validation rows that did not choose it.
    alone
        The score of the member that was best on the other rows.
    clock
        Seconds since the run began.
    """

    weights: Mapping[str, float]
    score: float
    alone: float
    clock: float

    @property
    def used(self) -> bool:
        """Whether there are several members, and they are better together than the best of them."""
        return len(self.weights) > 1 and self.score > self.alone


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The selected classifier was adjusted to the score. That is used if `score` is higher than `plain`.

    Parameters
    ----------
    method
        "threshold" or "temperature".
    value
        Its value.
    score, plain
        The score with the adjustment and without it, on validation rows that did not choose the value.
    clock
        Seconds since the run began.
    """

    method: str
    value: float
    score: float
    plain: float
    clock: float

    def __post_init__(self) -> None:
        if self.method not in ADJUSTMENTS:
            raise InputError(f"`method` must be one of {', '.join(ADJUSTMENTS)}, got {self.method!r}.")

    @property
    def used(self) -> bool:
        """Whether the classifier is better with the adjustment."""
        return self.score > self.plain

    @property
    def parameters(self) -> dict[str, float]:
        """The value by the name of the method."""
        return {self.method: self.value}


Event: TypeAlias = (
    Started
    | Asked
    | Submitted
    | Evaluated
    | Drawn
    | Selected
    | Combined
    | Adjusted
    | Stopped
    | Resumed
    | Limited
    | Withdrawn
    | Steered
)


def to_json(event: Event) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912  # one for each kind
    """Return the event as a flat JSON object."""
    match event:
        case Started(settings, versions, descriptions):
            described = {"descriptions": dict(descriptions)} if descriptions else {}
            return {"kind": "started", "settings": dict(settings), "versions": dict(versions), **described}
        case Asked(Allocation(learner, size, limit), bound, priority, why):
            known = {"bound": _finite_or_none(bound), "priority": _finite_or_none(priority)}
            limited = {} if limit is None else {"limit": float(limit)}
            told = {"why": why} if why else {}
            return {"kind": "asked", "learner": learner, "size": size, **known, **limited, **told}
        case Submitted(Allocation(learner, size)):
            return {"kind": "submitted", "learner": learner, "size": size}
        case Evaluated(Allocation(learner, size), outcome, clock):
            fields = outcome_to_json(outcome)
            return {"kind": "evaluated", "learner": learner, "size": size, **fields, "clock": float(clock)}
        case Selected(learner, clock):
            return {"kind": "selected", "learner": learner, "clock": float(clock)}
        case Drawn(learner, point, words):
            return {"kind": "drawn", "learner": learner, "point": dict(point), "words": words}
        case Combined(weights, score, alone, clock):
            return {"kind": "combined", "weights": dict(weights), "score": score, "alone": alone, "clock": float(clock)}
        case Adjusted(method, value, score, plain, clock):
            scores = {"score": score, "plain": plain}
            return {"kind": "adjusted", "method": method, "value": value, **scores, "clock": float(clock)}
        case Stopped(reason, clock):
            return {"kind": "stopped", "reason": reason, "clock": float(clock)}
        case Resumed(clock):
            return {"kind": "resumed", "clock": float(clock)}
        case Limited(until):
            return {"kind": "limited", "until": float(until)}
        case Withdrawn(Allocation(learner, size), clock):
            return {"kind": "withdrawn", "learner": learner, "size": size, "clock": float(clock)}
        case Steered(command, learner, clock):
            return {"kind": "steered", "command": command, "learner": learner, "clock": float(clock)}


def _finite_or_none(value: float | None) -> float | None:
    """Return the number as JSON can hold it: bounds are infinite while no slope is known."""
    return None if value is None or math.isinf(value) else float(value)


def from_json(fields: Mapping[str, Any]) -> Event | None:  # noqa: C901, PLR0911, PLR0912  # one for each kind
    """Return the event that `to_json` wrote, or None for an unknown kind.

    Raises KeyError, TypeError or InputError where a known kind lacks a field.
    """
    match fields["kind"]:
        case "started":
            versions, descriptions = (dict(fields.get(name, {})) for name in ("versions", "descriptions"))
            return Started(dict(fields["settings"]), versions, descriptions)
        case "asked":
            bound, priority = (
                None if fields[name] is None else number(fields[name], name) for name in ("bound", "priority")
            )
            allocation = Allocation(fields["learner"], fields["size"], fields.get("limit"))
            return Asked(allocation, bound, priority, str(fields.get("why", "")))
        case "submitted":
            return Submitted(Allocation(fields["learner"], fields["size"]))
        case "evaluated":
            allocation = Allocation(fields["learner"], fields["size"])
            return Evaluated(allocation, outcome_from_json(fields), number(fields["clock"], "clock"))
        case "selected":
            return Selected(Allocation(fields["learner"], 1).learner, number(fields["clock"], "clock"))
        case "drawn":
            point = {str(name): number(place, name) for name, place in fields["point"].items()}
            return Drawn(Allocation(fields["learner"], 1).learner, point, str(fields["words"]))
        case "combined":
            weights = {Allocation(name, 1).learner: number(share, name) for name, share in fields["weights"].items()}
            return Combined(weights, *(number(fields[name], name) for name in ("score", "alone", "clock")))
        case "adjusted":
            return Adjusted(
                fields["method"], *(number(fields[name], name) for name in ("value", "score", "plain", "clock"))
            )
        case "stopped":
            return Stopped(str(fields["reason"]), number(fields["clock"], "clock"))
        case "resumed":
            return Resumed(number(fields["clock"], "clock"))
        case "limited":
            return Limited(number(fields["until"], "until"))
        case "withdrawn":
            return Withdrawn(Allocation(fields["learner"], fields["size"]), number(fields["clock"], "clock"))
        case "steered":
            return Steered(fields["command"], fields["learner"], number(fields["clock"], "clock"))
        case _:
            return None
