"""The values that cross borders: allocations, outcomes, and the events of a journal, to and from JSON."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

LARGEST: Final = 1e100  # so that sums, slopes and bounds stay finite
COMMANDS: Final = ("pause", "resume", "stop", "drop", "restore", "boost", "add")
FAILURE_KINDS: Final = ("error", "timeout", "memory", "crash")


@dataclass(frozen=True, slots=True)
class Allocation:
    """The first `size` rows of the training data, given to `learner`. It says what, never how."""

    learner: str
    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.learner, str) or not self.learner:
            raise InputError(f"`learner` must be a name, got {self.learner!r}.")
        if type(self.size) is not int:
            object.__setattr__(self, "size", whole(self.size, "size"))
        if self.size < 1:
            raise InputError(f"`size` must be at least 1, got {self.size}.")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What training on an allocation gave. Scores are finite and higher is better.

    A score that is no number is not a measurement but a `Failure`. `metrics` are further figures by name, which no
    strategy looks at.
    """

    train_score: float
    valid_score: float
    seconds: float
    metrics: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        train, valid, seconds = self.train_score, self.valid_score, self.seconds
        if self.metrics:
            checked = {str(name): float(number(value, name)) for name, value in self.metrics.items()}
            object.__setattr__(
                self, "metrics", {name: value for name, value in checked.items() if math.isfinite(value)}
            )
        plain = type(train) is type(valid) is type(seconds) is float
        if plain and -LARGEST <= train <= LARGEST and -LARGEST <= valid <= LARGEST and 0 <= seconds <= LARGEST:
            return  # as nearly always
        for name in ("train_score", "valid_score", "seconds"):
            value = number(getattr(self, name), name)
            object.__setattr__(self, name, value)
            if not -LARGEST <= value <= LARGEST:
                limit = f"finite, at most {LARGEST:g} in size"
                raise InputError(f"`{name}` must be {limit}, got {value}. Tell a Failure instead.")
        if self.seconds < 0:
            raise InputError(f"`seconds` must not be negative, got {self.seconds}.")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an allocation gave no measurement: `kind` is one of error, timeout, memory, crash."""

    kind: str
    message: str
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in FAILURE_KINDS:
            raise InputError(f"`kind` must be one of {', '.join(FAILURE_KINDS)}, got {self.kind!r}.")
        if not isinstance(self.message, str):
            raise InputError(f"`message` must be text, got {self.message!r}.")
        seconds = number(self.seconds, "seconds")
        if not 0 <= seconds <= LARGEST:
            raise InputError(f"`seconds` must be finite and not negative, got {seconds}.")
        object.__setattr__(self, "seconds", seconds)


Outcome: TypeAlias = Measurement | Failure


@dataclass(frozen=True, slots=True)
class Started:
    """The first line of a journal: what the run is about, as plain JSON values."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """The strategy asked for this allocation; `bound` is what it expected of the learner at most, if anything."""

    allocation: Allocation
    bound: float | None


@dataclass(frozen=True, slots=True)
class Submitted:
    """An evaluation began: of what was asked, or of a guess."""

    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An outcome came in, `clock` seconds after the run began."""

    allocation: Allocation
    outcome: Outcome
    clock: float


@dataclass(frozen=True, slots=True)
class Selected:
    """The strategy is done and this learner is its answer."""

    learner: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run ended, `clock` seconds after it began, before its strategy was done; it can be resumed."""

    reason: str
    clock: float


@dataclass(frozen=True, slots=True)
class Steered:
    """A person's command was taken up, `clock` seconds after the run began. Three of them are about no learner."""

    command: str
    learner: str | None
    clock: float

    def __post_init__(self) -> None:
        if self.command not in COMMANDS:
            raise InputError(f"`command` must be one of {', '.join(COMMANDS)}, got {self.command!r}.")
        if not isinstance(self.learner, str | None) or (self.learner is None) != (self.command in COMMANDS[:3]):
            wanted = "no learner" if self.command in COMMANDS[:3] else "a learner"
            raise InputError(f"`{self.command}` must come with {wanted}, got {self.learner!r}.")


