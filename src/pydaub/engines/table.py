"""Look outcomes up in recorded learning curves, with a virtual clock and any number of virtual workers."""

from __future__ import annotations

import csv
import hashlib
import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from pydaub.errors import InputError, ProtocolError, RefusedAllocation
from pydaub.records import Allocation, Failure, Measurement, Outcome, from_one, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS: Final = ("learner", "size", "train_score", "valid_score", "seconds")
FAILURE_COLUMN: Final = "failure"


@dataclass(frozen=True)
class Table:
    """Recorded outcomes.

    A CSV file has the columns `learner,size,train_score,valid_score,seconds` in any order. Other columns are ignored,
    except an optional `failure`, which holds `kind: message` if training failed; then the scores are empty.

    Parameters
    ----------
    outcomes
        The outcome of each recorded allocation.
    name
        The name that error messages use.
    """

    outcomes: Mapping[Allocation, Outcome]
    name: str = "the table"

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
        """Read a CSV file.

        Parameters
        ----------
        path
            The CSV file, in UTF-8.

        Raises
        ------
        InputError
            If the file cannot be read; the message names the line and the reason.
        """
        if not isinstance(path, str | Path):
            raise InputError(f"`path` must be the path of a CSV file, got {path!r}.")
        try:
            if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():  # it may have no end
                raise InputError(f"{path} must be a readable file, got a pipe or a device.")  # noqa: TRY301  # as below
            with Path(path).open(encoding="utf-8-sig", newline="") as file:
                return cls(dict(_rows(file, str(path))), str(path))
        except InputError:
            raise
        except UnicodeDecodeError as error:
            raise InputError(f"{path} must be UTF-8 text, got {error}. Save it as UTF-8.") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path} must be a readable file, got {getattr(error, 'strerror', error)}.") from None

    @cached_property
    def learners(self) -> tuple[str, ...]:
        """All learners, in the order in which they first appear."""
        return tuple(dict.fromkeys(allocation.learner for allocation in self.outcomes))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of any learner, in ascending order."""
        return tuple(sorted({allocation.size for allocation in self.outcomes}))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all outcomes, in the order of the lines."""
        digest = hashlib.sha256()
        for allocation, outcome in self.outcomes.items():
            digest.update(repr((allocation, outcome)).encode())
        return digest.hexdigest()

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


class TableEngine:
    """An engine that looks outcomes up in a table and advances a virtual clock.

    An evaluation takes as many virtual seconds as were recorded, whatever its limit. Outcomes are collected in the
    order in which the evaluations end; those that end at the same moment, in the order of submission.

    Parameters
    ----------
    table
        The recorded outcomes.
    workers
        How many evaluations run at the same virtual time.
    """

    def __init__(self, table: Table, workers: int = 1) -> None:
        if not isinstance(table, Table):
            raise InputError(f"`table` must be a Table, got {table!r}.")
        self._table, self._workers = table, from_one(workers, "workers")
        self._running: list[tuple[float, int, Allocation, Outcome]] = []
        self._submitted = 0
        self._clock = 0.0

    @property
    def free(self) -> int:
        """How many virtual workers are idle."""
        return self._workers - len(self._running)

    @property
    def clock(self) -> float:
        """Virtual seconds since the engine was opened."""
        return self._clock

    def submit(self, allocation: Allocation, *, guess: bool = False) -> None:  # noqa: ARG002  # guesses are accepted
        """Begin a virtual evaluation; refuse an allocation that was not recorded."""
        if not self.free:
            raise ProtocolError(f"`submit` must wait for a free worker: all {self._workers} are busy.")
        outcome = self._table[allocation]
        self._submitted += 1
        heapq.heappush(self._running, (self._clock + outcome.seconds, self._submitted, allocation, outcome))

    def collect(self, timeout: float | None = None) -> tuple[Allocation, Outcome] | None:
        """Advance the clock to the end of the next evaluation, but by at most `timeout` virtual seconds."""
        if not self._running:
            raise ProtocolError("`collect` must follow a `submit`: nothing is running.")
        if timeout is not None and self._running[0][0] > self._clock + max(timeout, 0.0):
            self._clock += max(timeout, 0.0)
            return None
        self._clock, _, allocation, outcome = heapq.heappop(self._running)
        return allocation, outcome

    def cancel(self, allocation: Allocation) -> None:
        """Cancel an evaluation."""
        self._running = [entry for entry in self._running if entry[2] != allocation]
        heapq.heapify(self._running)

    def close(self) -> None:
        """Cancel all evaluations."""
        self._running.clear()


def _rows(file: TextIO, name: str) -> Iterator[tuple[Allocation, Outcome]]:
    """Yield what each line of a CSV file records; `name` is the file's, for messages."""
    reader = csv.reader(file, strict=True)
    seen: dict[Allocation, int] = {}
    try:
        header = _header(next(reader, []), name)
        for row in filter(None, reader):
            try:
                allocation, outcome = _parsed(row, header, seen)
            except InputError as error:
                raise InputError(f"Line {reader.line_num} of {name}: {error} Correct or remove the line.") from None
            seen[allocation] = reader.line_num
            yield allocation, outcome
    except csv.Error as error:
        message = f"Line {reader.line_num} of {name} must be comma-separated text, got: {error}. Correct it."
        raise InputError(message) from None


def _header(row: list[str], name: str) -> list[str]:
    header = [column.strip() for column in row]
    if missing := [column for column in COLUMNS if column not in header]:
        raise InputError(
            f"{name} must have the columns {','.join(COLUMNS)} in its first line, got {','.join(header)[:200]!r}."
            f" Add `{missing[0]}`."
        )
    if len(set(header)) < len(header):
        raise InputError(f"{name} must have each column once, got {','.join(header)}. Remove the duplicate.")
    return header


def _parsed(row: list[str], header: list[str], seen: Mapping[Allocation, int]) -> tuple[Allocation, Outcome]:
    """Parse a line; `seen` holds the line of each earlier allocation."""
    if len(row) != len(header):
        raise InputError(f"a line must have {len(header)} values, got {len(row)}.")
    values = dict(zip(header, row, strict=True))
    try:
        size = parsed(int, values["size"])
    except ValueError:
        raise InputError(f"`size` must be a whole number, got {values['size']!r}.") from None
    allocation = Allocation(values["learner"].strip(), size)
    if allocation in seen:
        raise InputError(
            f"a learner and size must not repeat, got {allocation.learner!r} with {size}, a duplicate of line"
            f" {seen[allocation]}."
        )
    failure = values.get(FAILURE_COLUMN, "").strip()
    if not failure:
        train_score, valid_score, seconds = (_finite(values, column) for column in COLUMNS[2:])
        return allocation, Measurement(train_score, valid_score, seconds)
    scores = [values[column] for column in COLUMNS[2:4]]
    if any(text.strip() for text in scores):
        raise InputError(f"a line with a `failure` must leave its scores empty, got {','.join(scores)}.")
    kind, _, message = failure.partition(":")
    return allocation, Failure(kind.strip(), message.strip(), _finite(values, "seconds"))


def _finite(values: Mapping[str, str], column: str) -> float:
    try:
        value = parsed(float, values[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"`{column}` must be a finite number, got {values[column]!r}.")
    return value
