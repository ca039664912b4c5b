"""The values that rooms exchange: allocations, outcomes and scores; how they are checked and written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

FEW, MANY_DIGITS, LONGEST = 1e-3, 1e4, 1e15  # from where on a score is written differently
LARGEST: Final = 1e100  # so that sums, slopes and bounds stay finite
SHARES_OF_ROWS: Final = ("score", "accuracy", "top_k_accuracy")  # scores that count rows which are predicted right
VALIDATION_FRACTION: Final = 0.3  # of the rows, as in the paper
VALIDATION_ROWS: Final = 100_000  # at most: a score is then precise to a third of a percent
OPTIONAL: Final = ("fitting", "scoring", "scored")  # fields of a measurement that may be unknown
PORTFOLIOS: Final = ("sklearn", "strong", "spaces", "weka", "streaming")  # of learners; the first is the default
METRICS: Final = ("full", "all", "none")  # whose metrics are recorded besides the score; the first is the default
SCORE_ROWS: Final = ("few", "all")  # validation rows for learners that do not have all training rows
COMMANDS: Final = ".toml"  # how the names of files of learners that are commands end
REFUSED: Final = "refused"  # the kind of failure of a learner that says that a size is too large for it
FAILURE_KINDS: Final = ("error", "timeout", "memory", "crash", REFUSED)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What to evaluate: a learner on a sample of the training data.

    Parameters
    ----------
    learner
        The learner's name.
    size
        Train on the first `size` rows.
    limit
        Seconds after which the evaluation is ended, because it would not have been begun at such a price; None for no
        limit. It does not count in comparisons.
    """

    learner: str
    size: int
    limit: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.learner, str) or not self.learner:
            raise InputError(f"`learner` must be a name, got {self.learner!r}.")
        if type(self.size) is not int or self.size < 1:
            object.__setattr__(self, "size", from_one(self.size, "size"))
        if self.limit is not None and not number(self.limit, "limit") > 0:
            raise InputError(f"`limit` must be more than 0 seconds, or None, got {self.limit!r}.")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What training on an allocation gave. Scores are finite, and higher is better.

    A score that is NaN or infinite is a `Failure` instead.

    Parameters
    ----------
    train_score, valid_score
        Scores on the sample itself and on the validation rows. The first is None where nothing depends on it.
    seconds
        How long the evaluation took, all in all.
    metrics
        Further figures by name. No strategy looks at them.
    parts
        The validation score on consecutive blocks of the rows, of a learner that was trained on all rows. It tells two
        learners apart that were scored on the same rows. Empty where the score is no mean over rows.
    fitting, scoring
        How many of the seconds went into fitting, and into the validation score; None where that is not known. The rest
        went into what is not the learner's: reading and encoding rows for all learners, and further figures.
    scored
        The number of validation rows that the score was measured on; None if on all of them.
    retries
        How often the evaluation was begun again because somebody else had killed it. It does not count in comparisons.
    """

    train_score: float | None
    valid_score: float
    seconds: float
    metrics: Mapping[str, float] = field(default_factory=dict, hash=False)
    parts: tuple[float, ...] = ()
    fitting: float | None = None
    scoring: float | None = None
    scored: int | None = None
    retries: int = field(default=0, compare=False)

    def __post_init__(self) -> None:  # noqa: C901  # every field is checked
        train, valid, seconds = self.train_score, self.valid_score, self.seconds
        _check_retries(self)
        if not isinstance(self.parts, tuple | list):
            raise InputError(f"`parts` must be a tuple of scores, got {self.parts!r}.")
        if self.parts:
            object.__setattr__(self, "parts", tuple(number(part, "parts") for part in self.parts))
        if not isinstance(self.metrics, Mapping):
            raise InputError(f"`metrics` must be figures by name, got {self.metrics!r}.")
        if self.metrics:
            checked = {str(name): float(number(value, name)) for name, value in self.metrics.items()}
            object.__setattr__(
                self, "metrics", {name: value for name, value in checked.items() if math.isfinite(value)}
            )
        if self.scored is not None:
            object.__setattr__(self, "scored", from_one(self.scored, "scored"))
        plain = type(train) is type(valid) is type(seconds) is float and self.fitting is self.scoring is None
        if plain and -LARGEST <= (train or 0) <= LARGEST and -LARGEST <= valid <= LARGEST and 0 <= seconds <= LARGEST:
            return  # the fast path
        for name in ("train_score", "valid_score", "seconds", "fitting", "scoring"):
            given = getattr(self, name)
            if given is None and name not in {"valid_score", "seconds"}:
                continue
            value = number(given, name)
            object.__setattr__(self, name, value)
            if not -LARGEST <= value <= LARGEST:
                limit = f"finite, at most {LARGEST:g} in size"
                raise InputError(f"`{name}` must be {limit}, got {value}. Report a Failure instead.")
            if value < 0 and not name.endswith("score"):
                raise InputError(f"`{name}` must not be negative, got {value}.")

    @property
    def own_seconds(self) -> float:
        """The seconds of fitting and scoring; all of them where these are not known."""
        return self.seconds if self.fitting is None or self.scoring is None else self.fitting + self.scoring


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an allocation gave no measurement.

    Parameters
    ----------
    kind
        One of error, timeout, memory, crash, refused.
    message
        What went wrong, in one line.
    seconds
        How long the evaluation took until then.
    retries
        As for a `Measurement`.
    """

    kind: str
    message: str
    seconds: float = 0.0
    retries: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in FAILURE_KINDS:
            raise InputError(f"`kind` must be one of {', '.join(FAILURE_KINDS)}, got {self.kind!r}.")
        if not isinstance(self.message, str):
            raise InputError(f"`message` must be text, got {self.message!r}.")
        _check_retries(self)
        seconds = number(self.seconds, "seconds")
        if not 0 <= seconds <= LARGEST:
            raise InputError(f"`seconds` must be finite and not negative, got {seconds}.")
        object.__setattr__(self, "seconds", seconds)

    @property
    def own_seconds(self) -> float:
        """The seconds, all of which are the learner's own."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class Postponed:
    """The evaluation was ended at the limit of its allocation. The learner waits; it has not failed.

    Parameters
    ----------
    seconds
        How long the evaluation took until then.
    retries
        As for a `Measurement`.
    """

    seconds: float
    retries: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        _check_retries(self)
        object.__setattr__(self, "seconds", number(self.seconds, "seconds"))
        if not 0 <= self.seconds <= LARGEST:
            raise InputError(f"`seconds` must be finite and not negative, got {self.seconds}.")

    @property
    def own_seconds(self) -> float:
        """The seconds, all of which are the learner's own."""
        return self.seconds


