"""Save a fitted learner and load it again, if possible without running code from the file.

`model.skops` holds data only: loading it creates objects of the types that `trusted.txt` lists, and of those that skops
itself trusts, and runs nothing else. All other learners go into `model.pkl`. Loading a pickle runs whatever code is in
it, so it is loaded only where a person says that the file can be trusted.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZipFile

import cloudpickle
import numpy as np
import skops.io

from pydaub.errors import InputError, SavedLearnerError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SAFE, PICKLE, ABOUT = "model.skops", "model.pkl", "model.json"
# What the learners of the portfolios are made of, as pairs of a loader of skops and a type; a test makes this list from
# them. The loader matters: setting the fields of an object may be harmless where calling its constructor is not.
TRUSTED: Final = Path(__file__).with_name("trusted.txt")
OLDEST_PROTOCOL: Final = 2  # of skops; the loaders for older ones check less
TRUST_IT: Final = "If you trust it, add `--trust`."
RUNS_CODE: Final = "loading it runs code from the file"


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a learner was saved. `reason` says why it is a pickle; None if it is not."""

    path: Path
    reason: str | None = None


def save(fitted: Any, folder: Path, rows: Any = None) -> Saved:
    """Save a fitted learner as skops or, if that fails, as a pickle.

    A skops file is loaded again and must give the same predictions for `rows`; otherwise the learner is pickled.

    Raises
    ------
    SavedLearnerError
        If the learner can be saved in neither way.
    """
    partial = folder / ".model"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            skops.io.dump(fitted, partial)
            loaded = _load_safe(partial)
            if rows is not None and not np.array_equal(fitted.predict(rows), loaded.predict(rows)):
                raise SavedLearnerError("its predictions change when it is loaded")  # noqa: TRY301  # handled below
    except Exception as error:  # noqa: BLE001  # skops and foreign classes raise anything
        partial.unlink(missing_ok=True)
        partial.write_bytes(_pickled(fitted))
        saved, other = Saved(folder / PICKLE, one_line(error)[:200]), folder / SAFE
    else:
        saved, other = Saved(folder / SAFE), folder / PICKLE
    (folder / ABOUT).write_text(json.dumps({"file": saved.path.name, "reason": saved.reason}))
    partial.replace(saved.path)  # atomic
    other.unlink(missing_ok=True)
    return saved


def _pickled(fitted: Any) -> bytes:
    try:
        return bytes(cloudpickle.dumps(fitted))
    except Exception as error:  # noqa: BLE001  # a class may raise anything when pickled
        raise SavedLearnerError(f"{type(fitted).__name__} could not be pickled: {one_line(error)}.") from None


def saved_in(folder: Path) -> Saved:
    """Return how the learner in a folder was saved, without loading it."""
    if (folder / SAFE).exists():
        return Saved(folder / SAFE)
    if not (folder / PICKLE).exists():
        raise InputError(
            f"{folder} must hold a saved learner, got none. Let the run end first: `pydaub resume {folder}`."
        )
    try:
        return Saved(folder / PICKLE, json.loads((folder / ABOUT).read_text())["reason"] or "")
    except (OSError, ValueError, KeyError, TypeError):
        return Saved(folder / PICKLE, "")


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
    path = saved_in(folder).path
    if path.name == PICKLE and not trust:
        raise InputError(f"{path} is a pickle: {RUNS_CODE}. {TRUST_IT}")
    try:
        return _load_safe(path, trust=trust) if path.name == SAFE else cloudpickle.loads(path.read_bytes())
    except SavedLearnerError:
        raise
    except Exception as error:  # noqa: BLE001  # a damaged file raises anything
        raise SavedLearnerError(f"{path} must be a learner that pydaub saved, got {error}.") from None


def _load_safe(path: Path, *, trust: bool = False) -> Any:
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
