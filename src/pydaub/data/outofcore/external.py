"""A file larger than memory -> prepared data, in memory that is bounded: survey, scatter, gather.

The survey (`survey.py`) reads everything once. Then each row is given its place by computing it: its rank within its
class is a seeded permutation of the order in which the class's rows come (`permutation.py`). The first ranks validate,
and of the others the j-th of n gets the key (j + u) / n, with one random u for each class, by which rows are sorted. So
every beginning is a uniform draw that holds each class to within about one row of its share, as `split.py` does it in
memory. Scattering sends each row to one of several files by its key; gathering sorts one file after the other and
writes them on. Rows to validate keep the order of the file.

::

    OUT.work/
      asked.json        what was asked for: another question begins anew
      survey.json       what was found, once the first pass is through
      scattered.json    how far the second pass is: blocks, rows of each class, and lengths of files
      0.rows 1.rows ... valid.rows
    OUT/                the prepared form, as `Prepared.open` maps it; there whole or not at all

Killed and started again, it goes on from the last of these.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pydaub.data.outofcore.blocks import Blocks
from pydaub.data.outofcore.gather import gather
from pydaub.data.outofcore.plan import Plan
from pydaub.data.outofcore.scatter import scatter
from pydaub.data.outofcore.survey import Survey, survey
from pydaub.data.prepared import FORMAT, Prepared, write_whole
from pydaub.errors import InputError
from pydaub.records import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydaub.data.schema import Kind, Task

LEAST_MEMORY: Final = 64 << 20  # bytes to work with
BLOCK_SHARE: Final = 1 / 24  # of the memory: a block is held several times over while it is taken apart
VALIDATION_ROWS: Final = 100_000  # at most, unless said otherwise: their score is precise to a third of a per cent
SAME_MEMORY: Final = 0.1
LOCK, SURVEY = "lock", "survey.json"


@dataclass(frozen=True)
class Wanted:
    """What to prepare, and how; all of it plain, since another question begins anew."""

    source: str
    target: str
    fraction: float = 0.3
    validation_rows: int = VALIDATION_ROWS
    drop: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] | None = None
    task: Task | None = None
    seed: int = 0
    encoding: str | None = None


def prepare_out_of_core(
    wanted: Wanted, out: Path, memory: int, progress: Callable[[str, float], None] = lambda *_: None
) -> Prepared:
    """Prepare a file or folder into `out`, with at most so many bytes of working memory.

    `progress` is told which pass it is, and how far, as a share.
    """
    if not isinstance(memory, int) or memory < LEAST_MEMORY:
        raise InputError(
            f"`memory` must leave at least {LEAST_MEMORY >> 20} MB to work with, got {memory / 2**20:,.0f} MB."
        )
    if not 0 < wanted.fraction < 1:
        raise InputError(f"`validation_fraction` must be between 0 and 1, got {wanted.fraction!r}.")
    if whole(wanted.validation_rows, "validation_rows") < 1 or whole(wanted.seed, "seed") < 0:
        raise InputError("`validation_rows` must be at least 1 and `seed` not negative.")
    if wanted.target in wanted.drop:
        raise InputError(f"`drop` must not be the column of `target`, got {wanted.target!r} for both.")
    blocks = Blocks.of(wanted.source, int(BLOCK_SHARE * memory), wanted.encoding, wanted.drop)
    blocks.refuse_wide(memory)
    out = out.resolve()
    work = out.with_name(f"{out.name}.work")
    with ExitStack() as stack:
        try:
            if out.exists() and (not out.is_dir() or any(out.iterdir())):
                raise InputError(f"`out` must be new or empty, got {out}. Name another one.")
            stack.enter_context(_held(work))
            memory = _begin(work, wanted, blocks.paths, memory)
            blocks = replace(blocks, size=int(BLOCK_SHARE * memory))
            found = _surveyed(work, wanted, blocks, memory, progress)
            plan = Plan.of(
                found,
                fraction=wanted.fraction,
                most_valid=wanted.validation_rows,
                seed=wanted.seed,
                memory=memory,
            )
            scatter(work, plan, blocks, progress)
            gather(work, plan, out, blocks.size, progress)
        except OSError as error:
            reason = f"got {os.strerror(error.errno) if error.errno else error}: {out}"
            raise InputError(
                f"`out` must be a folder with room for the rows twice, {reason}. Mend that and start again: it goes on."
            ) from None
    shutil.rmtree(work)
    return Prepared.open(out)


@contextmanager
def _held(work: Path) -> Iterator[None]:
    """Make the working folder, or take up our own, and keep others from working in it."""
    if work.exists() and not (work / LOCK).exists() and any(work.iterdir()):
        raise InputError(f"{work} must be free to work in, got a folder with other files. Name another `out`.")
    work.mkdir(parents=True, exist_ok=True)
    with (work / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{work} must be worked in by one process at a time, got another. Wait for it.") from None
        try:
            yield
        except InputError:
            if not (work / SURVEY).exists():  # there is nothing yet to go on from
                shutil.rmtree(work)
            raise


def _begin(work: Path, wanted: Wanted, paths: tuple[Path, ...], memory: int) -> int:
    """Begin anew, or keep what there is of the same question; return the memory that it was begun with.

    What Python itself takes differs a little from start to start: blocks must be the same all the same.
    """
    files = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    question = json.loads(json.dumps({**vars(wanted), "source": files, "format": FORMAT}, default=list))
    path = work / "asked.json"
    if path.exists():
        asked = json.loads(path.read_text())
        if asked["question"] == question and abs(asked["memory"] - memory) <= SAME_MEMORY * memory:
            return int(asked["memory"])
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
    total = max(blocks.bytes, 1)
    found = survey(
        blocks,
        wanted.target,
        kinds=wanted.kinds,
        task=wanted.task,
        seed=wanted.seed,
        memory=memory,
        progress=lambda read: progress("survey", read / total),
    )
    write_whole(path, json.dumps(found.to_json()).encode(), durable=True)
    return found
