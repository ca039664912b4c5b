"""Recorded learning curves: `Table`, and the CSV files that hold them, of one data set or of many.

A file has a line for each learner and size. Besides our own names of columns (`COLUMNS`), those of LCDB (Mohr, Viering,
Loog and van Rijn, 2022) are understood, which `pydaub export --to curves` writes. A file in that form may hold several
data sets: lines that agree in `WHOSE` are of one table.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from pydaub.errors import InputError, RefusedAllocation
from pydaub.records import Allocation, Failure, Measurement, Outcome, Scores, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

TRAIN_SCORE: Final = "train_score"  # may be left out
COLUMNS: Final = ("learner", "size", TRAIN_SCORE, "valid_score", "seconds")
FAILURE_COLUMN: Final = "failure"
# LCDB's names of our columns. Its training time stands for all seconds where a file has no others.
LCDB: Final = {"size_train": "size", "score_train": "train_score", "score_valid": "valid_score"}
TRAIN_TIME, SCORE_TIME, VALID_ROWS = "traintime", "scoretime", "size_valid"
WHOSE: Final = ("openmlid", "dataset", "data", "metric", "outer_seed", "inner_seed")
SCORES: Final = ("metric", "top", "proportion", "cross_validated", "counting")  # fields of `Scores`, and its name
FAMILY: Final = "family"
NAMED: Final = 5  # data sets in a message


@dataclass(frozen=True)
class About:
    """What a file says of the data and the learners besides the outcomes.

    Parameters
    ----------
    scores
        What the scores are; None if the file does not say it.
    columns, classes
        Of the data; None if they are not known.
    families
        The family of each learner that has one.
    """

    scores: Scores | None = None
    columns: int | None = None
    classes: int | None = None
    families: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """Recorded outcomes.

    A CSV file has the columns `learner,size,train_score,valid_score,seconds` in any order, or those of LCDB. Other
    columns are ignored, except an optional `failure`, which holds `kind: message` if training failed; then the scores
    are empty. The training score may be empty, or its column left out, if it was not measured.

    Parameters
    ----------
    outcomes
        The outcome of each recorded allocation.
    name
        The name that error messages use.
    about
        What else is known of the data and the learners.
    """

    outcomes: Mapping[Allocation, Outcome]
    name: str = "the table"
    about: About = field(default_factory=About)

    def __post_init__(self) -> None:
        if not isinstance(self.outcomes, Mapping) or not all(
            isinstance(key, Allocation) and isinstance(value, Measurement | Failure)
            for key, value in self.outcomes.items()
        ):
            raise InputError("`outcomes` must hold a Measurement or a Failure for each Allocation.")
        if not self.outcomes:
            raise InputError(
                f"{self.name} must hold at least one learner, got none. Record one line for each learner and size."
            )

    @classmethod
    def read(cls, path: str | Path) -> Table:
        """Read a CSV file, or a folder of them, with the curves of one data set.

        Parameters
        ----------
        path
            The CSV file, in UTF-8, or the folder.

        Raises
        ------
        InputError
            If a file cannot be read; the message names the line and the reason.
        """
        found = read_tables(path)
        if len(found) > 1:
            named = ", ".join([*found][:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
            raise InputError(f"{path} must hold the curves of one data set, got {len(found)}: {named}.")
        return next(iter(found.values()))

    @cached_property
    def learners(self) -> tuple[str, ...]:
        """All learners, in the order in which they first appear."""
        return tuple(dict.fromkeys(allocation.learner for allocation in self.outcomes))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of any learner, in ascending order."""
        return tuple(sorted({allocation.size for allocation in self.outcomes}))

    @cached_property
    def train_scores(self) -> bool:
        """Whether every score on the training sample was recorded."""
        return all(each.train_score is not None for each in self.outcomes.values() if isinstance(each, Measurement))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all outcomes, in the order of the lines."""
        digest = hashlib.sha256()
        for allocation, outcome in self.outcomes.items():
            digest.update(repr((allocation, outcome)).encode())
        return digest.hexdigest()

    def at(self, size: int) -> dict[str, Outcome | None]:
        """Return each learner's outcome at a size; None if it was not recorded."""
        return {name: self.outcomes.get(Allocation(name, size)) for name in self.learners}

    def __getitem__(self, allocation: Allocation) -> Outcome:
        """Return the recorded outcome of an allocation; raise RefusedAllocation if there is none."""
        if (outcome := self.outcomes.get(allocation)) is not None:
            return outcome
        known = sorted(each.size for each in self.outcomes if each.learner == allocation.learner)
        raise RefusedAllocation(
            f"{self.name} must hold size {allocation.size} of learner {allocation.learner!r}, which is asked for,"
            f" got {'only ' + ', '.join(map(str, known)) if known else 'no line for this learner'}."
            " Record it, or choose other sizes."
        )


