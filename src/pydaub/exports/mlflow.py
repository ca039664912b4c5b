"""A run in MLflow: one run for all of it, a child for each learner, and the selected learner as a model.

The only module that imports MLflow. It is also what loads such a model (`_load_pyfunc`): the model is the learner as it
was saved, so nothing is pickled that was not before.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import shutil
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from scipy import sparse

from pydaub.dashboard.report import Report
from pydaub.data import Prepared, Schema, new_rows
from pydaub.data.checksums import opened
from pydaub.errors import InputError, PydaubError, one_line
from pydaub.records import Measurement
from pydaub.runs import saving
from pydaub.runs.certificate import certificate_of
from pydaub.runs.folder import SCHEMA
from pydaub.runs.notes import notes
from pydaub.runs.plan import PACKAGES
from pydaub.runs.predicting import predicted
from pydaub.views.verdict import verdict
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mlflow import MlflowClient
    from mlflow.models import ModelSignature

    from pydaub.runs.account import Account, Status
    from pydaub.runs.folder import RunFolder

EXPERIMENT: Final = "pydaub"
TAG: Final = "pydaub.run"  # of the exported run, to find it again
LEARNED: Final = "model"  # the name of the model
EXAMPLES: Final = 5  # rows
# Otherwise MLflow prints two lines for each learner.
SILENT: Final = {"MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}
THREADS: Final = 4  # that send learners at the same time: a server takes about 50 ms for a request
PING: Final = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
METRICS, PARAMS = 1000, 100  # that MLflow takes in one request
HIDDEN: Final = {"learners", "sizes", "definitions", "costs", "growths", "families", "promises", "scores"}  # settings
STATUS: Final = {"running": "RUNNING", "paused": "RUNNING", "failed": "FAILED", "killed": "KILLED"}
OPEN: Final = {"training", "next", "waiting"}  # statuses of learners that are not done
# Modules whose types are in a saved learner that needs a package.
MODULES: Final = {"scikit-learn": "sklearn", "xgboost-cpu": "xgboost", "jpype1": "pydaub.learners.weka"}


@dataclass(frozen=True)
class Model:
    """A learner that was saved in a folder, and rows as it gets them, with their targets, as examples."""

    folder: Path
    rows: Any = None
    targets: Any = None


def export_run(
    folder: RunFolder, *, tracking_uri: str | None = None, experiment: str | None = None, again: bool = False
) -> str:
    """Export the run in a folder to MLflow, and return the id of the MLflow run.

    Parameters
    ----------
    folder
        The folder of a run that has ended, is going on or was killed.
    tracking_uri, experiment
        Where to; by default as MLflow's environment variables say, and the experiment "pydaub".
    again
        Whether an earlier export of the same run is replaced. Otherwise it is an error.
    """
    mlflow = _mlflow()
    logging.getLogger("mlflow").setLevel(logging.ERROR)  # it warns of what is meant to be so
    account, request = folder.account(), folder.request
    asked = {name: value for name, value in vars(request).items() if value not in (None, (), {}, "")}
    schema = folder.schema()
    facts: dict[str, Any] = {"data": request.data, "target": schema.target, "task": schema.task}
    facts |= {"columns": schema.features, "classes": folder.classes()}
    report = Report(account, folder.path.resolve().name, {"Request": asked}, notes(folder.path).strip())
    with _errors(tracking_uri):
        if tracking_uri is not None:
            mlflow.set_tracking_uri(tracking_uri)
        with _environment(PING):  # not for minutes, as MLflow does by default
            mlflow.MlflowClient().search_experiments(max_results=1)
        if experiment or not os.environ.get("MLFLOW_EXPERIMENT_ID"):
            name = experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
            place = mlflow.set_experiment(name).experiment_id
        else:
            place = os.environ["MLFLOW_EXPERIMENT_ID"]
        _refuse_or_replace(mlflow.MlflowClient(), place, run_id(account), again=again)
        return _logged(account, report, facts, _model_in(folder, account), {"journal": folder.journal})


def log_search(search: Any, X: Any = None, y: Any = None, *, model: bool = True) -> str:  # of any type
    """Log a fitted `DaubSearch` to MLflow's current experiment, below the active run if there is one.

    Parameters
    ----------
    search
        The search, fitted.
    X, y
        Rows and targets, the first of which are the example and make the signature of the model.
    model
        Whether the selected learner is logged too.

    Returns
    -------
    The id of the MLflow run.
    """
    _mlflow()
    if not hasattr(search, "report_"):
        raise InputError(f"`search` must be a DaubSearch that was fitted, got {search!r}.")
    rows, targets = (None if each is None else each[:EXAMPLES] for each in (X, y))
    saved: Model | None = None
    with TemporaryDirectory(prefix="pydaub-") as place, _errors(None):
        if model:
            try:
                saving.save(search.best_estimator_, Path(place), rows)
                saved = Model(Path(place), rows, targets)
            except PydaubError as error:
                warnings.warn(f"The learner is not logged to MLflow: {error}", stacklevel=2)
        facts = {"columns": getattr(search, "n_features_in_", None), "classes": len(getattr(search, "classes_", ()))}
        return _logged(search.report_.account, search.report_, facts, saved, {})


def autologs() -> bool:
    """Return whether `mlflow.autolog()` or `mlflow.sklearn.autolog()` is in force. MLflow is not imported for this."""
    utils = sys.modules.get("mlflow.utils.autologging_utils")
    return utils is not None and not utils.autologging_is_disabled("sklearn")


@contextmanager
def without_autologging() -> Iterator[None]:
    """Keep MLflow from logging what is fitted meanwhile: every training of every learner would be a run."""
    utils = sys.modules.get("mlflow.utils.autologging_utils")
    with nullcontext() if utils is None else utils.disable_autologging():
        yield


def autologged(search: Any, X: Any, y: Any) -> None:  # as above
    """Log a search because MLflow's autologging is on. Trouble with that is a warning."""
    config = sys.modules["mlflow.utils.autologging_utils"].get_autologging_config
    try:
        log_search(search, X, y, model=bool(config("sklearn", "log_models", True)))  # noqa: FBT003  # the default
    except PydaubError as error:
        warnings.warn(f"The search is not logged to MLflow: {error}", stacklevel=2)


