"""Save a fitted learner and load it again, if possible without running code from the file.

`model.skops` holds data only: loading it creates objects of trusted types and runs nothing else. Learners that skops
cannot save go into `model.pkl`. Loading a pickle runs whatever code is in it.
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
# Classes of the libraries that learners are made of. Functions are not trusted, with one exception: scikit-learn's
# HistGradientBoosting stores the function that validates its categorical columns.
TRUSTED: Final = re.compile(
    r"((sklearn|imodels|lightgbm|xgboost|catboost|pydaub\.learners)\.[\w.]+\._*[A-Z]\w*|collections\.OrderedDict|numpy\.dtype"
    r"|functools\.partial|sklearn\.utils\.validation\.check_array)"
)
RUNS_CODE: Final = "loading it runs code from the file, so load it only if you trust its source"


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


def load(folder: Path) -> Any:
    """Load the learner that was saved in a folder.

    Raises
    ------
    InputError
        If there is none.
    SavedLearnerError
        If the file is damaged, or a skops file contains types that are not trusted.
    """
    path = saved_in(folder).path
    try:
        return _load_safe(path) if path.name == SAFE else cloudpickle.loads(path.read_bytes())
    except SavedLearnerError:
        raise
    except Exception as error:  # noqa: BLE001  # a damaged file raises anything
        raise SavedLearnerError(f"{path} must be a learner that pydaub saved, got {error}.") from None


def _load_safe(path: Path) -> Any:
    needed: Sequence[str] = skops.io.get_untrusted_types(file=path)
    foreign = [name for name in needed if not TRUSTED.fullmatch(name)]
    if foreign:
        raise SavedLearnerError(f"{path} must contain only trusted types, got {', '.join(foreign[:5])}.")
    return skops.io.load(path, trusted=needed)
