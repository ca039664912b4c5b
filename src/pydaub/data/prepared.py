"""Data that is ready for learners: rows in their final order, divided, in memory or memory-mapped."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

import numpy as np

from pydaub.data.checksums import Damaged, check, checksums, opened, sealed
from pydaub.data.rows import FORMS, FrameRows, Rows, mapped, save_array
from pydaub.data.schema import Schema
from pydaub.data.split import shuffled
from pydaub.data.target import CODED, labels_from_json, labels_to_json
from pydaub.data.writing import read_sealed, sync, write_sealed
from pydaub.errors import InputError
from pydaub.records import whole
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydaub.data.schema import Array

FORMAT: Final = 1
ABOUT: Final = "prepared.json"
SIDES: Final = ("train", "valid")
VALUES: Final = ("target", "weights", "groups")


class Sample:
    """Rows for a learner: features, targets, and weights and groups if there are any.

    The features are read when they are first used, because a learner may get encoded ones instead.
    """

    def __init__(
        self, read: Callable[[], Any], y: Array, weights: Array | None = None, groups: Array | None = None
    ) -> None:
        self._read = read
        self.y, self.weights, self.groups = y, weights, groups

    @cached_property
    def X(self) -> Any:  # noqa: ANN401, N802  # an array, a matrix or a frame, by its usual name
        """The features."""
        return self._read()

    def with_features(self, X: Any) -> Sample:  # noqa: ANN401  # as above
        """Return the same rows with other features."""
        return Sample(lambda: X, self.y, self.weights, self.groups)


class Part(NamedTuple):
    """All training rows, or all validation rows. Text and dates are stored as codes in `target`."""

    rows: Rows
    target: Array
    weights: Array | None = None
    groups: Array | None = None

    def lock(self) -> None:
        """Make all arrays read-only, so that no learner can change what others are trained and scored on."""
        arrays = () if isinstance(self.rows, FrameRows) else self.rows.parts()  # Arrow tables are immutable
        for values in (*arrays, *self[1:]):
            if isinstance(values, np.ndarray):
                values.flags.writeable = False


class Prepared:
    """A data set in a fixed random order, in which every prefix of the training rows is a fair sample.

    `load` and `prepare` create it. `save` writes it to a folder, which any number of processes can `open` without
    copying the rows.

    Attributes
    ----------
    schema
        What the rows look like.
    notes
        Sentences for the user, for example about columns that were left out.
    full_size
        The number of training rows.
    valid_size
        The number of validation rows.
    folder
        The folder from which the rows are memory-mapped; None if they are in memory.

    Examples
    --------
    >>> from pydaub.data import prepare
    >>> data = prepare([[1.0], [2.0], [3.0], [4.0], [5.0]] * 4, ["a", "b", "a", "b", "a"] * 4)
    >>> data.full_size, data.valid_size, data.schema.classes
    (14, 6, ('a', 'b'))
    >>> data.train(5).X.shape
    (5, 1)
    """

    def __init__(  # noqa: PLR0913, PLR0917  # called only in this package, where all of these are at hand
        self, schema: Schema, labels: Array, train: Part, valid: Part, notes: tuple[str, ...], fingerprint: str = ""
    ) -> None:
        self.schema = schema
        self.notes = notes
        self.full_size = len(train.rows)
        self.valid_size = len(valid.rows)
        self.folder: Path | None = None
        self.shared: Path | None = None  # a folder for results that all processes share
        self._places: dict[int, Array] = {}  # of parts of the validation rows, by their size
        self._labels = labels
        self._train = train
        self._valid = valid
        self._fingerprint = fingerprint
        for part in (train, valid):
            part.lock()

    @property
    def fingerprint(self) -> str:
        """A digest that is equal for equal data, split and seed, in every process; computed on first use."""
        if not self._fingerprint:
            digest = described(self.schema, self._labels)
            for part in (self._train, self._valid):
                for value in (*part.rows.parts(), *part[1:]):
                    _feed(digest, value)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def train(self, size: int, *, blocks: bool = False) -> Sample:
        """Return the first `size` training rows.

        With `blocks`, the features of a frame are an object whose slices are read as frames when they are taken.
        """
        size = whole(size, "size")
        if not 1 <= size <= self.full_size:
            raise InputError(f"`size` must be from 1 to {self.full_size}, the number of training rows, got {size}.")
        return self._sample(self._train, size, blocks=blocks)

    def valid(self, size: int | None = None) -> Sample:
        """Return all validation rows, or a stratified random part of this size; a smaller one is part of a larger."""
        if size is None or size >= self.valid_size:
            return self._sample(self._valid, self.valid_size)
        places = self.valid_places(size)
        rows, target, weights, groups = self._valid
        values = (None if value is None else value[places] for value in (weights, groups))
        return Sample(lambda: rows.take(places).first(size), self._named(target[places]), *values)

    def valid_places(self, size: int) -> Array:
        """Return which of the validation rows `valid` returns for a size below their number."""
        if size not in self._places:
            self._places[size] = self._kept_places(size)
        return self._places[size]

    def _kept_places(self, size: int) -> Array:
        """Read these places from the shared folder, or work them out and keep them there."""
        path = None if self.shared is None else self.shared / f"valid-{size}"
        if path is not None:
            with suppress(OSError, Damaged):
                return np.frombuffer(read_sealed(path), np.int64)
        codes = np.unique(self._valid.target, return_inverse=True)[1] if self.schema.task == "classification" else None
        places = np.sort(shuffled(codes, self.valid_size, np.random.default_rng(0))[:size])
        if path is not None:
            with suppress(OSError):
                write_sealed(path, places.astype(np.int64).tobytes())
        return places

    def save(self, folder: Path) -> None:
        """Write everything to a new folder, atomically."""
        folder = Path(folder)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"`folder` must be new or empty, got {folder}. Name another one.")
        temporary = folder.with_name(f".{folder.name}.{uuid4().hex}")
        sides = dict(zip(SIDES, (self._train, self._valid), strict=True))
        held = {side: [name for name in VALUES if getattr(part, name) is not None] for side, part in sides.items()}
        try:
            temporary.mkdir(parents=True)
            for side, part in sides.items():
                part.rows.write(temporary / f"{side}.rows")
                for name in held[side]:
                    save_array(temporary / f"{side}.{name}.npy", getattr(part, name))
            about: dict[str, Any] = {**held, "notes": self.notes, "fingerprint": self.fingerprint}
            publish(temporary, folder, self.schema, self._labels, **about)
        except OSError as error:
            raise InputError(f"The rows cannot be saved in {folder}: {error.strerror}.") from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # it still exists only after an error

    def map_saved(self, folder: Path) -> None:
        """Map the rows that `save` wrote to this folder, and let go of those in memory."""
        saved = Prepared.open(folder)
        self._train, self._valid = saved._train, saved._valid  # noqa: SLF001  # of the same class

    @classmethod
    def open(cls, folder: Path, *, checked: bool = False) -> Prepared:
        """Memory-map what `save` wrote: rows are read when they are used, and shared between processes.

        If `checked`, the files are read once and must match the checksums with which they were written.
        """
        folder = Path(folder)
        try:
            about = opened(folder / ABOUT)
            Folder(folder).refuse_links()
            note = check(folder, about.get("files", {})) if checked else None  # older folders have no checksums
            if about["format"] != FORMAT:
                raise InputError(f"{folder} must be of format {FORMAT}, got {about['format']}. Prepare the data again.")
            labels = labels_from_json(about["labels"])
            schema = Schema.from_json(about["schema"], tuple(labels.tolist()))
            train, valid = (_mapped(folder / side, schema, about[side]) for side in SIDES)
            data = cls(schema, labels, train, valid, (*about["notes"], *([note] if note else [])), about["fingerprint"])
            data.folder = folder.resolve()
        except Damaged as error:
            raise InputError(f"{folder} is damaged: {error}. Prepare the data again.") from None
        except OSError as error:
            raise InputError(
                f"{error.filename or folder} must be a file of prepared data that can be read, got {error.strerror}."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{folder} must be a folder of prepared data, got: {error}. Prepare it again.") from None
        return data

    def _sample(self, part: Part, size: int, *, blocks: bool = False) -> Sample:
        target = part.target[:size]
        weights, groups = (None if values is None else values[:size] for values in (part.weights, part.groups))
        read = part.rows.blocks if blocks else part.rows.first
        return Sample(lambda: read(size), self._named(target), weights, groups)

    def _named(self, target: Array) -> Array:
        """Return the targets as learners see them."""
        return self._labels[target] if self._labels.dtype.kind in CODED else target


def _description(schema: Schema, labels: Array) -> dict[str, Any]:
    return {"format": FORMAT, "schema": schema.to_json(), "labels": labels_to_json(labels)}


def described(schema: Schema, labels: Array) -> hashlib.blake2b:
    """Return a digest that begins with the description of the schema."""
    return hashlib.blake2b(json.dumps(_description(schema, labels), sort_keys=True).encode(), digest_size=16)


def publish(
    temporary: Path,
    folder: Path,
    schema: Schema,
    labels: Array,
    *,
    beside: Mapping[str, str] | None = None,
    **about: object,
) -> None:
    """Describe the data in `temporary`, with checksums, then rename it to `folder`; both survive a power cut.

    Files `beside` the data have no checksums.
    """
    fields = {**_description(schema, labels), **about, "files": checksums(temporary)}
    for name, content in {ABOUT: sealed(fields), **(beside or {})}.items():
        (temporary / name).write_text(content, encoding="utf-8")
    for file in [*temporary.iterdir(), temporary]:
        sync(file)
    temporary.rename(folder)
    sync(folder.parent)


def _mapped(stem: Path, schema: Schema, names: list[str]) -> Part:
    values = {name: mapped(f"{stem}.{name}") for name in names}
    return Part(FORMS[schema.form].mapped(Path(f"{stem}.rows"), (len(values["target"]), schema.features)), **values)


def _feed(digest: hashlib.blake2b, value: bytes | Array | None) -> None:
    """Add a value with its type and shape, so that different data sets never give the same bytes."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).data.cast("B") if value.size else b"")
    else:
        digest.update(repr(value).encode())