def run_id(account: Account) -> str:
    """Return a digest that tells runs apart, also those with the same settings: measured times differ."""
    first = [(step.allocation, step.outcome) for step in account.steps[:1]]
    return hashlib.blake2b(repr((account.settings, account.versions, first)).encode(), digest_size=16).hexdigest()


def _mlflow() -> Any:  # the module
    if find_spec("mlflow") is None:
        raise InputError("The export to MLflow needs mlflow. Install it with `pip install 'pydaub[mlflow]'`.")
    import mlflow  # noqa: PLC0415  # slow to import, and an extra

    return mlflow


@contextmanager
def _errors(uri: str | None) -> Iterator[None]:
    """Turn what MLflow raises into an error of one line."""
    try:
        yield
    except PydaubError:
        raise
    except Exception as error:  # of MLflow, of the web client or of a database
        where = uri or os.environ.get("MLFLOW_TRACKING_URI") or "its default place"
        cause = error
        while cause.__cause__ is not None or cause.__context__ is not None:  # the first has the reason
            cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
        why = one_line(cause if isinstance(cause, OSError) else error)
        raise InputError(f"MLflow at {where} could not take the run: {why.rstrip('.')}. Check the address.") from error


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables that a person has not set."""
    own = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            os.environ.pop(name, None)


def _refuse_or_replace(client: MlflowClient, experiment: str, own: str, *, again: bool) -> None:
    """Refuse a run that was exported before, or move the earlier export with its children to MLflow's trash."""
    earlier = client.search_runs([experiment], f"tags.`{TAG}` = '{own}'")
    if earlier and not again:
        raise InputError(
            f"The run must be new to MLflow, got one that was exported before, as {earlier[0].info.run_name}"
            f" ({earlier[0].info.run_id}). `--again` replaces it."
        )
    for run in earlier:
        children = f"tags.`mlflow.parentRunId` = '{run.info.run_id}'"
        while found := client.search_runs([experiment], children):
            for child in found:
                client.delete_run(child.info.run_id)
        client.delete_run(run.info.run_id)


def _logged(
    account: Account, report: Report, facts: Mapping[str, Any], model: Model | None, files: Mapping[str, Path]
) -> str:
    mlflow = _mlflow()
    client, state = mlflow.MlflowClient(), account.state
    run = mlflow.start_run(nested=mlflow.active_run() is not None, run_name=report.title)
    own, status = run.info.run_id, "FAILED"
    try:
        with without_autologging(), _environment(SILENT):
            _log(client, own, _params(account, facts), _metrics(account), {"mlflow.note.content": _note(account)})
            for file in files.values():
                client.log_artifact(own, str(file))
            client.log_text(own, report.html, "report.html")
            if model is not None:
                _log_model(account, model)
            _log_learners(client, run.info.experiment_id, own, account)
            # Last, so that an export that broke off does not count as one.
            _log(client, own, {}, [], {TAG: run_id(account), "pydaub.state": state})
        status = STATUS.get(state, "FINISHED")
    finally:
        mlflow.end_run(status)
    return str(own)


