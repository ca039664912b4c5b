"""A fitted learner on the disk, and back, without running code from the file where that can be avoided.

`model.skops` holds data only: loading it makes objects of types that are known here and runs nothing else.
Learners that skops cannot take are in `model.pkl`, and loading a pickle runs whatever is in it.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import cloudpickle
import numpy as np
import skops.io

from pydaub.errors import InputError, SavedLearnerError, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SAFE, PICKLE, ABOUT = "model.skops", "model.pkl", "model.json"
# Classes of the libraries that a learner runs in anyhow. Functions are not trusted, since data has none, but for the
# one with which scikit-learn's HistGradientBoosting checks columns that are categories.
TRUSTED: Final = re.compile(
    r"((sklearn|imodels|lightgbm|xgboost|catboost|pydaub\.learners)\.[\w.]+\._*[A-Z]\w*|collections\.OrderedDict|numpy\.dtype"
    r"|functools\.partial|sklearn\.utils\.validation\.check_array)"
)
RUNS_CODE: Final = "loading it runs code from the file, so open it only where you trust who made it"


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a learner was saved, and, where it had to be a pickle, why."""

    path: Path
    reason: str | None = None


def save(fitted: Any, folder: Path, rows: Any = None) -> Saved:
    """Save a fitted learner; it is loaded again and must predict the same for the rows."""
    partial = folder / ".model"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            skops.io.dump(fitted, partial)
            loaded = _load_safe(partial)
            if rows is not None and not _same(fitted.predict(rows), loaded.predict(rows)):
                raise SavedLearnerError("it predicts otherwise after loading")  # noqa: TRY301  # as the others below
    except Exception as error:  # noqa: BLE001  # whatever a type that skops does not know raises
        partial.unlink(missing_ok=True)
        partial.write_bytes(_pickled(fitted))
        saved, other = Saved(folder / PICKLE, one_line(error)[:200]), folder / SAFE
    else:
        saved, other = Saved(folder / SAFE), folder / PICKLE
    (folder / ABOUT).write_text(json.dumps({"file": saved.path.name, "reason": saved.reason}))
    partial.replace(saved.path)  # there as a whole or not at all
    other.unlink(missing_ok=True)
    return saved


def _pickled(fitted: Any) -> bytes:
    try:
        return bytes(cloudpickle.dumps(fitted))
    except Exception as error:  # noqa: BLE001  # whatever its own pickling raises
        raise SavedLearnerError(
            f"{type(fitted).__name__} must be such as can be saved, got {one_line(error)}."
        ) from None


def saved_in(folder: Path) -> Saved:
    """Return how a learner was saved in a folder, without loading it."""
    if (folder / SAFE).exists():
        return Saved(folder / SAFE)
    if not (folder / PICKLE).exists():
        raise InputError(f"{folder} must hold a saved learner, got none. Let the run end first: pydaub resume.")
    try:
        return Saved(folder / PICKLE, json.loads((folder / ABOUT).read_text())["reason"] or "")
    except (OSError, ValueError, KeyError, TypeError):
        return Saved(folder / PICKLE, "")


def load(folder: Path) -> Any:
    """Return the learner that was saved in a folder."""
    path = saved_in(folder).path
    try:
        return _load_safe(path) if path.name == SAFE else cloudpickle.loads(path.read_bytes())
    except SavedLearnerError:
        raise
    except Exception as error:  # noqa: BLE001  # of a damaged file
        raise SavedLearnerError(f"{path} must be a learner that pydaub saved, got {error}.") from None


def _load_safe(path: Path) -> Any:
    needed: Sequence[str] = skops.io.get_untrusted_types(file=path)
    foreign = [name for name in needed if not TRUSTED.fullmatch(name)]
    if foreign:
        raise SavedLearnerError(f"{path} must hold known types only, got {', '.join(foreign[:5])}.")
    return skops.io.load(path, trusted=needed)


def _same(before: Any, after: Any) -> bool:
    return bool(np.array_equal(np.asarray(before), np.asarray(after)))
