"""`pydaub clean`: list old runs, and delete them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from pydaub import units
from pydaub.cli import completion
from pydaub.cli.app import EXIT_FAILED, app, complain
from pydaub.cli.options import Json, figure
from pydaub.errors import InputError, PydaubError
from pydaub.runs import ABOUT, JOURNAL, RUNS
from pydaub.views.summary import counted
from pydaub.views.terminal import console, print_lines, print_table

DEFAULT_AGE: Final = "30d"
GOING: Final = "it is going on"
OF_LEARNER: Final = re.compile(r"\.?[0-9a-f]{24}[-.].*")  # by its digest
OF_ROWS: Final = re.compile(
    r"\.?(?:prepared|source|rowfiles)\.json(?:\.\d+)?|(?:train|valid)\.\w+(?:\.\w+)?\.(?:npy|arrow)"
    r"|(?:train|valid)\.rows\.(?:jsonl?|csv|parquet)"
)
BELOW: Final = {"data": OF_ROWS, **dict.fromkeys(("learners", "learned", "fitted", "predicted"), OF_LEARNER)}
WRITTEN: Final = {"plots", "report.html", "curves.csv"}  # by `plot`, `report` and `export`
STARTING_SECONDS: Final = 3600.0  # a younger folder without a journal may be that of a run that is about to start


@dataclass(slots=True)
class Found:
    """A run in a folder: `kept` says why it is not deleted."""

    path: Path
    state: str
    age: float
    size: int
    kept: str | None
    deleted: bool = False
    failed: bool = False  # to be deleted

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "run": str(self.path),
            "state": self.state,
            "age_seconds": round(self.age, 3),
            "bytes": self.size,
            "kept": self.kept,
            "deleted": self.deleted,
        }


@app.command()
def clean(
    folder: Annotated[
        Path, typer.Argument(help="Folder of runs, or of one run.", autocompletion=completion.runs)
    ] = Path(RUNS),
    *,
    older_than: Annotated[
        str, typer.Option(help="Only runs that nothing has been added to for this time: 12h, 7d.")
    ] = DEFAULT_AGE,
    keep: Annotated[int, figure(int, words="Keep this many of the latest runs, however old they are.")] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="Delete them; otherwise they are only listed.")] = False,
    as_json: Json = False,
) -> None:
    """List the runs in a folder and say which of them are old; with --yes, delete those.

    A run that is going on is never deleted, nor is a folder with files that are not pydaub's. Links are not followed.
    """
    oldest = units.seconds(older_than, "--older-than") or 0.0
    if keep < 0:
        raise InputError(f"`--keep` must be 0 or more, got {keep}.")
    runs = sorted((_examined(path) for path in _runs(folder)), key=lambda run: run.age)
    for place, run in enumerate(runs):
        if run.kept is None and run.age < oldest:
            run.kept = f"younger than {older_than}"
        elif run.kept is None and place < keep:
            run.kept = f"one of the latest {keep}"
    if yes:
        _delete_all(runs)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "runs": [run.as_json() for run in runs]}))
    else:
        _show(runs, yes=yes)
    stuck = [run for run in runs if run.failed]
    for run in stuck:
        complain(f"{run.path}: {run.kept}.")
    if stuck:
        raise typer.Exit(EXIT_FAILED)


def _delete_all(runs: list[Found]) -> None:
    """Delete the runs that nothing keeps."""
    for run in runs:
        if run.kept is None:
            run.kept = _delete(run.path)
            run.deleted, run.failed = run.kept is None, run.kept not in (None, GOING)


def _runs(folder: Path) -> list[Path]:
    """Return the run that a folder is, or the runs in it."""
    if folder.is_symlink() or not folder.is_dir():
        got = "a link" if folder.is_symlink() else "a file" if folder.exists() else "nothing there"
        raise InputError(f"{folder} must be a folder of runs, got {got}.")
    if (folder / ABOUT).is_file():
        return [folder]
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"Cannot read the folder {folder}: {error.strerror}.") from None
    return [each for each in entries if not each.is_symlink() and (each / ABOUT).is_file()]


def _examined(path: Path) -> Found:
    """Return what is known of a run, and why it must be kept, if it must."""
    from pydaub.runs.account import GOING_ON
    from pydaub.runs.folder import RunFolder
    from pydaub.runs.journal import is_held
    from pydaub.views.overview import ended_line

    journal, kept = path / JOURNAL, None
    last = (journal if journal.is_file() else path / ABOUT).stat().st_mtime
    age = max(time.time() - last, 0.0)
    foreign = _foreign(path)
    try:
        opened = RunFolder(path)
        if not journal.exists():
            state = "not started"
            kept = "it may be about to start" if age < STARTING_SECONDS else None
        else:
            held = is_held(journal)
            state = (None if held else (ended_line(path) or {}).get("state")) or opened.account().state
            if held or state in GOING_ON:
                kept = GOING
    except PydaubError:
        state, kept = "damaged", "it is damaged: look at it, and remove it yourself"
    if foreign and kept is None:
        kept = f"{foreign[0]} in it is not pydaub's"
    return Found(path, state, age, _size(path), kept)


def _foreign(path: Path) -> list[str]:
    """Return the names in the folder of a run that are not pydaub's, those among its figures, rows and learners too."""
    found = [each.name for each in path.iterdir() if not is_ours(each.name)]
    plots = path / "plots"
    if plots.is_dir() and not plots.is_symlink():
        from pydaub.views.plots import FORMATS, NAMES

        drawn = {f"{name}.{ending}" for name in NAMES for ending in FORMATS}
        found += [f"plots/{each.name}" for each in plots.iterdir() if each.name not in drawn]
    for part, names in ((path / name, names) for name, names in BELOW.items()):
        if part.is_dir() and not part.is_symlink():
            others = (each for each in part.rglob("*") if not names.fullmatch(each.name))
            found += [str(each.relative_to(path)) for each in others]
    return sorted(found)


