"""Rows as files, for learners that are commands.

Where all learners are commands, the rows may be of any kind that `rowkinds.py` can cut. They are shuffled once, with a
seed, into a file of the same kind; the sample of size n is a file with its first n rows, so samples are nested. Beside
other learners, a command gets the rows of `Prepared` as CSV.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import numpy as np
import pandas as pd

from pydaub.data.checksums import Damaged, check, checksums, opened, sealed
from pydaub.data.formats.base import what_is_there
from pydaub.data.prepared import Prepared, Sample
from pydaub.data.rowkinds import ENDINGS, KINDS, Kind
from pydaub.data.schema import Schema
from pydaub.errors import InputError, one_line
from pydaub.records import from_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ABOUT: Final = "rowfiles.json"
SIDES: Final = ("train", "valid")
TARGET: Final = "target"  # the column of what is predicted, where it has no name of its own


class RowFiles(Prepared):
    """Rows for learners that are all commands; or only their number, where the commands find their own.

    `rows_of` makes it. `save` writes the shuffled rows into a folder, which any process can `open`.
    """

    def __init__(
        self,
        kind: str,
        sizes: Sequence[int],
        seed: int,
        fingerprint: str,
        sources: Sequence[Path | None] = (None, None),
    ) -> None:
        self.schema, self.notes = Schema("frame", "regression", 0), ()
        self.full_size, self.valid_size = sizes
        self.folder = self.shared = None
        self._kind, self._seed, self._fingerprint, self._sources = kind, seed, fingerprint, sources

    @property
    def fingerprint(self) -> str:
        """A digest that is equal for equal rows and seed."""
        return self._fingerprint

    @property
    def kind(self) -> Kind | None:
        """The kind of the files; None if there are none."""
        return KINDS[self._kind] if self._kind else None

    def train(self, size: int, *, blocks: bool = False) -> Sample:  # noqa: ARG002  # as of `Prepared`
        """Raise an error: only commands can read these rows."""
        raise InputError("These rows are for learners that are commands. Other learners need a table.")

    def valid(self, size: int | None = None) -> Sample:
        """Raise an error, as `train` does."""
        return self.train(size or 0)

    def save(self, folder: Path) -> None:
        """Write the rows in their order to a new folder, atomically."""
        temporary = folder.with_name(f".{folder.name}.{uuid4().hex}")
        sizes = (self.full_size, self.valid_size)
        try:
            temporary.mkdir(parents=True)
            for side, size, source in zip(SIDES, sizes, self._sources, strict=True):
                if self.kind and source is not None:
                    places = np.arange(size)
                    if side == SIDES[0]:
                        np.random.default_rng(self._seed).shuffle(places)
                    self.kind.ordered(source, places.tolist(), temporary / f"{side}.rows{self.kind.ending}")
            about = {"kind": self._kind, "sizes": sizes, "seed": self._seed, "fingerprint": self.fingerprint}
            (temporary / ABOUT).write_text(sealed({**about, "files": checksums(temporary)}), encoding="utf-8")
            temporary.rename(folder)
        except OSError as error:
            raise InputError(f"The rows cannot be saved in {folder}: {error.strerror}.") from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)  # it still exists only after an error

    def map_saved(self, folder: Path) -> None:
        """Use the rows that `save` wrote to this folder."""
        self.folder = folder.resolve()

    @classmethod
    def open(cls, folder: Path, *, checked: bool = False) -> RowFiles:
        """Open what `save` wrote."""
        try:
            about = opened(folder / ABOUT)
            if checked:
                check(folder, about["files"])
            sizes = [int(size) for size in about["sizes"]]
            found = cls(str(about["kind"]), sizes, int(about["seed"]), str(about["fingerprint"]))
        except Damaged as error:
            raise InputError(f"{folder} is damaged: {error}. Prepare the data again.") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder} must hold the rows of a run, got: {one_line(error)}.") from None
        found.map_saved(folder)
        return found

    def ordered(self, side: str) -> Path | None:
        """Return the file with all rows of a side in their order; None if there is none."""
        if self.folder is None or self.kind is None:
            return None
        path = self.folder / f"{side}.rows{self.kind.ending}"
        return path if path.exists() else None


def rows_of(rows: Path | None, validation: Path | None, full_size: int | None, seed: int) -> RowFiles:
    """Return the rows in files or folders, or their number alone.

    Raises
    ------
    InputError
        If they cannot be read, or are of a kind that is not known.
    """
    if (rows is None) == (full_size is None):
        got = "neither" if rows is None else "both"
        raise InputError(
            f"`--rows` must name the rows to train on, or `--full-size` must say how many there are, got {got}."
        )
    if rows is None:
        if validation is not None:
            raise InputError(
                "`--validation` must go with `--rows`: a command that finds its own rows also validates on its own."
            )
        count = from_one(full_size, "--full-size")
        return RowFiles("", (count, 0), seed, f"{count} rows that commands find")
    kind = _kind_of(rows, "--rows")
    if validation is not None and _kind_of(validation, "--validation") != kind:
        raise InputError(f"`--validation` must be of the same kind as `--rows`, {kind}, got {validation}.")
    digest, sizes = hashlib.blake2b(f"{kind} {seed}".encode(), digest_size=16), [0, 0]
    for place, (source, option) in enumerate(((rows, "--rows"), (validation, "--validation"))):
        if source is None:
            continue
        try:
            sizes[place] = KINDS[kind].count(source)
            digest.update(KINDS[kind].digest(source).encode())
        except (OSError, ValueError) as error:  # pyarrow's errors are of these
            raise InputError(f"`{option}` must be rows as {kind}, got {source}: {one_line(error)}.") from None
        if not sizes[place]:
            raise InputError(f"`{option}` must have at least one row, got none in {source}.")
    return RowFiles(kind, sizes, seed, digest.hexdigest(), (rows, validation))


def _kind_of(source: Path, option: str) -> str:
    if source.is_dir():
        return "folder"
    if not source.is_file():
        raise InputError(f"`{option}` must be a file or a folder, got {what_is_there(source)}: {source}.")
    if source.suffix.lower() not in ENDINGS:
        raise InputError(f"`{option}` must end in {', '.join(ENDINGS)}, or be a folder of files, got {source}.")
    return ENDINGS[source.suffix.lower()]


def open_rows(folder: Path, *, checked: bool = False) -> Prepared:
    """Open prepared rows, of either kind."""
    kind = RowFiles if (folder / ABOUT).is_file() else Prepared
    return kind.open(folder, checked=checked)


def train_file(data: Prepared, size: int, place: Path) -> Path | None:
    """Return a file with exactly the first `size` training rows, in `place` or where it is; None if there is none."""
    if not isinstance(data, RowFiles):
        return _made(place / f"first-{size}.csv", lambda out: _as_csv(data, [data.train(size)], out))
    kind, whole = data.kind, data.ordered("train")
    if kind is None or whole is None:
        return None
    if size == data.full_size and kind.sample_ending == kind.ending:
        return whole
    return _made(place / f"first-{size}{kind.sample_ending}", lambda out: kind.first(whole, size, out))


def valid_file(data: Prepared, scored: int | None, place: Path) -> Path | None:
    """Return a file with the validation rows, all or so many of them; None if there is none."""
    if not isinstance(data, RowFiles):
        count = scored or data.valid_size
        return _made(place / f"valid-{count}.csv", lambda out: _as_csv(data, [data.valid(scored)], out))
    kind, whole = data.kind, data.ordered("valid")
    if kind is None or whole is None or kind.sample_ending == kind.ending:
        return whole
    return _made(place / "valid", lambda out: kind.first(whole, data.valid_size, out))


def every_file(data: Prepared, place: Path) -> Path | None:
    """Return a file with all rows, validation rows included; None if there is none."""
    if not isinstance(data, RowFiles):
        parts = [data.train(data.full_size), *([data.valid()] if data.valid_size else [])]
        return _made(place / "every.csv", lambda out: _as_csv(data, parts, out))
    kind, files = data.kind, [path for side in SIDES if (path := data.ordered(side)) is not None]
    if kind is None or not files:
        return None
    return _made(place / f"every{kind.sample_ending}", lambda out: kind.joined(files, out))


def _as_csv(data: Prepared, samples: Sequence[Sample], out: Path) -> None:
    schema = data.schema
    if schema.form == "sparse":
        raise InputError("Commands must get rows of a table, got sparse ones. Leave the commands out.")
    names = [column.name for column in schema.used] or [f"x{number}" for number in range(schema.features)]
    target = schema.target or TARGET
    for number, sample in enumerate(samples):
        frame = pd.DataFrame(sample.X if hasattr(sample.X, "iloc") else np.asarray(sample.X))
        frame.columns = pd.Index(names)
        frame[target] = sample.y
        frame.to_csv(out, index=False, mode="a", header=number == 0)


def _made(path: Path, write: Callable[[Path], None]) -> Path:
    """Return a file or folder that all learners share; write it, whole or not at all, if it is not there."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid4().hex}{path.suffix}")
    try:
        write(partial)
        if partial.is_file():
            partial.chmod(0o444)  # no learner may change what others are trained on
        with suppress(OSError):  # another worker has just written it
            partial.rename(path)
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
    return path
