"""The folder of a run: what was asked for, the journal, the data, the selected learner.

::

    RUN/
      run.json          what was asked for, and with which versions
      journal.jsonl     every outcome and decision (docs/journal.md)
      data/             the prepared rows
      model.skops       the selected learner (model.pkl where that cannot be)
      result.json       what came of it, as --json prints it
      schema.json       what the columns are, for new rows
      learners/ learned/ fitted/ task.pkl     what workers need; of no use once the run has ended
"""

from __future__ import annotations

import json
import platform
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import Any, Final, get_origin, get_type_hints

from pydaub.algorithm.strategies import DEFAULT
from pydaub.data import Prepared, Schema, Split, load
from pydaub.data.loading import is_prepared
from pydaub.errors import InputError
from pydaub.learners.weka.jar import jar
from pydaub.runs.journal import JOURNAL

ABOUT: Final = "run.json"
RESULT: Final = "result.json"
SCHEMA: Final = "schema.json"
PACKAGES: Final = (
    "pydaub",
    "scikit-learn",
    "numpy",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "catboost",
    "imodels",
    "jpype1",
)


@dataclass(frozen=True)
class Request:
    """What a person asked for; all of it is plain, so that it can be kept and asked again."""

    data: str
    target: str | None = None
    learners: str = "sklearn"
    strategy: str = DEFAULT
    delta: float | None = None
    first_size: int | None = None
    ratio: str = "1.5"
    scoring: str | None = None
    cv: int | None = None
    validation: str | None = None
    fraction: float = 0.3
    group: str | None = None
    time: str | None = None
    drop: tuple[str, ...] = ()
    kinds: dict[str, Any] = field(default_factory=dict)
    task: Any = None
    encoding: str | None = None
    seed: int = 0
    refit: bool = False
    reuse: bool = True
    metrics: bool = True
    weka_jar: str | None = None

    def resolved(self) -> Request:
        """Return the same with the paths of files from the root, so that it can be asked again from anywhere."""
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
    """A run's folder that exists."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / ABOUT).is_file():
            got = f"one without {ABOUT}" if path.is_dir() else "a file" if path.exists() else "nothing there"
            raise InputError(f"{path} must be the folder of a run, got {got}.")
        try:
            about = json.loads((path / ABOUT).read_text())
            known = {name.name for name in fields(Request)}
            asked = {name: value for name, value in about["request"].items() if name in known}
            self.versions = dict(about.get("versions", {}))
            self.score_rows = int(about.get("score_rows", 0))
            self.request = Request(**{**asked, "drop": tuple(asked.get("drop", ()))})
            _check_types(self.request)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path / ABOUT} must be as pydaub wrote it, got {error}.") from None

    @classmethod
    def create(cls, path: Path, request: Request, schema: Schema, score_rows: int = 0) -> RunFolder:
        """Make a new folder for a run; `score_rows` is how many rows a score is of."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            check_unused(path)
            about = {
                "request": asdict(request),
                "versions": versions(),
                "machine": platform.platform(),
                "score_rows": score_rows,
            }
            (path / SCHEMA).write_text(json.dumps(schema.to_json(), indent=1))
            (path / ABOUT).write_text(json.dumps(about, indent=1))
        except OSError as error:
            raise InputError(f"{path} must be a folder that can be written, got {error.strerror}.") from None
        return cls(path)

    @property
    def journal(self) -> Path:
        """Where the journal is."""
        return self.path / JOURNAL

    def data(self) -> Prepared:
        """Return the prepared rows, from the folder or, if it was killed before they were there, from the source."""
        return Prepared.open(self.path / "data") if (self.path / "data").exists() else self.request.load()

    def schema(self) -> Schema:
        """Return what the columns are. The classes are the learner's own business."""
        try:
            return Schema.from_json(json.loads((self.path / SCHEMA).read_text()), ())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self.path / SCHEMA} must be as pydaub wrote it, got {error}.") from None

    def result(self) -> dict[str, Any] | None:
        """Return what `finish` kept; None where there is nothing that can be read."""
        try:
            return dict(json.loads((self.path / RESULT).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def finish(self, result: dict[str, Any]) -> None:
        """Keep what came of the run."""
        (self.path / RESULT).write_text(json.dumps(result, indent=1))


def check_unused(path: Path) -> None:
    """Refuse a folder with files, before anything is read."""
    if path.is_dir() and any(path.iterdir()):
        raise InputError(
            f"{path} must be a new or empty folder, got one with files. `pydaub resume` goes on with a run."
        )


def _absolute(item: str) -> str:
    return str(Path(item.strip()).absolute()) if Path(item.strip()).is_file() else item


def new_path(data: str) -> Path:
    """Return a folder's name for a run on this data, which does not exist yet."""
    stem = re.sub(r"[^\w.-]+", "-", Path(data).name).split(".")[0].strip("-") or "run"
    path = base = Path("pydaub-runs") / f"{stem}-{datetime.now():%Y%m%d-%H%M%S}"  # noqa: DTZ005  # the person's own clock
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


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    if "jpype1" in found:
        with suppress(InputError):  # there is none
            found["weka"] = jar().version
    return found
