"""`pydaub prepare`: data larger than memory, shuffled once."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Self

import typer

from pydaub import units
from pydaub.cli.app import app, complain
from pydaub.cli.options import (
    Drop,
    Encoding,
    Fraction,
    Kinds,
    Quiet,
    Seed,
    Task,
    ValidationRows,
    one_source,
    output,
    sources,
)
from pydaub.errors import InputError
from pydaub.records import VALIDATION_FRACTION, VALIDATION_ROWS

TOLD_SECONDS = 1.0  # between two progress messages
REPEATED_SECONDS = 10.0  # after which the last one is repeated


@app.command()
def prepare(
    data: Annotated[
        list[str], sources("A CSV, Parquet or Arrow file, a folder of such files, or a glob in quotes: 'parts/*.csv'.")
    ],
    *,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, output("Folder for the prepared data, which `pydaub run` takes as data.")],
    memory: Annotated[str, typer.Option(help="Memory to use at most, all in all: 500MB, 8GB.")] = "2GB",
    validation_fraction: Fraction = VALIDATION_FRACTION,
    validation_rows: ValidationRows = VALIDATION_ROWS,
    drop: Drop = None,
    kind: Kinds = None,
    task: Task = None,
    seed: Seed = 0,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Shuffle data that is larger than memory once, so that runs read only the rows that they allocate.

    If it is killed, the same command continues. It needs disk space for twice the rows.
    """
    import pyarrow as pa

    from pydaub.data.outofcore.external import Wanted, prepare_out_of_core
    from pydaub.isolation.proc import resident

    pa.set_memory_pool(pa.system_memory_pool())  # other pools keep freed memory
    most = units.memory(memory, "--memory") or 0
    wanted = Wanted(
        one_source(data),
        target,
        validation_fraction,
        validation_rows,
        units.names(drop),
        units.pairs(kind or []),  # type: ignore[arg-type]  # kinds, which are checked
        None if task is None else str(task),  # type: ignore[arg-type]  # one of the two
        seed,
        encoding,
    )
    used = resident(os.getpid())
    if most <= used:
        raise InputError(f"`--memory` must be more than the {used / 1e6:,.0f} MB that Python takes, got {memory}.")
    with _Progress(quiet=quiet) as progress:
        done = prepare_out_of_core(wanted, out, most - used, progress)
    for note in done.notes:
        complain(note)
    typer.echo(f"{out}: {done.full_size:,} rows to train, {done.valid_size:,} to validate. Next: pydaub run {out}")


class _Progress:
    """Progress on stderr, on one line where that is a terminal; repeated now and then while nothing else is said."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._told, self._began, self._words = quiet, 0.0, time.monotonic(), ""
        self._ended = Event()

    def __enter__(self) -> Self:
        if not self._quiet:
            Thread(target=self._repeat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def __call__(self, stage: str, share: float) -> None:
        words = f"{stage}: {100 * share:3.0f} %"
        due = time.monotonic() - self._told >= TOLD_SECONDS or share >= 1.0
        if words != self._words and due and not self._quiet:
            self._words = words
            self._show()

    def _repeat(self) -> None:
        while not self._ended.wait(TOLD_SECONDS):
            if self._words and time.monotonic() - self._told >= REPEATED_SECONDS:
                self._show()

    def _show(self) -> None:
        self._told = time.monotonic()
        end = "\r" if sys.stderr.isatty() else "\n"
        sys.stderr.write(f"{self._words}, {self._told - self._began:,.0f} s{end}")
        sys.stderr.flush()
