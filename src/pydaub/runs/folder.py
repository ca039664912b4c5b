"""The folder of a run: the request, the journal, the data and the selected learner.

::

    RUN/
      run.json          what was asked for
      journal.jsonl     every outcome and decision (docs/journal.md)
      data/             the prepared rows
      model.skops       the selected learner (model.pkl where skops cannot save it)
      result.json       what --json prints
      schema.json       what the columns are, for new rows
      learners/ learned/ fitted/ task.pkl     for workers; not needed once the run has ended
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, Final, get_origin, get_type_hints

from pydaub.algorithm.strategies import DEFAULT
from pydaub.data import Prepared, Schema, Split, load
from pydaub.data.loading import is_prepared
from pydaub.errors import InputError
from pydaub.records import METRICS, VALIDATION_FRACTION
from pydaub.runs.account import Account
from pydaub.runs.journal import JOURNAL, is_held, read

ABOUT: Final = "run.json"
RESULT: Final = "result.json"
SCHEMA: Final = "schema.json"


@dataclass(frozen=True)
class Request:
    """What a person asked for on the command line: plain values that can be kept and asked for again."""

    data: str
    target: str | None = None
    learners: str = "sklearn"
    strategy: str = DEFAULT
    parameters: dict[str, Any] = field(default_factory=dict)
    first_size: int | None = None
    ratio: str | None = None
    sizes: str | None = None
    scoring: str | None = None
    cv: int | None = None
    validation: str | None = None
    fraction: float = VALIDATION_FRACTION
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
    score_rows: str | None = None
    metrics: str = METRICS[0]
    weka_jar: str | None = None

    def resolved(self) -> Request:
        """Return the request with absolute paths, so that it can be repeated from any folder."""
        items = [_absolute(item) for item in self.learners.split(",")]
        validation = None if self.validation is None else _absolute(self.validation)
        data = str(Path(self.data).absolute()) if is_prepared(self.data) else _absolute(self.data)
        return replace(self, data=data, learners=",".join(items), validation=validation)

    def load(self) -> Prepared:
        """Read and prepare the data that was asked for."""
        split = Split(fraction=self.fraction, by_time=self.time is not None, none=self.cv is not None)
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
        try:
            about = json.loads((path / ABOUT).read_text())
            known = {name.name for name in fields(Request)}
            asked = {name: value for name, value in about["request"].items() if name in known}
            self.request = Request(**{**asked, "drop": tuple(asked.get("drop", ()))})
            _check_types(self.request)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path / ABOUT} is damaged: {error}.") from None

    @classmethod
    def create(cls, path: Path | None, request: Request, schema: Schema) -> RunFolder:
        """Make a new folder for a run; without a path, one that is named after the data.

        Of several runs that begin at the same time, only one gets a folder.
        """
        if path is not None:
            check_unused(path)
            if not cls._claimed(path, request, schema):
                raise InputError(f"{path} must be a new or empty folder, got one that another run has just taken.")
            return cls(path)
        free = new_path(request.data)
        while not cls._claimed(free, request, schema):
            free = new_path(request.data)  # another run has just taken it, so that this is another one
        return cls(free)

    @staticmethod
    def _claimed(path: Path, request: Request, schema: Schema) -> bool:
        """Write the request, unless another run has done so; return whether it was written."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            with (path / ABOUT).open("x") as file:  # fails if it exists: only one run can do this
                file.write(json.dumps({"request": asdict(request)}, indent=1))
            (path / SCHEMA).write_text(json.dumps(schema.to_json(), indent=1))
        except FileExistsError as error:
            if path.is_dir():
                return False
            raise InputError(f"Cannot write to the folder {path}: {error.strerror}.") from None
        except OSError as error:
            raise InputError(f"Cannot write to the folder {path}: {error.strerror}.") from None
        return True

    @property
    def journal(self) -> Path:
        """The path of the journal."""
        return self.path / JOURNAL

    def account(self) -> Account:
        """Return the account of the run, whether it has ended or not."""
        if not self.journal.exists():
            raise InputError(f"{self.journal} does not exist yet. `pydaub resume {self.path}` starts the run.")
        return Account.of(read(self.journal), held=is_held(self.journal))

    def data(self) -> Prepared:
        """Return the prepared rows, or prepare them again if the run was killed before they were saved."""
        return Prepared.open(self.path / "data") if (self.path / "data").exists() else self.request.load()

    def schema(self) -> Schema:
        """Return the kinds of the columns. The learner itself knows the classes."""
        try:
            return Schema.from_json(json.loads((self.path / SCHEMA).read_text()), ())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.path / SCHEMA} is damaged: {error}.") from None

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result of the run, for other programs: pydaub itself reads the journal."""
        (self.path / RESULT).write_text(json.dumps(result, indent=1))


def check_unused(path: Path) -> None:
    """Refuse a folder that has files in it, before any data is read."""
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} must be a new or empty folder, got one with files. `pydaub resume` continues a run.")


def _absolute(item: str) -> str:
    return str(Path(item.strip()).absolute()) if Path(item.strip()).is_file() else item


def new_path(data: str) -> Path:
    """Return the path of a new folder for a run on this data."""
    stem = re.sub(r"[^\w.-]+", "-", Path(data).name).split(".")[0].strip("-") or "run"
    path = base = Path("pydaub-runs") / f"{stem}-{datetime.now():%Y%m%d-%H%M%S}"  # noqa: DTZ005  # local time, for people
    count = 1
    while path.exists():
        count += 1
        path = base.with_name(f"{base.name}-{count}")
    return path


def _check_types(request: Request) -> None:
    for name, kind in get_type_hints(Request).items():
        value, plain = getattr(request, name), get_origin(kind) or kind
        if kind is not Any and not isinstance(value, kind if plain is UnionType else plain):
            raise TypeError(f"{name} as {value!r}")
