"""`pydaub prepare`: data larger than memory, shuffled once."""

from __future__ import annotations

import sys
import time
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated

import typer

from pydaub.cli.app import app, complain
from pydaub.cli.running import Task  # noqa: TC001  # typer reads the annotations
from pydaub.cli.units import memory as bytes_of
from pydaub.cli.units import pairs
from pydaub.errors import InputError

TOLD_SECONDS = 1.0  # between two words about how far it is


@app.command()
def prepare(  # noqa: PLR0913  # a command line may have many options
    data: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file, or a folder of such files.")],
    *,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option(help="The folder to prepare it into: `pydaub run` takes it as data.")],
    memory: Annotated[str, typer.Option(help="The most memory to use, all in all: 500MB, 8GB.")] = "2GB",
    validation_fraction: Annotated[float, typer.Option(help="The share of rows to validate on.")] = 0.3,
    validation_rows: Annotated[int, typer.Option(help="But no more than so many.")] = 100_000,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out, with commas.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="What a column is, as in zip=categorical; may be given again.")
    ] = None,
    task: Annotated[Task | None, typer.Option(help="What the target is for.  [default: as it looks]")] = None,
    seed: Annotated[int, typer.Option(help="For the order of rows.")] = 0,
    encoding: Annotated[str | None, typer.Option(help="Of text files.  [default: utf-8]")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Shuffle data that is larger than memory once, so that runs read only the rows that they allocate.

    Killed and started again, it goes on where it was. It needs room on the disk for the rows twice.
    """
    import pyarrow as pa

    from pydaub.data.outofcore.external import Wanted, prepare_out_of_core
    from pydaub.isolation.proc import status

    pa.set_memory_pool(pa.system_memory_pool())  # others keep what is freed
    most = bytes_of(memory, "--memory") or 0
    wanted = Wanted(
        data,
        target,
        validation_fraction,
        validation_rows,
        tuple(name.strip() for name in drop.split(",")) if drop else (),
        pairs(kind or []),  # type: ignore[arg-type]  # kinds, which are checked
        None if task is None else str(task),  # type: ignore[arg-type]  # one of the two
        seed,
        encoding,
    )
    used = status("self", "VmRSS")
    if most <= used:
        raise InputError(f"`--memory` must be more than the {used / 1e6:,.0f} MB that Python takes, got {memory}.")
    done = prepare_out_of_core(wanted, out, most - used, _silent if quiet else _Progress())
    for note in () if quiet else done.notes:
        complain(note)
    typer.echo(f"{out}: {done.full_size:,} rows to train, {done.valid_size:,} to validate. Run it: pydaub run {out}")


def _silent(_stage: str, _share: float) -> None:
    """Say nothing."""


class _Progress:
    """How far it is, on one line of stderr where that is a terminal."""

    def __init__(self) -> None:
        self._told, self._began, self._last = 0.0, time.monotonic(), ""

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        words = f"{stage}: {100 * share:3.0f} %"
        if words != self._last and (now - self._told >= TOLD_SECONDS or share >= 1.0):
            self._told, self._last = now, words
            end = "\r" if sys.stderr.isatty() else "\n"
            sys.stderr.write(f"{words}, {now - self._began:,.0f} s{end}")
            sys.stderr.flush()
