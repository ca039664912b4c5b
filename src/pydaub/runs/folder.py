"""The folder of a run: the request, the journal, the data and the selected learner.

::

    RUN/
      run.json          what was asked for
      journal.jsonl     every outcome and decision (docs/journal.md)
      data/             the prepared rows
      model.skops       the selected learner (model.pkl where skops cannot save it)
      result.json       what --json prints
      schema.json       what the columns are, for new rows
      page.json         token and port of the live page, for its owner only
      notes.txt         what a person has noted on the run
      commands/ rows/   what commands left, by learner and size (what they printed too), and the rows they were given
      every-row.sh      trains a selected command on all rows, validation rows included
      learners/ learned/ fitted/ predicted/ task.pkl     for workers; not needed once the run has ended
      processes.txt     a variable that the workers' processes have, while the run goes on
"""

from __future__ import annotations

import errno
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, get_origin, get_type_hints
from uuid import uuid4

from pydaub.algorithm.strategies import DEFAULT
from pydaub.data import Schema, Split, load
from pydaub.data.checksums import opened, sealed
from pydaub.data.formats import is_named
from pydaub.data.formats.base import what_is_there
from pydaub.data.formats.folders import is_glob
from pydaub.data.formats.stores import is_address
from pydaub.data.names import listed
from pydaub.data.rowfiles import open_rows, rows_of
from pydaub.data.writing import sync, write_whole
from pydaub.errors import InputError
from pydaub.events import Started
from pydaub.records import METRICS, PORTFOLIOS, VALIDATION_FRACTION, VALIDATION_ROWS, is_command_file
from pydaub.runs import ABOUT, JOURNAL, LINKED, RUNS
from pydaub.runs.account import Account
from pydaub.runs.journal import is_held, read
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub.data import Prepared

RESULT: Final = "result.json"
SCHEMA: Final = "schema.json"
PARTIAL: Final = f".{ABOUT}."  # begins the names of files that a kill may leave
NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}  # of a file system without hard links
LONGEST_REASON: Final = 200


@dataclass(frozen=True)
class Request:
    """What a person asked for on the command line: plain values that can be kept and asked for again."""

    data: str
    target: str | None = None
    learners: str = PORTFOLIOS[0]
    strategy: str = DEFAULT
    parameters: dict[str, Any] = field(default_factory=dict)
    first_size: int | None = None
    ratio: str | None = None
    sizes: str | None = None
    scoring: str | None = None
    floor: float | None = None
    cv: int | None = None
    validation: str | None = None
    fraction: float = VALIDATION_FRACTION
    validation_rows: int = VALIDATION_ROWS
    group: str | None = None
    time: str | None = None
    drop: tuple[str, ...] = ()
    kinds: dict[str, Any] = field(default_factory=dict)
    task: Any = None
    encoding: str | None = None
    seed: int = 0
    refit: bool = False
    reuse: bool = True
    ensemble: bool = False
    adjust: bool = False
    score_rows: str | None = None
    metrics: str = METRICS[0]
    weka_jar: str | None = None
    rows: str | None = None
    full_size: int | None = None

    def resolved(self) -> Request:
        """Return the request with absolute paths, so that it can be repeated from any folder."""
        items = [_absolute(item) for item in self.learners.split(",")]
        validation, rows = (None if each is None else _source(each) for each in (self.validation, self.rows))
        return replace(self, data=_source(self.data), learners=",".join(items), validation=validation, rows=rows)

    @property
    def commands(self) -> bool:
        """Whether DATA is a file of learners that are commands."""
        return is_command_file(self.data)

    def load(self) -> Prepared:
        """Read and prepare the data that was asked for."""
        if self.commands:
            rows, validation = (None if each is None else Path(each) for each in (self.rows, self.validation))
            return rows_of(rows, validation, self.full_size, self.seed)
        split = Split(self.fraction, self.time is not None, self.cv is not None, self.validation_rows)
        return load(
            self.data,
            self.target,
            validation=self.validation,
            split=split,
            group=self.group,
            time=self.time,
            drop=self.drop,
            kinds=self.kinds or None,
            task=self.task,
            seed=self.seed,
            encoding=self.encoding,
        )