def read_tables(path: str | Path) -> dict[str, Table]:
    """Read all curves in a CSV file or in the CSV files of a folder, by the name of their data set and seeds.

    Where several files of a folder have the same learner and size of the same rows, the first file in the order of
    names counts.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"`path` must be the path of a CSV file or of a folder, got {path!r}.")
    place = Path(path)
    try:
        files = sorted(place.glob("*.csv")) if place.is_dir() else [place]
    except (OSError, ValueError) as error:
        raise _unreadable(place, error) from None
    if not files:
        raise InputError(
            f"{path} must hold CSV files with curves, got none. `pydaub export RUN --to curves` writes one."
        )
    sets: dict[tuple[str, ...], list[_Line]] = {}
    for file in files:
        before = {whose: {line.allocation for line in lines} for whose, lines in sets.items()}
        for line in _read(file):
            if line.allocation not in before.get(line.whose, ()):
                sets.setdefault(line.whose, []).append(line)
    if len(sets) < 2:  # noqa: PLR2004  # it is named after its place
        lines = next(iter(sets.values()), [])
        return {str(path): _table(lines, str(path))}
    names = _names(list(sets))
    return {names[whose]: _table(lines, f"{path}: {names[whose]}") for whose, lines in sets.items()}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file: the data set and seeds it is of, an outcome, and all its values by column."""

    whose: tuple[str, ...]
    allocation: Allocation
    outcome: Outcome
    values: Mapping[str, str]