Outcome: TypeAlias = Measurement | Failure | Postponed


def _check_retries(outcome: Outcome) -> None:
    if type(outcome.retries) is not int or outcome.retries < 0:
        object.__setattr__(outcome, "retries", whole(outcome.retries, "retries"))
        if outcome.retries < 0:
            raise InputError(f"`retries` must not be negative, got {outcome.retries}.")


@dataclass(frozen=True, slots=True)
class Scores:
    """What the scores of a run are, for everything that weighs or shows them.

    Parameters
    ----------
    name
        What people call the score, such as "accuracy".
    rows
        On how many rows a score at the full size is measured; None where that is unknown.
    top
        The best possible score; None where that is unknown.
    proportion
        Whether a score is a proportion of these rows, so that its standard error is known.
    cross_validated
        Whether a score is measured on the sample itself, so that at a smaller size it is on fewer rows.
    counting
        Share of the rows that decide about the score's noise: less than 1 for scores of a rare class.
    """

    name: str = "score"
    rows: int | None = None
    top: float | None = 1.0
    proportion: bool = True
    cross_validated: bool = False
    counting: float = 1.0

    def __post_init__(self) -> None:
        if self.rows is not None and whole(self.rows, "rows") < 1:
            raise InputError(f"`rows` must be at least 1, or None, got {self.rows}.")
        if self.top is not None and not math.isfinite(number(self.top, "top")):
            raise InputError(f"`top` must be a finite number, or None, got {self.top}.")

    @property
    def bottom(self) -> float:
        """The worst possible score, as far as that is known; scores of an unknown kind may be below it."""
        return 0.0 if self.proportion else -math.inf

    def noise_rows(self, size: int, scored: int | None = None) -> int | None:
        """Return the number of rows that a score at this size is a proportion of; None if that is not known.

        `scored` is the number of validation rows that it was measured on, if not on all of them.
        """
        rows = (size if self.cross_validated else scored or self.rows) if self.proportion else None
        return rows if rows is None or self.counting == 1.0 else max(round(rows * self.counting), 1)

    def right_rows(self, size: int, scored: int | None = None) -> int | None:
        """Return as `noise_rows`, but None if a difference of scores is no number of rows, as for F1 and AUC."""
        return self.noise_rows(size, scored) if self.name in SHARES_OF_ROWS else None

    def standard_error(self, size: int, measured: Measurement) -> float | None:
        """Return the standard error of a score at this size; None if it is no proportion of a known number of rows."""
        rows, share = self.noise_rows(size, measured.scored), measured.valid_score
        return math.sqrt(share * (1 - share) / rows) if rows and 0 <= share <= 1 else None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON values, without a `counting` that says nothing."""
        return {name: value for name, value in asdict(self).items() if name != "counting" or value != 1.0}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Scores:
        """Return the scores that `to_json` wrote."""
        name, rows, top = str(fields["name"]), fields["rows"], fields["top"]
        counting = float(fields.get("counting", 1.0))
        return cls(name, rows, top, bool(fields["proportion"]), bool(fields["cross_validated"]), counting)


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of an outcome as plain JSON values."""
    again = {"retries": outcome.retries} if outcome.retries else {}
    if isinstance(outcome, Measurement):
        return {
            "train_score": None if outcome.train_score is None else float(outcome.train_score),
            "valid_score": float(outcome.valid_score),
            "seconds": float(outcome.seconds),
            **{name: value for name in OPTIONAL if (value := getattr(outcome, name)) is not None},
            **({"metrics": dict(outcome.metrics)} if outcome.metrics else {}),
            **({"parts": list(outcome.parts)} if outcome.parts else {}),
            **again,
        }
    if isinstance(outcome, Postponed):
        return {"postponed": True, "seconds": float(outcome.seconds), **again}
    return {"failure": outcome.kind, "message": outcome.message, "seconds": float(outcome.seconds), **again}


