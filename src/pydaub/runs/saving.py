"""Save a fitted learner and load it again, if possible without running code from the file.

`model.skops` holds data only: loading it creates objects of the types that `trusted.txt` lists, and of those that skops
itself trusts, and runs nothing else. All other learners go into `model.pkl`. Loading a pickle runs whatever code is in
it, so it is loaded only where a person says that the file can be trusted.
"""

from __future__ import annotations

import json
import secrets
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZipFile

import cloudpickle
import numpy as np

from pydaub.errors import DISK, KEPT, FolderTrouble, InputError, SavedLearnerError, one_line
from pydaub.runs import JOURNAL
from pydaub.runs.journal import is_held
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydaub.data import Prepared

SAFE, PICKLE, ABOUT = "model.skops", "model.pkl", "model.json"
SCRIPT: Final = "every-row.sh"  # trains a command on every row
# What the learners of the portfolios are made of, as pairs of a loader of skops and a type; a test makes this list from
# them. The loader matters: setting the fields of an object may be harmless where calling its constructor is not.
TRUSTED: Final = Path(__file__).with_name("trusted.txt")
OLDEST_PROTOCOL: Final = 2  # of skops; the loaders for older ones check less
TRUST_IT: Final = "If you trust it, add `--trust`."
SAMPLE_ROWS: Final = 200  # on which a saved learner must predict as before
HARMFUL: Final = "saving it as data crashed or did not end"
RUNS_CODE: Final = "loading it runs code from the file"