def _params(account: Account, facts: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: value for name, value in account.settings.items() if name not in HIDDEN and value is not None}
    costs = account.settings.get("costs")
    return {
        **({"costs": costs if isinstance(costs, str) else "declared"} if costs else {}),
        **{"rows_digest" if name == "data" else name: value for name, value in settings.items()},
        "metric": account.scores.name,
        "sizes": ", ".join(map(str, account.settings["sizes"])),
        "learners": len(account.learners),
        "training_rows": account.full_size,
        "validation_rows": account.scores.rows,
        **facts,
        **{f"version {name}": number for name, number in account.versions.items()},
    }


def _metrics(account: Account) -> list[tuple[str, float | None, int]]:
    """Return the figures of the whole run, with the best score so far by the seconds since it began."""
    result, claim, combined = account.result, certificate_of(account), account.combined
    found: dict[str, float | None] = {
        "valid_score": result.valid_score,
        "selected_rows": result.selected_size,
        "seconds": result.seconds,
        "wall_seconds": result.wall_seconds,
        "everything_seconds": account.full_seconds(),
        "rows": result.rows,
        "allocations": len(result.steps),
        "failures": len(result.failures),
        "margin": claim.margin if claim else None,
        "corrected_score": claim.corrected if claim else None,
        "ensemble_score": combined.score if combined and combined.used else None,
        **(dict(result.measured.metrics) if result.measured else {}),
    }
    best = {int(clock): score for clock, _, score in account.improvements}  # one for each second
    return [*((name, value, 0) for name, value in found.items()), *(("best_score", best[at], at) for at in best)]


def _note(account: Account) -> str:
    claim = certificate_of(account)
    return "\n\n".join([verdict(account).line, *(claim.sentences if claim else [])])


def _log_learners(client: MlflowClient, experiment: str, parent: str, account: Account) -> None:
    """Log a child for each learner, in three requests."""
    points: dict[str, list[tuple[str, float | None, int]]] = {name: [] for name in account.learners}
    for allocation, outcome in account.outcomes.items():
        if isinstance(outcome, Measurement):
            figures = {
                "valid_score": outcome.valid_score,
                "train_score": outcome.train_score,
                "seconds": outcome.seconds,
                "fit_seconds": outcome.fitting,
                "score_seconds": outcome.scoring,
                **{"memory_mb" if name == "peak_mb" else name: value for name, value in outcome.metrics.items()},
            }
            points[allocation.learner] += [(name, value, allocation.size) for name, value in figures.items()]
    families, going = account.settings.get("families", {}), STATUS.get(account.state, "FINISHED")

    def log(name: str, status: Status) -> None:
        tags = {"mlflow.parentRunId": parent, "pydaub.status": status.word, "pydaub.why": status.why}
        params = {
            "learner": name,
            "description": account.descriptions.get(name),
            "configuration": account.drawn.get(name),
            "family": families.get(name),
        }
        totals = [("rows", float(account.rows(name)), 0), ("total_seconds", account.seconds(name), 0)]
        child = client.create_run(experiment, tags=tags, run_name=name).info.run_id
        _log(client, child, params, [*points[name], *totals], {})
        ended = "FAILED" if status.word == "failed" else going if status.word in OPEN else "FINISHED"
        if ended != "RUNNING":
            client.set_terminated(child, ended)

    statuses = account.statuses()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(log, statuses.keys(), statuses.values()))


def _log(
    client: MlflowClient,
    own: str,
    params: Mapping[str, Any],
    metrics: Sequence[tuple[str, float | None, int]],
    tags: Mapping[str, str],
) -> None:
    """Log to a run in as few requests as MLflow allows."""
    from mlflow.entities import Metric, Param, RunTag  # noqa: PLC0415  # slow to import, and an extra

    now = int(time.time() * 1000)
    figures = [
        Metric(_key(name), float(value), now, step)
        for name, value, step in metrics
        if value is not None and math.isfinite(value)
    ]
    texts = [Param(_key(name), str(value)) for name, value in params.items() if value not in (None, "")]
    labels = [RunTag(name, value) for name, value in tags.items() if value]
    while figures or texts or labels:
        room = METRICS - len(texts[:PARAMS]) - len(labels[:PARAMS])
        client.log_batch(own, figures[:room], texts[:PARAMS], labels[:PARAMS])
        figures, texts, labels = figures[room:], texts[PARAMS:], labels[PARAMS:]


def _key(name: str) -> str:
    """Return a name that MLflow accepts for a parameter or a metric."""
    return "".join(each if each.isalnum() or each in "_-. /" else "_" for each in name)[:250]


def _model_in(folder: RunFolder, account: Account) -> Model | None:
    """Return the saved learner of a run, if it has one, with some of its rows."""
    if account.state not in {"finished", "stopped"} or saving.saved_in(folder.path).path is None:
        return None
    place = folder.path / "data"
    if not place.exists():
        return Model(folder.path)
    sample = Prepared.open(place).train(EXAMPLES)
    return Model(folder.path, sample.X, sample.y)


