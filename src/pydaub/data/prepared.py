"""Data that is ready for learners: rows in their final order, training and validation, in memory or mapped."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import uuid4

import numpy as np

from pydaub.data.rows import FORMS, FrameRows, Rows, mapped
from pydaub.data.schema import Schema
from pydaub.data.target import CODED, labels_from_json, labels_to_json
from pydaub.errors import InputError
from pydaub.records import whole

Array: TypeAlias = np.ndarray[Any, Any]

FORMAT: Final = 1
ABOUT: Final = "prepared.json"
VALUES: Final = ("target", "weights", "groups")


class Sample(NamedTuple):
    """Rows for a learner: their features, targets, and weights and groups where there are any."""

    X: Any
    y: Array
    weights: Array | None
    groups: Array | None


class Part(NamedTuple):
    """One side of the data: all training rows, or all validation rows. `target` holds codes of text and dates."""

    rows: Rows
    target: Array
    weights: Array | None = None
    groups: Array | None = None

    def lock(self) -> None:
        """Let no learner write to what others are trained and scored on; what is mapped cannot be written anyhow."""
        arrays = () if isinstance(self.rows, FrameRows) else self.rows.parts()  # a table cannot be written, only read
        for values in (*arrays, *self[1:]):
            if isinstance(values, np.ndarray):
                values.flags.writeable = False


class Prepared:
    """A data set, ordered and divided once, of which every beginning is a fair sample.

    `notes` are sentences for the person who gave it. It is made by `load` and `prepare`; `save` lays it down in a
    folder from which any number of processes `open` it without copying it.

    >>> from pydaub.data import prepare
    >>> data = prepare([[1.0], [2.0], [3.0], [4.0], [5.0]] * 4, ["a", "b", "a", "b", "a"] * 4)
    >>> data.full_size, data.valid_size, data.schema.classes
    (14, 6, ('a', 'b'))
    >>> data.train(5).X.shape
    (5, 1)
    """

    def __init__(  # noqa: PLR0913, PLR0917  # made in two places, by code that has all of these
        self, schema: Schema, labels: Array, train: Part, valid: Part, notes: tuple[str, ...], fingerprint: str = ""
    ) -> None:
        self.schema = schema
        self.notes = notes
        self.full_size = len(train.rows)
        self.valid_size = len(valid.rows)
        self._labels = labels
        for part in (train, valid):
            part.lock()
        self._train = train
        self._valid = valid
        self._fingerprint = fingerprint
        self.folder: Path | None = None  # from which it is mapped

    @property
    def fingerprint(self) -> str:
        """Equal for equal data, split and seed, in any process; found on first use."""
        if not self._fingerprint:
            digest = hashlib.blake2b(digest_size=16)
            about = {"format": FORMAT, "schema": self.schema.to_json(), "labels": labels_to_json(self._labels)}
            digest.update(json.dumps(about, sort_keys=True).encode())
            for part in (self._train, self._valid):
                for value in (*part.rows.parts(), *part[1:]):
                    _feed(digest, value)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def train(self, size: int) -> Sample:
        """Return the first `size` training rows."""
        size = whole(size, "size")
        if not 1 <= size <= self.full_size:
            raise InputError(f"`size` must be from 1 to {self.full_size}, the number of training rows, got {size}.")
        return self._sample(self._train, size)

    def valid(self) -> Sample:
        """Return all validation rows."""
        return self._sample(self._valid, self.valid_size)

    def save(self, folder: Path) -> None:
        """Lay everything down in a new folder, which is there completely or not at all."""
        folder = Path(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"`folder` must be new or empty, got {folder}. Name another one.")
        temporary = folder.with_name(f".{folder.name}.{uuid4().hex}")
        try:
            temporary.mkdir(parents=True)
            self._write(temporary)
            for file in [*temporary.iterdir(), temporary]:
                sync(file)
            temporary.rename(folder)
            sync(folder.parent)
        except OSError as error:
            raise InputError(f"`folder` must be one that can be written, got {folder}: {error.strerror}.") from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # there only if something went wrong

    @classmethod
    def open(cls, folder: Path) -> Prepared:
        """Return what `save` laid down, mapped: rows are read when they are used, and shared by all who use them."""
        folder = Path(folder)
        try:
            about = json.loads((folder / ABOUT).read_bytes())
            if about["format"] != FORMAT:
                raise InputError(f"{folder} must be of format {FORMAT}, got {about['format']}. Prepare the data again.")
            labels = labels_from_json(about["labels"])
            schema = Schema.from_json(about["schema"], tuple(labels.tolist()))
            train, valid = (_mapped(folder / side, schema, about[side]) for side in ("train", "valid"))
            opened = cls(schema, labels, train, valid, tuple(about["notes"]), about["fingerprint"])
            opened.folder = folder.resolve()
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{folder} must be a folder of prepared data, got: {error}. Prepare it again.") from None
        return opened

    def _sample(self, part: Part, size: int) -> Sample:
        target = part.target[:size]
        weights, groups = (None if values is None else values[:size] for values in (part.weights, part.groups))
        y = self._labels[target] if self._labels.dtype.kind in CODED else target
        return Sample(part.rows.first(size), y, weights, groups)

    def _write(self, folder: Path) -> None:
        sides = {"train": self._train, "valid": self._valid}
        held = {side: [name for name in VALUES if getattr(part, name) is not None] for side, part in sides.items()}
        about = {
            "format": FORMAT,
            "schema": self.schema.to_json(),
            "labels": labels_to_json(self._labels),
            "notes": self.notes,
            "fingerprint": self.fingerprint,
            **held,
        }
        for side, part in sides.items():
            part.rows.write(folder / f"{side}.rows")
            for name in held[side]:
                np.save(folder / f"{side}.{name}.npy", getattr(part, name))
        (folder / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")


def _mapped(stem: Path, schema: Schema, names: list[str]) -> Part:
    def path(name: str) -> Path:
        return stem.with_name(f"{stem.name}.{name}")

    rows = FORMS[schema.form].mapped(path("rows"), schema.features)
    return Part(rows, **{name: mapped(path(name)) for name in names})


def _feed(digest: Any, value: bytes | Array | None) -> None:  # noqa: ANN401  # hashlib names no type
    """Add a value together with its type and shape, so that no two data sets run together into the same bytes."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    else:
        digest.update(repr(value).encode())


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def write_whole(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file that is there as a whole or not at all; if `durable`, also after the power was cut."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    if durable:
        sync(partial)
    partial.replace(path)