def check_output(path: Path | None) -> None:
    """Refuse to write an output over a file that a run needs."""
    found = None if path is None else path.resolve()
    if found is None or found.name in WRITTEN or not (found.parent / ABOUT).is_file():
        return
    if is_ours(found.name):
        raise InputError(f"`--out` must not be a file that the run needs, got {path}. Choose another.")


def is_ours(name: str) -> bool:
    """Return whether a file in the folder of a run is pydaub's own, or the part of one that a kill has left.

    >>> [is_ours(name) for name in ("model.pkl", ".model.123", "notes.txt.part", "mine.txt")]
    [True, True, True, False]
    """
    from pydaub.cli.detached import OUTPUT
    from pydaub.dashboard.address import RECORD
    from pydaub.engines.cluster.node import IDENTITY
    from pydaub.engines.processes import NOTE
    from pydaub.evaluation.workbench import COMMANDS, PARTS, ROWS
    from pydaub.runs import folder, saving
    from pydaub.runs.notes import NOTES
    from pydaub.runs.steering import STEERING

    ours = {
        COMMANDS,
        ROWS,
        saving.SCRIPT,
        OUTPUT,
        ABOUT,
        folder.RESULT,
        folder.SCHEMA,
        JOURNAL,
        NOTES,
        STEERING,
        RECORD,
        IDENTITY,
        NOTE,
        *PARTS,
    }
    ours |= {saving.SAFE, saving.PICKLE, saving.ABOUT, "model", "data", "task.pkl"}
    ours |= WRITTEN
    part = name[1:].rpartition(".")[0] if name.startswith(".") else name.removesuffix(".part")
    return name in ours or part in ours or bool(OF_LEARNER.fullmatch(name))


def _size(path: Path) -> int:
    """Return the bytes that the files below a folder take, without following links."""
    total = 0
    for place, _, names in os.walk(path):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * 512
            except OSError:
                continue
    return total


def _delete(path: Path) -> str | None:
    """Delete the folder of a run, unless it is going on; return why it is still there, if it is.

    The journal is locked meanwhile, so that nobody resumes the run. What says that this is a run goes last, so that
    the same command continues if it was interrupted.
    """
    lock = -1
    try:
        if (path / JOURNAL).exists():
            lock = os.open(path / JOURNAL, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for each in sorted(path.iterdir(), key=lambda each: (each.name == ABOUT, each.name == JOURNAL)):
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
        path.rmdir()
    except BlockingIOError:
        return GOING
    except OSError as error:
        return f"cannot delete {error.filename or path}: {error.strerror}"
    finally:
        if lock >= 0:
            os.close(lock)
    return None


def _show(runs: list[Found], *, yes: bool) -> None:
    out = console()
    rows = [(run.path.name, run.state, _age(run.age), f"{run.size / 1e6:,.1f}", _word(run, yes=yes)) for run in runs]
    if rows:
        print_table(out, ("run", "state", "age", "MB", "what"), rows)
        print_lines(out, [""])
    old = [run for run in runs if (run.deleted if yes else run.kept is None)]
    what = f"{counted(len(old), 'run')}, {sum(run.size for run in old) / 1e6:,.1f} MB"
    if yes:
        print_lines(out, [f"Deleted {what}."])
    elif old:
        print_lines(out, [f"{what} would be deleted. Nothing was: add --yes to delete."])
    else:
        print_lines(out, ["No run would be deleted." if runs else "There are no runs."])


def _word(run: Found, *, yes: bool) -> str:
    if run.deleted:
        return "deleted"
    return f"kept: {run.kept}" if run.kept or yes else "would be deleted"


def _age(seconds: float) -> str:
    """Return an age in one figure.

    >>> [_age(seconds) for seconds in (5, 150, 9000, 1e6)]
    ['5 s', '2 min', '2 h', '11 d']
    """
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{seconds:.0f} s"