def _log_model(account: Account, model: Model) -> None:
    import mlflow.pyfunc  # noqa: PLC0415  # slow to import, and an extra

    saved = saving.saved_in(model.folder)
    assert saved.path is not None  # noqa: S101  # the callers see to it
    with TemporaryDirectory(prefix="pydaub-") as place:
        data, inside = Path(place) / "learner", Folder(model.folder)
        data.mkdir()
        for name in (saved.path.name, saving.ABOUT, SCHEMA):
            if inside.has(name):
                with os.fdopen(inside.open(name), "rb") as file, (data / name).open("wb") as copy:
                    shutil.copyfileobj(file, copy)
        schema = _schema_in(data)
        example = _example(model.rows, schema)
        mlflow.pyfunc.log_model(
            name=LEARNED,
            loader_module=__name__,
            data_path=str(data),
            signature=_signature(example, model.targets, schema),
            input_example=example,
            pip_requirements=_requirements(account, saved.path),
            model_config={"trust": False},
        )


def _schema_in(folder: Path) -> Schema | None:
    return Schema.from_json(opened(folder / SCHEMA), ()) if Folder(folder).has(SCHEMA) else None


def _example(rows: Any, schema: Schema | None) -> Any:  # rows of any kind
    """Return rows with the names of their columns, as people have them."""
    if hasattr(rows, "to_pandas"):
        return rows.to_pandas()
    if rows is None or schema is None or isinstance(rows, pd.DataFrame) or sparse.issparse(rows):
        return rows
    names = [column.name for column in schema.used] or [f"x{place}" for place in range(schema.features)]
    return pd.DataFrame(rows, columns=names)


def _signature(example: Any, targets: Any, schema: Schema | None) -> ModelSignature | None:  # as above
    """Return the signature: columns by name, of any type, because pydaub converts them and checks them itself.

    MLflow would refuse whole numbers for a column with decimals, or a missing value for whole numbers.
    """
    from mlflow.models import ModelSignature, infer_signature  # noqa: PLC0415  # as above
    from mlflow.types.schema import AnyType, ColSpec, DataType, ParamSchema, ParamSpec  # noqa: PLC0415  # as above
    from mlflow.types.schema import Schema as Columns  # noqa: PLC0415  # as above

    if hasattr(example, "columns"):
        names = [str(name) for name in example.columns]
    elif example is None and schema is not None and schema.used:
        names = [column.name for column in schema.used]
    else:
        names = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about whole numbers without missing values
        predictions = None if targets is None else pd.Series(list(targets)).infer_objects()
        found = infer_signature(None if names else example, predictions)
    anything = AnyType()  # type: ignore[no-untyped-call]  # of MLflow
    inputs = Columns([ColSpec(anything, name) for name in names]) if names else found.inputs
    params = ParamSchema([ParamSpec("proba", DataType.boolean, default=False)])
    return None if inputs is None else ModelSignature(inputs, found.outputs, params)


def _requirements(account: Account, path: Path) -> list[str]:
    """Return the packages that the model needs, at the versions of the run."""
    found = {package: number for package, number in account.versions.items() if package in PACKAGES}
    found.pop("pydaub", None)
    if path.name == saving.SAFE:
        kinds = {kind for _, kind in saving.pairs_in(saving.zipped_schema(path))} | {"sklearn.", "numpy."}
        needed = tuple(kinds)
        found = {
            package: number
            for package, number in found.items()
            if any(kind.startswith(f"{MODULES.get(package, package)}.") for kind in needed)
        }
    return [f"pydaub=={version('pydaub')}", *(f"{package}=={number}" for package, number in found.items())]


class _Loaded:
    """A model as MLflow uses it."""

    def __init__(self, learner: Any, schema: Schema | None) -> None:  # any estimator
        self._learner, self._schema = learner, schema

    def predict(self, data: Any, params: Mapping[str, Any] | None = None) -> Any:  # rows of any kind
        """Return what `pydaub predict` does: predictions, or a frame with probabilities if `params` has `proba`."""
        rows = data if self._schema is None else new_rows(self._schema, data)
        proba = bool((params or {}).get("proba"))
        columns = predicted(self._learner, rows, proba=proba)
        return pd.DataFrame(columns) if proba else pd.Series(columns["prediction"]).to_numpy()


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> _Loaded:
    """Load a model; MLflow calls this."""
    folder, trust = Path(path), bool((model_config or {}).get("trust"))
    try:
        learner = saving.load(folder, trust=trust)
    except PydaubError as error:
        advice = "If you trust it, load it with `model_config={'trust': True}`."
        raise InputError(str(error).replace(saving.TRUST_IT, advice)) from None
    return _Loaded(learner, _schema_in(folder))
