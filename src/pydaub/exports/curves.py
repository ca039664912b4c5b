"""The learning curves of a run as a CSV file, with the columns of LCDB where LCDB has them.

Every line can be understood on its own, so files of many runs can be put into one folder or one file.
`pydaub.engines.recorded` reads them.
"""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.data.writing import write_output
from pydaub.engines.recorded import FAILURE_COLUMN, FAMILY, SCORE_TIME, SCORES, TRAIN_TIME, VALID_ROWS
from pydaub.errors import InputError
from pydaub.records import Failure, Measurement, Postponed

if TYPE_CHECKING:
    from pydaub.records import Outcome
    from pydaub.runs.account import Account
    from pydaub.runs.folder import RunFolder

COLUMNS: Final = (
    "openmlid",
    "dataset",
    "learner",
    "size_train",
    VALID_ROWS,
    "outer_seed",
    "inner_seed",
    "score_train",
    "score_valid",
    TRAIN_TIME,
    SCORE_TIME,
    "seconds",
    "memory_mb",
    FAILURE_COLUMN,
    *SCORES,
    "task",
    "columns",
    "classes",
    "data",
    FAMILY,
    "description",
    "versions",
    "machine",
)
MACHINE: Final = ("machine", "platform")  # among the versions of a run
OPENML: Final = "openml:"


def write_curves(  # noqa: PLR0913  # what is known of the data
    account: Account,
    path: str | Path,
    *,
    dataset: str,
    task: str = "",
    columns: int | None = None,
    classes: int | None = None,
    named: bool = True,
) -> Path:
    """Write every measurement and failure of a run to a CSV file, and return its path.

    Parameters
    ----------
    account
        The account of a run: `search.report_.account` of a `DaubSearch`.
    path
        The file.
    dataset
        The name of the data; `openml:` and a number for a data set of OpenML.
    task, columns, classes
        Classification or regression, and the numbers of columns and of classes.
    named
        Whether a person has named the file, so that a link is followed.
    """
    if not isinstance(dataset, str) or not dataset.strip():
        raise InputError(f"`dataset` must be the name of the data, got {dataset!r}.")
    number = dataset.removeprefix(OPENML)
    facts = {
        "openmlid": number if dataset.startswith(OPENML) and number.isdecimal() else "",
        "dataset": dataset,
        "task": task,
        "columns": columns,
        "classes": classes,
    }
    text = StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for line in _lines(account):
        writer.writerow({**facts, **line})
    write_output(Path(path), text.getvalue().encode(), named=named)
    return Path(path)


def write_curves_of(folder: RunFolder, path: Path | None = None) -> Path:
    """Write the curves of a run's folder; without a path, to `curves.csv` in it."""
    data, schema = folder.request.data, folder.schema()
    named = data if data.startswith(OPENML) else Path(data).name.partition(".")[0] or data
    return write_curves(
        folder.account(),
        path or folder.path / "curves.csv",
        dataset=named,
        task=schema.task,
        columns=schema.features,
        classes=folder.classes(),
        named=path is not None,
    )


def _lines(account: Account) -> list[dict[str, Any]]:
    """Return the lines of a run: learners in its order, each with its sizes in ascending order."""
    settings, scores, versions = account.settings, account.scores, account.versions
    families, place = settings.get("families", {}), {name: at for at, name in enumerate(account.learners)}
    shared = {
        "inner_seed": settings.get("seed", ""),
        "data": settings.get("data", ""),
        "metric": scores.name,
        "top": scores.top,
        "proportion": scores.proportion,
        "cross_validated": scores.cross_validated,
        "counting": scores.counting,
        "versions": "; ".join(f"{name} {version}" for name, version in versions.items() if name not in MACHINE),
        "machine": ", ".join(versions[name] for name in MACHINE if name in versions),
    }
    found = sorted(account.outcomes.items(), key=lambda each: (place[each[0].learner], each[0].size))
    return [
        {
            **shared,
            "learner": allocation.learner,
            "size_train": allocation.size,
            "family": families.get(allocation.learner, ""),
            "description": account.drawn.get(allocation.learner, account.descriptions.get(allocation.learner, "")),
            "seconds": outcome.seconds,
            **_outcome(outcome, scores.rows),
        }
        for allocation, outcome in found
        if not isinstance(outcome, Postponed)
    ]


def _outcome(outcome: Outcome, rows: int | None) -> dict[str, Any]:
    if isinstance(outcome, Measurement):
        return {
            "score_train": outcome.train_score,
            "score_valid": outcome.valid_score,
            VALID_ROWS: outcome.scored or rows,
            TRAIN_TIME: outcome.fitting,
            SCORE_TIME: outcome.scoring,
            "memory_mb": outcome.metrics.get("peak_mb"),
        }
    return {FAILURE_COLUMN: f"{outcome.kind}: {outcome.message}"} if isinstance(outcome, Failure) else {}