class RunFolder:
    """The existing folder of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / ABOUT).is_file():
            got = f"one without {ABOUT}" if path.is_dir() else "a file" if path.exists() else "nothing there"
            raise InputError(f"{path} must be the folder of a run, got {got}.")
        Folder(path).refuse_links(but=LINKED)
        for each in path.iterdir():  # to read a pipe, or to write to it, could take for ever
            folder = each.is_dir() and each.name not in (JOURNAL, RESULT, SCHEMA)
            if each.exists() and not folder and not each.is_file():
                raise InputError(f"{each} must be a file, got {what_is_there(each)}.")
        try:
            about = opened(path / ABOUT)
            self._fingerprint = str(about.get("data", ""))  # of the rows; older folders do not have it
            known = {name.name for name in fields(Request)}
            asked = {name: value for name, value in about["request"].items() if name in known}
            self.request = Request(**{**asked, "drop": tuple(asked.get("drop", ()))})
            _check_types(self.request)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path / ABOUT} is damaged: {_reason(error)}. Start the run in another folder.") from None

    @classmethod
    def create(cls, path: Path | None, request: Request, schema: Schema, fingerprint: str = "") -> RunFolder:
        """Make a new folder for a run; without a path, one that is named after the data.

        Of several runs that begin at the same time, only one gets a folder. With the `fingerprint` of the rows, a run
        that was killed before they were saved is resumed only with the same rows.
        """
        about = sealed({"request": asdict(request), "data": fingerprint})
        if path is not None:
            check_unused(path)
            if not _claimed(path, about):
                raise InputError(f"{path} must be a new or empty folder, got one that another run has just taken.")
        else:
            path = new_path(request.data)
            while not _claimed(path, about):
                path = new_path(request.data)  # another run has just taken it, so that this is another one
        folder = cls(path)
        folder._write(SCHEMA, schema.to_json())
        return folder

    def _write(self, name: str, fields: dict[str, Any]) -> None:
        with _writing(self.path):
            write_whole(self.path / name, sealed(fields).encode(), durable=True)

    @property
    def journal(self) -> Path:
        """The path of the journal."""
        return self.path / JOURNAL

    def begun(self) -> dict[str, Any]:
        """Return the settings with which the run began; none if it was killed before they were written."""
        events = read(self.journal, only_first=True) if self.journal.exists() else []
        return dict(events[0].settings) if events and isinstance(events[0], Started) else {}

    def account(self) -> Account:
        """Return the account of the run, whether it has ended or not."""
        if not self.journal.exists():
            raise InputError(f"{self.journal} does not exist yet. `pydaub resume {self.path}` starts the run.")
        events = read(self.journal)
        if not events:
            raise InputError(f"{self.journal} has no complete line yet. `pydaub resume {self.path}` starts the run.")
        return Account.of(events, held=is_held(self.journal))

    def data(self) -> Prepared:
        """Return the prepared rows, or prepare them again if the run was killed before they were saved."""
        place = self.path / "data"
        if place.exists():
            try:
                data = open_rows(place, checked=True)
            except InputError as error:
                again = "" if place.is_symlink() else f" `pydaub resume` does so if you remove {place}."
                raise InputError(f"{error}{again}") from None
        else:
            data = self.request.load()
            if self._fingerprint not in {"", data.fingerprint}:
                raise InputError(
                    f"{self.request.data} must hold the same rows as when the run began, got others. Restore the data,"
                    " or begin a new run."
                )
        try:
            self.schema()
        except InputError:  # the run was killed before it was written, or it is damaged
            self._write(SCHEMA, data.schema.to_json())
        return data

    def schema(self) -> Schema:
        """Return the kinds of the columns. The learner itself knows the classes."""
        return self._described()[0]

    def classes(self) -> int:
        """Return the number of classes; 0 for a regression."""
        return self._described()[1]

    def _described(self) -> tuple[Schema, int]:
        try:
            fields = opened(self.path / SCHEMA)
            return Schema.from_json(fields, ()), int(fields["classes"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path / SCHEMA} is damaged: {_reason(error)}. `pydaub resume {self.path}` writes it again."
            ) from None

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result of the run, for other programs: pydaub itself reads the journal."""
        with _writing(self.path):
            write_whole(self.path / RESULT, json.dumps(result, indent=1).encode())


def check_unused(path: Path) -> None:
    """Refuse a folder that has files in it, before any data is read."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} must be a new or empty folder, got a file. Name another one.")
    try:
        found = sorted(each.name for each in path.iterdir()) if path.is_dir() else []
    except OSError as error:
        raise InputError(f"Cannot read the folder {path}: {error.strerror}.") from None
    if ABOUT in found:
        raise InputError(
            f"{path} must be a new or empty folder, got that of a run. `pydaub resume {path}` continues it."
        )
    if found := [name for name in found if not name.startswith(PARTIAL)]:
        raise InputError(f"{path} must be a new or empty folder, got one with {listed(found, 3)}. Name another one.")


def _claimed(path: Path, about: str) -> bool:
    """Write what the run is about, unless another run has done so; return whether it was written.

    The file appears with its whole content, so that a kill leaves a run that can be resumed, or none.
    """
    partial, final = path / f"{PARTIAL}{uuid4().hex}", path / ABOUT
    with _writing(path):
        path.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(about)
            sync(partial)
            _name(partial, final)
        except FileExistsError:
            return False
        finally:
            with suppress(OSError):
                partial.unlink()
    return True


def _name(partial: Path, final: Path) -> None:
    """Give a file its final name; raise FileExistsError if there is such a file: only one run can do this."""
    try:
        os.link(partial, final)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with final.open("x") as file:
            file.write(partial.read_text())


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"Cannot write to the folder {folder}: {error.strerror}.") from None


def _absolute(item: str) -> str:
    with suppress(OSError):  # such as a name that is too long for a file
        return str(Path(item.strip()).absolute()) if Path(item.strip()).is_file() else item
    return item


def _source(item: str) -> str:
    """Return the absolute path of a file, folder or glob; the names of data sets stay."""
    with suppress(OSError, ValueError):  # such as a name that is too long for a file
        if not is_named(item) and not is_address(item) and (Path(item).exists() or is_glob(item)):
            return str(Path(item).absolute())
    return item


def new_path(data: str) -> Path:
    """Return the path of a new folder for a run on this data."""
    stem = re.sub(r"[^\w.-]+", "-", Path(data).name).split(".")[0].strip("-") or "run"
    path = base = Path(RUNS) / f"{stem}-{datetime.now():%Y%m%d-%H%M%S}"  # noqa: DTZ005  # local time, for people
    count = 1
    while path.exists():
        count += 1
        path = base.with_name(f"{base.name}-{count}")
    return path


def _reason(error: Exception) -> str:
    """Return what is wrong with a file, in a few words."""
    words = f"{error} is missing" if isinstance(error, KeyError) else getattr(error, "strerror", None) or str(error)
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}..."


def _check_types(request: Request) -> None:
    for name, kind in get_type_hints(Request).items():
        value, plain = getattr(request, name), get_origin(kind) or kind
        if kind is not Any and not isinstance(value, kind if plain is UnionType else plain):
            raise TypeError(f"{name} as {value!r}")