@dataclass(frozen=True, slots=True)
class Program:
    """What a learner that is a command has left: its model, and a script that trains it on every row."""

    model: str
    script: str


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a learner was saved. `reason` says why it is a pickle, or why there is no file; None if it is skops.

    A `program` has no such file: it has left a model of its own.
    """

    path: Path | None
    reason: str | None = None
    program: Program | None = None


def save_members(  # noqa: PLR0913  # what is saved, and how
    members: Mapping[str, Any],
    data: Prepared,
    *,
    weights: Mapping[str, float] | None,
    adjustment: Mapping[str, float] | None,
    folder_out: str,
    safely: bool,
) -> None:
    """Save a fitted learner, or the ensemble of several; see `save`. This runs in a process of its own."""
    from pydaub.learners.adjusted import adjusted  # noqa: PLC0415  # imports scikit-learn
    from pydaub.learners.ensemble import assembled  # noqa: PLC0415  # as above

    rows = data.train(min(SAMPLE_ROWS, data.full_size)).X
    fitted = adjusted(assembled(members, weights, data.schema), adjustment)
    save(fitted, Path(folder_out), rows, safely=safely)


def save(fitted: Any, folder: Path, rows: Any = None, *, safely: bool = True) -> Saved:
    """Save a fitted learner as skops or, if that fails or is not wanted (`safely`), as a pickle.

    A skops file is loaded again and must give the same predictions for `rows`; otherwise the learner is pickled. A
    pickle is loaded again too, and must be able to predict them.

    Raises
    ------
    SavedLearnerError
        If the learner can be saved in neither way.
    FolderTrouble
        If the folder cannot be written.
    """
    inside, partial = Folder(folder), folder / f".model.{secrets.token_hex(4)}"
    try:
        reason = _save_safe(fitted, partial, rows) if safely else HARMFUL
        if reason is not None:
            partial.write_bytes(_pickled(fitted, rows))
        name, other = (SAFE, PICKLE) if reason is None else (PICKLE, SAFE)
        saved = Saved(folder / name, reason)
        _describe(folder, saved)
        partial.replace(folder / name)  # atomic
        inside.remove(other)
    except OSError as error:
        raise FolderTrouble(f"The learner could not be written to {folder}: {error.strerror}. {KEPT}") from None
    finally:
        partial.unlink(missing_ok=True)
    return saved


def not_saved(folder: Path, reason: str) -> Saved:
    """Record that the selected learner of a run could not be saved; delete one that was saved before."""
    saved = Saved(None, reason)
    try:
        for name in (SAFE, PICKLE):
            Folder(folder).remove(name)
        _describe(folder, saved)
    except OSError as error:
        raise FolderTrouble(f"{folder} could not be written: {error.strerror}. {KEPT}") from None
    return saved


def save_program(folder: Path, program: Program) -> Saved:
    """Record what a command has left; delete a learner that was saved before."""
    saved = Saved(None, None, program)
    try:
        for name in (SAFE, PICKLE):
            Folder(folder).remove(name)
        Folder(folder).write(SCRIPT, program.script.encode())
        _describe(folder, saved)
    except OSError as error:
        raise FolderTrouble(f"{folder} could not be written: {error.strerror}. {KEPT}") from None
    return saved


def _describe(folder: Path, saved: Saved) -> None:
    model = {"model": saved.program.model} if saved.program else {}
    about = {"file": saved.path and saved.path.name, "reason": saved.reason, **model}
    Folder(folder).write(ABOUT, json.dumps(about).encode())


def _save_safe(fitted: Any, path: Path, rows: Any) -> str | None:
    """Save a learner as skops; return why that was not possible, if it was not."""
    import skops.io  # noqa: PLC0415  # takes most of a second

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            skops.io.dump(fitted, path)
            loaded = _load_safe(path)
            if rows is not None and not np.array_equal(fitted.predict(rows), loaded.predict(rows)):
                return "SavedLearnerError: its predictions change when it is loaded"
    except Exception as error:  # skops and foreign classes raise anything
        if getattr(error, "errno", None) in DISK:
            raise  # skops is not to blame
        return one_line(error).replace(f"{path} must", "it must").removesuffix(TRUST_IT).rstrip()[:200]
    return None


def _pickled(fitted: Any, rows: Any) -> bytes:
    name, done = type(fitted).__name__, "pickled"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = bytes(cloudpickle.dumps(fitted))
            done = "loaded again"
            loaded = cloudpickle.loads(content)
            if rows is not None:
                done = "used to predict, once it was loaded again"
                loaded.predict(rows)
    except Exception as error:  # noqa: BLE001  # a class may raise anything when pickled
        raise SavedLearnerError(f"{name} could not be {done}: {one_line(error)}.") from None
    return content


def saved_in(folder: Path) -> Saved:
    """Return how the learner in a folder was saved, without loading it."""
    inside = Folder(folder)
    reason = model = None
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        about = json.loads(inside.read(ABOUT))
        reason, model = about["reason"], about.get("model")
    if inside.has(SAFE):
        return Saved(folder / SAFE)
    if inside.has(PICKLE):
        return Saved(folder / PICKLE, reason or "")
    if isinstance(model, str):
        with suppress(OSError):
            return Saved(None, None, Program(model, inside.read(SCRIPT).decode(errors="replace")))
    return Saved(None, reason)


def refuse_program(folder: Path, saved: Saved) -> None:
    """Raise an error if what was saved is no learner that this process could use."""
    if saved.program:
        raise InputError(f"The selected learner of {folder} is a command. Its model is in {saved.program.model}.")


def load(folder: Path, *, trust: bool = False) -> Any:
    """Load the learner that was saved in a folder.

    Parameters
    ----------
    folder
        The folder.
    trust
        Whether to load a pickle, or types that are not trusted, either of which may run code from the file.

    Raises
    ------
    InputError
        If there is none, or loading it may run code and `trust` is False.
    SavedLearnerError
        If the file is damaged.
    """
    saved = saved_in(folder)
    path = saved.path
    refuse_program(folder, saved)
    if path is None and saved.reason:
        raise InputError(f"{folder} holds no learner: it could not be saved after the run ({saved.reason}).")
    if path is None:
        journal = Path(folder) / JOURNAL
        going = journal.exists() and is_held(journal)
        how = f"wait, or end it with `pydaub steer {folder} stop`" if going else f"`pydaub resume {folder}`"
        raise InputError(f"{folder} must hold a saved learner, got none. Let the run end first: {how}.")
    if path.name == PICKLE and not trust:
        raise InputError(f"{path} is a pickle: {RUNS_CODE}. {TRUST_IT}")
    try:
        return _load_safe(path, trust=trust) if path.name == SAFE else cloudpickle.loads(Folder(folder).read(path.name))
    except SavedLearnerError:
        raise
    except Exception as error:  # noqa: BLE001  # a damaged file raises anything
        raise SavedLearnerError(f"{path} must be a learner that pydaub saved, got {error}.") from None


def _load_safe(path: Path, *, trust: bool = False) -> Any:
    import skops.io  # noqa: PLC0415  # as above

    needed: Sequence[str] = skops.io.get_untrusted_types(file=path)
    if not trust and (foreign := foreign_types(path, needed)):
        raise SavedLearnerError(f"{path} must contain only trusted types, got {', '.join(foreign[:5])}. {TRUST_IT}")
    return skops.io.load(path, trusted=needed)


def foreign_types(path: Path, needed: Iterable[str]) -> list[str]:
    """Return what a skops file contains beyond the trusted pairs; `needed` are the types that skops does not trust."""
    schema = zipped_schema(path)
    trusted, needed = trusted_pairs(), {*needed}
    pairs = {(loader, kind) for loader, kind in pairs_in(schema) if kind in needed} - trusted
    foreign = [f"{kind} ({loader})" for loader, kind in pairs]
    old = schema["protocol"] < OLDEST_PROTOCOL
    return sorted({*foreign, *(["an old format of skops"] if old else [])})


def zipped_schema(path: Path) -> dict[str, Any]:
    """Return the schema of a skops file, without loading it."""
    with ZipFile(path) as archive:
        schema: dict[str, Any] = json.loads(archive.read("schema.json"))
        return schema


def pairs_in(state: Any) -> Iterator[tuple[str, str]]:
    """Yield loader and type of every node of a skops schema."""
    waiting = [state]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                yield node["__loader__"], f"{node['__module__']}.{node['__class__']}"
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


@cache
def trusted_pairs() -> frozenset[tuple[str, str]]:
    """Return the pairs of loader and type that `trusted.txt` lists."""
    lines = TRUSTED.read_text().splitlines()
    return frozenset((loader, kind) for loader, kind in map(str.split, lines))
