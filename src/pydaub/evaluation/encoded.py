"""Rows that are encoded once for all learners with the same preprocessing.

At one size, all learners see the same sample and the same validation rows, and most of them begin with one of a few
encodings. The first learner of an encoding fits it and applies it; the others use what it made. A fitted learner is
still its encoding and its estimator together.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import joblib
import numpy as np
from scipy import sparse

from pydaub.data.rows import CSR, MatrixRows, SparseRows, mapped

if TYPE_CHECKING:
    from pathlib import Path

    from sklearn.pipeline import Pipeline

    from pydaub.data import Sample

MOST_BYTES: Final = 1 << 30  # of all encoded rows that a folder keeps at a time
MOST_MEMORY: Final = 1 << 27  # the same where they are kept in memory

Rows: TypeAlias = "np.ndarray[Any, Any] | sparse.csr_matrix"


class Encoded(NamedTuple):
    """Fitted steps, and what they make of a sample and of the validation rows."""

    steps: list[tuple[str, Any]]
    train: Any
    valid: Any

    @property
    def size(self) -> int | None:
        """Bytes of the rows; None if they cannot be kept."""
        sizes = [_bytes(rows) for rows in (self.train, self.valid)]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def encode(steps: Pipeline, sample: Sample, valid: Sample) -> Encoded:
    """Fit steps on a sample, and apply them to it and to the validation rows."""
    train = steps.fit_transform(sample.X, sample.y)
    return Encoded(steps.steps, train, steps.transform(valid.X))


def key_of(steps: Pipeline, *about: object) -> str:
    """Return a name that is equal for equal steps, which are not fitted, and equal further facts."""
    told = [(name, type(part).__qualname__, part.get_params()) for name, part in steps.steps]
    return str(joblib.hash((told, about)))


def _bytes(rows: Any) -> int | None:
    if type(rows) is np.ndarray and rows.dtype.kind in "fiub":
        return int(rows.nbytes)
    if sparse.issparse(rows) and rows.format == "csr":
        return sum(int(getattr(rows, part).nbytes) for part in CSR)
    return None


def write(rows: Rows, stem: Path) -> None:
    """Write rows to files whose names begin with `stem`."""
    (MatrixRows if isinstance(rows, np.ndarray) else SparseRows)(rows).write(stem)


def read(stem: Path, features: int) -> Rows:
    """Memory-map what `write` wrote. What a learner writes to the rows is its own and does not reach the files."""
    if stem.with_suffix(".npy").exists():
        return mapped(stem, writable=True)
    data, indices, indptr = (mapped(f"{stem}.{part}", writable=True) for part in CSR)
    return sparse.csr_matrix((data, indices, indptr), (len(indptr) - 1, features), copy=False)


def make_room(folder: Path, size: int) -> bool:
    """Delete the rows that were not used for longest, until there is room; return False if there is none."""
    if size > MOST_BYTES or 2 * size > shutil.disk_usage(folder).free:
        return False
    kept = sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    sizes = [sum(file.stat().st_size for file in each.iterdir()) for each in kept]
    total = sum(sizes) + size
    for each, held in zip(kept, sizes, strict=True):
        if total <= MOST_BYTES:
            break
        shutil.rmtree(each, ignore_errors=True)  # whoever has mapped it keeps its pages
        total -= held
    return True


def touch(folder: Path) -> None:
    """Note that rows are used."""
    with suppress(OSError):
        os.utime(folder)
