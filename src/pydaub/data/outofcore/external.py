"""Preparation of a file that is larger than memory, in bounded memory: survey, scatter, gather.

The survey reads the whole file once. Then the place of each row is computed: its rank within its class is a seeded
permutation of the order in which the rows of the class occur (`plan.py`). The first ranks are for validation; of the
others, the j-th of n gets the sort key (j + u) / n, with one random u per class. As in `split.py`, every prefix is
then a random sample that holds each class to within about one row of its share. Scattering writes each row to one of
several buckets by its key; gathering sorts one bucket after the other. Validation rows keep the order of the file.

::

    OUT.work/
      asked.json        what was asked for; with other options, everything starts again
      survey.json       the result of the first pass
      scattered.json    the state of the second pass: blocks, rows of each class, lengths of files
      0.rows 1.rows ... valid.rows
    OUT/                the prepared data; it appears only when it is complete

A process that was killed resumes from the last of these files when it is started again.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pydaub.data.origin import ORIGIN, Origin
from pydaub.data.outofcore.blocks import Blocks
from pydaub.data.outofcore.gather import gather
from pydaub.data.outofcore.plan import Plan
from pydaub.data.outofcore.scatter import scatter
from pydaub.data.outofcore.survey import Survey, survey
from pydaub.data.prepared import FORMAT, Prepared
from pydaub.data.split import Split
from pydaub.data.writing import write_whole
from pydaub.errors import InputError
from pydaub.records import VALIDATION_FRACTION, VALIDATION_ROWS, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydaub.data.schema import Kind, Task

LEAST_MEMORY: Final = 64 << 20  # bytes to work with
BLOCK_SHARE: Final = 1 / 32  # of the memory: several copies of a block exist while it is processed
SAME_MEMORY: Final = 0.1  # relative difference up to which a run is resumed with its first memory limit
LOCK, SURVEY = "lock", "survey.json"
LOGGER: Final = logging.getLogger("pydaub")


@dataclass(frozen=True)
class Wanted:
    """What to prepare, and how. The fields without a comment are as in `load`."""

    source: str  # a CSV, Parquet or Arrow file, a folder of such files, or a glob
    target: str
    fraction: float = VALIDATION_FRACTION  # of the rows, to validate on
    validation_rows: int = VALIDATION_ROWS  # at most
    drop: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] | None = None
    task: Task | None = None
    seed: int = 0
    encoding: str | None = None

    @property
    def split(self) -> Split:
        """How many rows are for validation."""
        return Split(self.fraction, most=self.validation_rows)


def prepare_out_of_core(
    wanted: Wanted, out: Path, memory: int, progress: Callable[[str, float], None] = lambda *_: None
) -> Prepared:
    """Prepare a file or folder that may be larger than memory, and return the data, memory-mapped.

    Parameters
    ----------
    wanted
        What to prepare, and how.
    out
        The new folder of prepared data.
    memory
        The largest number of bytes to use, in addition to what the process uses already.
    progress
        Called with the name of the current pass and the share of it that is done.
    """
    blocks = _checked(wanted, memory)
    out = out.resolve()
    work = out.with_name(f"{out.name}.work")
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(
                f"`out` must be new or empty, got {out}. Name another one: no rows are added to prepared data."
            )
        with _locked(work):
            origin = Origin.of(wanted.source)
            memory = _begin(work, wanted, origin, memory)
            blocks = replace(blocks, size=int(BLOCK_SHARE * memory))
            plan = Plan.of(_surveyed(work, wanted, blocks, memory, progress), wanted, memory)
            scatter(work, plan, blocks, progress)
            if changes := origin.changes():
                raise InputError(
                    f"{wanted.source} must stay as it is while it is prepared, got changes: {changes}. The same command"
                    " starts again."
                )
            gather(work, plan, out, {ORIGIN: origin.to_json()}, progress)
    except OSError as error:
        reason = f"got {os.strerror(error.errno) if error.errno else error}: {out}"
        raise InputError(
            f"`out` must be a folder with room for the rows twice, {reason}. Fix it and start again to resume."
        ) from None
    shutil.rmtree(work)
    return Prepared.open(out)


def _checked(wanted: Wanted, memory: int) -> Blocks:
    """Return the blocks of the source; raise if an option or a file cannot be used."""
    if not isinstance(memory, int) or memory < LEAST_MEMORY:
        raise InputError(
            f"`memory` must leave at least {LEAST_MEMORY >> 20} MB to work with, got {memory / 2**20:,.0f} MB."
        )
    _ = wanted.split  # which checks itself
    if whole(wanted.seed, "seed") < 0:
        raise InputError(f"`seed` must not be negative, got {wanted.seed}.")
    if wanted.target in wanted.drop:
        raise InputError(f"`drop` must not be the column of `target`, got {wanted.target!r} for both.")
    blocks = Blocks.of(wanted.source, int(BLOCK_SHARE * memory), wanted.encoding, wanted.drop)
    blocks.check_memory(memory)
    return blocks


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Create the working folder, or resume in ours, and lock it."""
    if work.exists() and not (work / LOCK).exists() and any(work.iterdir()):
        raise InputError(f"{work} must be free to work in, got a folder with other files. Name another `out`.")
    work.mkdir(parents=True, exist_ok=True)
    with (work / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{work} is locked by another process. Wait for it, or name another `out`.") from None
        try:
            yield
        except (InputError, OSError):
            if not (work / SURVEY).exists():  # nothing to resume from
                shutil.rmtree(work)
            raise


def _begin(work: Path, wanted: Wanted, origin: Origin, memory: int) -> int:
    """Start again, or keep the files of the same question; return the memory limit with which it was started.

    What Python itself takes varies slightly between starts, but a resumed run needs the same blocks.
    """
    question = json.loads(json.dumps({**vars(wanted), "source": origin, "format": FORMAT}, default=list))
    path = work / "asked.json"
    if path.exists():
        asked = json.loads(path.read_text())
        if asked["question"] == question and abs(asked["memory"] - memory) <= SAME_MEMORY * memory:
            return int(asked["memory"])
        others = [name for name, value in question.items() if asked["question"].get(name) != value] or ["memory"]
        LOGGER.warning("%s was begun with another %s. It starts again.", work.stem, " and another ".join(others))
    for entry in work.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    write_whole(path, json.dumps({"question": question, "memory": memory}).encode(), durable=True)
    return memory


def _surveyed(
    work: Path, wanted: Wanted, blocks: Blocks, memory: int, progress: Callable[[str, float], None]
) -> Survey:
    path = work / SURVEY
    if path.exists():
        return Survey.from_json(json.loads(path.read_text()))
    found = survey(blocks, wanted, memory, progress)
    write_whole(path, json.dumps(found.to_json()).encode(), durable=True)
    return found