Event: TypeAlias = Started | Asked | Submitted | Evaluated | Selected | Stopped | Steered


def to_json(event: Event) -> dict[str, Any]:  # noqa: PLR0911  # one for each kind
    """Return the event as a flat JSON object."""
    match event:
        case Started(settings):
            return {"kind": "started", "settings": dict(settings)}
        case Asked(Allocation(learner, size), bound):
            # A bound can be infinite as long as nothing is known of the slope; JSON has no such number.
            known = None if bound is None or math.isinf(bound) else float(bound)
            return {"kind": "asked", "learner": learner, "size": size, "bound": known}
        case Submitted(Allocation(learner, size)):
            return {"kind": "submitted", "learner": learner, "size": size}
        case Evaluated(Allocation(learner, size), outcome, clock):
            return {
                "kind": "evaluated",
                "learner": learner,
                "size": size,
                **outcome_to_json(outcome),
                "clock": float(clock),
            }
        case Selected(learner):
            return {"kind": "selected", "learner": learner}
        case Stopped(reason, clock):
            return {"kind": "stopped", "reason": reason, "clock": float(clock)}
        case Steered(command, learner, clock):
            return {"kind": "steered", "command": command, "learner": learner, "clock": float(clock)}


def from_json(fields: Mapping[str, Any]) -> Event | None:  # noqa: PLR0911  # one for each kind
    """Return the event that `to_json` wrote, or None where the kind is not known here.

    Raises KeyError, TypeError or InputError where a known kind lacks what it needs.
    """
    match fields["kind"]:
        case "started":
            return Started(dict(fields["settings"]))
        case "asked":
            bound = fields["bound"]
            known = None if bound is None else number(bound, "bound")
            return Asked(Allocation(fields["learner"], fields["size"]), known)
        case "submitted":
            return Submitted(Allocation(fields["learner"], fields["size"]))
        case "evaluated":
            allocation = Allocation(fields["learner"], fields["size"])
            return Evaluated(allocation, outcome_from_json(fields), number(fields["clock"], "clock"))
        case "selected":
            return Selected(Allocation(fields["learner"], 1).learner)
        case "stopped":
            return Stopped(str(fields["reason"]), number(fields["clock"], "clock"))
        case "steered":
            return Steered(fields["command"], fields["learner"], number(fields["clock"], "clock"))
        case _:
            return None


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of an outcome; those of a failure are its kind, its message and its seconds."""
    if isinstance(outcome, Measurement):
        return {
            "train_score": float(outcome.train_score),
            "valid_score": float(outcome.valid_score),
            "seconds": float(outcome.seconds),
            **({"metrics": dict(outcome.metrics)} if outcome.metrics else {}),
        }
    return {"failure": outcome.kind, "message": outcome.message, "seconds": float(outcome.seconds)}


def outcome_from_json(fields: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `outcome_to_json` wrote."""
    if "failure" in fields:
        return Failure(fields["failure"], fields["message"], fields["seconds"])
    metrics = fields.get("metrics", {})
    return Measurement(fields["train_score"], fields["valid_score"], fields["seconds"], dict(metrics))


def parsed(kind: Callable[[str], T], text: str) -> T:
    """Return a number as people write it; Python's own 1_000 raises ValueError like any other non-number."""
    if "_" in text:
        raise ValueError(text)
    return kind(text)


def whole(value: object, name: str) -> int:
    """Return a whole number of any integer type as an int, and refuse everything else."""
    if type(value) is int:
        return value
    if not isinstance(value, bool) and isinstance(value, Integral):
        return int(value)
    raise InputError(f"`{name}` must be a whole number, got {value!r}.")


def number(value: object, name: str) -> float:
    """Return a number of any type as a float, so that a run and its replay compute alike.

    Fractions stay as they are: the theory is checked in exact arithmetic.
    """
    if isinstance(value, Fraction):
        return value  # type: ignore[return-value]  # duck-typed: it adds, divides and compares as a float does
    if isinstance(value, Real):
        with suppress(OverflowError):
            return float(value)
    raise InputError(f"`{name}` must be a number, got {value!r}.")