def outcome_from_json(fields: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `outcome_to_json` wrote."""
    retries = fields.get("retries", 0)
    if "failure" in fields:
        return Failure(fields["failure"], fields["message"], fields["seconds"], retries)
    if "postponed" in fields:
        return Postponed(fields["seconds"], retries)
    metrics, parts = dict(fields.get("metrics", {})), tuple(fields.get("parts", ()))
    optional: dict[str, Any] = {name: fields.get(name) for name in OPTIONAL} | {"retries": retries}
    return Measurement(fields["train_score"], fields["valid_score"], fields["seconds"], metrics, parts, **optional)


def score_text(score: float) -> str:
    """Return a score with the digits that matter: more of them near 0 and near 1, fewer for large numbers.

    >>> [score_text(score) for score in (0.75, 0.99997, 1.2e-6, -1000000.0, 0.0)]
    ['0.7500', '0.999970', '1.2e-06', '-1,000,000', '0.0000']
    """
    size, score = abs(score), float(score)
    if size >= MANY_DIGITS:
        return f"{score:,.0f}" if size < LONGEST else f"{score:.3g}"
    if 0 < size < FEW:
        return f"{score:.3g}"
    if 0 < 1 - size < FEW:
        return f"{score:.{min(1 - math.floor(math.log10(1 - size)), 12)}f}"
    return f"{score:.4f}"


def as_precise(value: float, score: float) -> str:
    """Return an error or a difference of a score with as many decimals as the score has, and one digit at least.

    >>> [as_precise(0.01234, 0.5), as_precise(758.3, -97130.0), as_precise(1.2e-09, 1.2e-06), as_precise(2e-7, 0.5)]
    ['0.0123', '758', '1.2e-09', '2e-07']
    """
    text = score_text(score)
    if "e" in text:
        return f"{value:.2g}"
    rounded = f"{value:,.{len(text.partition('.')[2])}f}"
    return rounded if not value or float(rounded.replace(",", "")) else f"{value:.1g}"


def with_noise(score: float, noise: float | None) -> str:
    """Return a score and its standard error, with two digits of that; without it, the score alone.

    >>> [with_noise(0.85234, 0.00264), with_noise(0.8, 0.0126), with_noise(-1e6, 1005.0), with_noise(0.5, None)]
    ['0.8523 ± 0.0026', '0.800 ± 0.013', '-1,000,000 ± 1,005', '0.5000']
    """
    if not noise:
        return score_text(score)
    if FEW <= abs(score) < MANY_DIGITS and (noise >= FEW or abs(1 - abs(score)) >= FEW):
        places = min(max(1 - math.floor(math.log10(noise)), 0), 9)
        return f"{score:,.{places}f} ± {noise:,.{places}f}"
    return f"{score_text(score)} ± {as_precise(noise, score)}"


def is_command_file(item: object) -> bool:
    """Return whether this names a file of learners that are commands."""
    return not isinstance(item, bytes) and str(item).lower().endswith(COMMANDS)


def parsed(kind: Callable[[str], T], text: str) -> T:
    """Parse a number as people write it: unlike Python, `1_000` is refused with a ValueError."""
    if "_" in text:
        raise ValueError(text)
    return kind(text)


def whole(value: object, name: str) -> int:
    """Return an integer of any type as an int; refuse everything else."""
    if type(value) is int:
        return value
    if not isinstance(value, bool) and isinstance(value, Integral):
        return int(value)
    raise InputError(f"`{name}` must be a whole number, got {value!r}.")


def from_one(value: object, name: str) -> int:
    """Return a whole number as an int; refuse one below 1, and everything else."""
    if (found := whole(value, name)) < 1:
        raise InputError(f"`{name}` must be at least 1, got {found}.")
    return found


def number(value: object, name: str) -> float:
    """Return a number of any type as a float, so that a run and its replay compute the same.

    Fractions stay fractions: the theory is tested in exact arithmetic.
    """
    if type(value) is float:  # nearly always, and the checks below take ten times as long
        return value
    if isinstance(value, Fraction):
        return value  # type: ignore[return-value]  # adds, divides and compares as a float does
    if isinstance(value, Real):
        with suppress(OverflowError):
            return float(value)
    raise InputError(f"`{name}` must be a number, got {value!r}.")