def _names(keys: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return a name for each data set with its seeds; with more facts where names would be the same."""

    def name(key: tuple[str, ...], *, more: bool) -> str:
        of = dict(zip(WHOSE, key, strict=True))
        called = of["dataset"] or (f"openml:{of['openmlid']}" if of["openmlid"] else "unnamed data")
        seeds = "/".join(filter(None, (of["outer_seed"], of["inner_seed"])))
        facts = [f"seed {seeds}"] if seeds else []
        facts += list(filter(None, (of["metric"], of["data"][:8]))) if more else []
        return f"{called} ({', '.join(facts)})" if facts else called

    plain = [name(key, more=False) for key in keys]
    return {key: name(key, more=plain.count(short) > 1) for key, short in zip(keys, plain, strict=True)}


def _table(lines: list[_Line], name: str) -> Table:
    """Return the table of lines that belong together; the first line that states a fact counts."""
    outcomes = {line.allocation: line.outcome for line in lines}
    rows = max((each.scored or 0 for each in outcomes.values() if isinstance(each, Measurement)), default=0) or None
    for allocation, outcome in outcomes.items():
        if isinstance(outcome, Measurement) and outcome.scored == rows:
            outcomes[allocation] = replace(outcome, scored=None)
    facts: dict[str, str] = {}
    for line in lines:
        for column in (*SCORES, "columns", "classes"):
            if value := line.values.get(column, ""):
                facts.setdefault(column, value)
    families = {line.allocation.learner: family for line in lines if (family := line.values.get(FAMILY, ""))}
    scores = None
    if "metric" in facts:
        scores = Scores(
            facts["metric"],
            rows,
            float(facts["top"]) if "top" in facts else None,
            facts.get("proportion", "").lower() == "true",
            facts.get("cross_validated", "").lower() == "true",
            float(facts.get("counting", 1.0)),
        )
    columns, classes = (int(facts[name]) if name in facts else None for name in ("columns", "classes"))
    return Table(outcomes, name, About(scores, columns, classes, families))


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} must be a readable file, got {getattr(error, 'strerror', error)}.")


def _read(path: Path) -> list[_Line]:
    """Return the lines of a file."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # it may have no end
            raise InputError(f"{path} must be a readable file, got a pipe or a device.")  # noqa: TRY301  # as below
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(_lines(file, path))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be UTF-8 text, got {error}. Save it as UTF-8.") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _lines(file: TextIO, path: Path) -> Iterator[_Line]:
    """Yield what each line of a CSV file records."""
    reader = csv.reader(file, strict=True)
    seen: dict[tuple[tuple[str, ...], Allocation], int] = {}
    try:
        header = _header(next(reader, []), str(path))
        unnamed = not {*header} & {"openmlid", "dataset"}
        for row in filter(None, reader):
            try:
                line = _parsed(row, header, path.stem if unnamed else "")
                if (line.whose, line.allocation) in seen:
                    raise InputError(  # noqa: TRY301  # as those of `_parsed`
                        f"a learner and size must not repeat, got {line.allocation.learner!r} with"
                        f" {line.allocation.size}, a duplicate of line {seen[line.whose, line.allocation]}."
                    )
            except InputError as error:
                raise InputError(f"Line {reader.line_num} of {path}: {error} Correct or remove the line.") from None
            seen[line.whose, line.allocation] = reader.line_num
            yield line
    except csv.Error as error:
        message = f"Line {reader.line_num} of {path} must be comma-separated text, got: {error}. Correct it."
        raise InputError(message) from None


def _header(row: list[str], name: str) -> list[str]:
    """Return our names of the columns."""
    given = [column.strip() for column in row]
    header = [LCDB.get(column, column) for column in given]
    if "seconds" not in header:
        header = ["seconds" if column == TRAIN_TIME else column for column in header]
    if missing := [column for column in COLUMNS if column not in header and column != TRAIN_SCORE]:
        raise InputError(
            f"{name} must have the columns {','.join(COLUMNS)} in its first line, or those of LCDB, got"
            f" {','.join(given)[:200]!r}. Add `{missing[0]}`."
        )
    if len(set(header)) < len(header):
        raise InputError(f"{name} must have each column once, got {','.join(given)}. Remove the duplicate.")
    return header


def _parsed(row: list[str], header: list[str], dataset: str) -> _Line:
    """Parse a line; `dataset` is the name of the data where no column names it."""
    if len(row) != len(header):
        raise InputError(f"a line must have {len(header)} values, got {len(row)}.")
    values = {column: value.strip() for column, value in zip(header, row, strict=True)}
    whose = tuple(dataset if column == "dataset" and dataset else values.get(column, "") for column in WHOSE)
    line = _Line(whose, Allocation(values["learner"], _whole(values, "size")), _outcome(values), values)
    for column in ("columns", "classes"):
        _optional(_whole, values, column)
    for column in ("top", "counting"):
        _optional(_finite, values, column)
    for column in ("proportion", "cross_validated"):
        if values.get(column, "").lower() not in {"", "true", "false"}:
            raise InputError(f"`{column}` must be True or False, got {values[column]!r}.")
    return line


def _outcome(values: Mapping[str, str]) -> Outcome:
    if failure := values.get(FAILURE_COLUMN, ""):
        scores = [values.get(column, "") for column in COLUMNS[2:4]]
        if any(scores):
            raise InputError(f"a line with a `failure` must leave its scores empty, got {','.join(scores)}.")
        kind, _, message = failure.partition(":")
        return Failure(kind.strip(), message.strip(), _finite(values, "seconds"))
    return Measurement(
        _optional(_finite, values, TRAIN_SCORE),
        _finite(values, "valid_score"),
        _finite(values, "seconds"),
        fitting=_optional(_finite, values, TRAIN_TIME),
        scoring=_optional(_finite, values, SCORE_TIME),
        scored=_optional(_whole, values, VALID_ROWS),
    )


def _optional(parse: Callable[[Mapping[str, str], str], T], values: Mapping[str, str], column: str) -> T | None:
    """Return the value of a column that may be missing or empty."""
    return parse(values, column) if values.get(column) else None


def _whole(values: Mapping[str, str], column: str) -> int:
    try:
        return parsed(int, values[column])
    except ValueError:
        raise InputError(f"`{column}` must be a whole number, got {values[column]!r}.") from None


def _finite(values: Mapping[str, str], column: str) -> float:
    try:
        value = parsed(float, values[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"`{column}` must be a finite number, got {values[column]!r}.")
    return value
