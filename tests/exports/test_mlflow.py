"""Against a real MLflow server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest

from cli.commands import Finished, call
from cli.conftest import finished  # noqa: F401  # a fixture
from pydaub import DaubSearch, Measurement
from pydaub.runs.folder import RunFolder

PATIENCE = 300  # seconds


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a new database."""
    place = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
               "--backend-store-uri", f"sqlite:///{place}/db", "--artifacts-destination", str(place)]  # fmt: skip
    with (place / "log").open("w") as log:
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=place, env=environment)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None, (place / "log").read_text()
            assert time.monotonic() < deadline, (place / "log").read_text()
            try:
                with urlopen(f"{address}/health"):  # noqa: S310  # it is our own
                    break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def mlflow(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """MLflow in this process, at home on the server."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    module = pytest.importorskip("mlflow")
    module.set_tracking_uri(server)
    return module


def runs_below(mlflow: Any, parent: str) -> dict[str, Any]:
    experiment = mlflow.get_run(parent).info.experiment_id
    found = mlflow.MlflowClient().search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'")
    return {run.info.run_name: run for run in found}


def a_run_becomes_a_run_with_a_child_for_each_learner(mlflow: Any, server: str, given: Finished) -> None:
    done = call("export", given.folder, "--to", "mlflow", "--tracking-uri", server)
    assert done.code == 0, done.err
    own = done.out.strip()
    account, client = RunFolder(given.folder).account(), mlflow.MlflowClient()
    run = mlflow.get_run(own)
    assert run.info.status == "FINISHED"
    assert run.data.metrics["valid_score"] == account.result.valid_score
    assert run.data.metrics["rows"] == account.result.rows
    assert run.data.params["strategy"] == "frugal"
    assert run.data.params["data"] == str(given.data)
    assert run.data.params["version scikit-learn"] == account.versions["scikit-learn"]
    assert "Certificate" in run.data.tags["mlflow.note.content"]
    assert {each.path for each in client.list_artifacts(own)} >= {"journal.jsonl", "report.html"}
    children = runs_below(mlflow, own)
    assert {name: each.data.tags["pydaub.status"] for name, each in children.items()} == {
        name: status.word for name, status in account.statuses().items()
    }
    for name, child in children.items():
        points = {point.step: point.value for point in client.get_metric_history(child.info.run_id, "valid_score")}
        assert points == {
            each.size: outcome.valid_score
            for each, outcome in account.outcomes.items()
            if each.learner == name and isinstance(outcome, Measurement)
        }
        assert child.data.metrics["memory_mb"] > 0
        assert child.data.params["description"] == account.descriptions[name]


def the_model_predicts_as_pydaub_does(mlflow: Any, server: str, tmp_path: Path) -> None:
    """Texts, missing values, dates, numbers as categories, and an ensemble."""
    rng = np.random.default_rng(0)
    count = 400
    frame = pd.DataFrame({
        "age": rng.integers(18, 80, count), "city": rng.choice(["Rome", "Oslo", "Köln"], count),
        "since": rng.choice(["2024-01-03", "2025-02-07"], count), "member": rng.choice(["yes", "no"], count),
        "zip": rng.choice([10115, 20095], count), "note": [f"some words of person {i}" for i in range(count)],
    })  # fmt: skip
    noise = rng.random(count) < 0.1
    frame["label"] = np.where((frame["age"] > 45) ^ (frame["city"] == "Rome") ^ noise, "good", "bad")
    frame.loc[::9, "city"] = None
    frame.to_csv(tmp_path / "rows.csv", index=False)
    learners = "tree,logistic,knn-5,naive-bayes-gaussian"
    run = call("run", tmp_path / "rows.csv", "--target", "label", "--kind", "zip=categorical", "--learners", learners,
               "--strategy", "full", "--ensemble", "--out", tmp_path / "run", "--json")  # fmt: skip
    assert run.json["ensemble"] is not None
    own = call("export", tmp_path / "run", "--to", "mlflow", "--tracking-uri", server).out.strip()
    new = frame.drop(columns="label")
    new.loc[3, "age"] = np.nan
    new.to_csv(tmp_path / "new.csv", index=False)
    call("predict", tmp_path / "run", tmp_path / "new.csv", "--proba", "--out", tmp_path / "expected.csv")
    expected = pd.read_csv(tmp_path / "expected.csv")
    model = mlflow.pyfunc.load_model(f"runs:/{own}/model")
    assert model.predict(new).tolist() == expected["prediction"].tolist()
    given = model.predict(new, params={"proba": True})
    pd.testing.assert_frame_equal(given.astype(object), expected.astype(object), check_dtype=False)
    assert [column.name for column in model.metadata.signature.inputs.inputs] == [*new.columns]
    assert set(model.predict(model.input_example)) <= {"good", "bad"}
    needed = Path(mlflow.pyfunc.get_model_dependencies(f"runs:/{own}/model")).read_text()
    assert "pydaub==" in needed
    assert f"scikit-learn=={RunFolder(tmp_path / 'run').account().versions['scikit-learn']}" in needed
    assert "catboost" not in needed


def a_killed_run_is_exported_as_such_and_only_once(
    mlflow: Any,
    server: str,
    given: Finished,
    tmp_path: Path,
) -> None:
    for name in ("run.json", "schema.json", "journal.jsonl"):
        (tmp_path / name).write_bytes((given.folder / name).read_bytes())
    lines = (tmp_path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[:12]))
    export = ("export", tmp_path, "--to", "mlflow", "--tracking-uri", server, "--experiment", "killed")
    own = call(*export).out.strip()
    run = mlflow.get_run(own)
    assert run.info.status == "KILLED"
    assert "KILLED" in {child.info.status for child in runs_below(mlflow, own).values()}
    again = call(*export)
    assert again.code == 2
    assert f"exported before, as {tmp_path.name} ({own}). `--again` replaces it." in again.err
    replaced = call(*export, "--again").out.strip()
    alive = {each.info.run_id for each in mlflow.MlflowClient().search_runs([run.info.experiment_id], "")}
    assert alive == {replaced, *(child.info.run_id for child in runs_below(mlflow, replaced).values())}


def autologging_logs_the_search_and_no_inner_training(mlflow: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, "up", "down")
    experiment = mlflow.set_experiment("autolog").experiment_id
    client = mlflow.MlflowClient()
    mlflow.sklearn.autolog()
    try:
        with mlflow.start_run() as above:
            search = DaubSearch("tree,ridge", random_state=0, engine="serial").fit(X, y)
    finally:
        mlflow.sklearn.autolog(disable=True)
    (own,) = runs_below(mlflow, above.info.run_id).values()
    children = runs_below(mlflow, own.info.run_id)
    assert set(children) == {"tree", "ridge"}
    assert len(client.search_runs([experiment], "")) == 2 + len(children)
    model = mlflow.pyfunc.load_model(f"runs:/{own.info.run_id}/model")
    assert model.predict(X).tolist() == search.predict(X).tolist()
    DaubSearch("tree,ridge", random_state=0, engine="serial").fit(X, y)
    assert len(client.search_runs([experiment], "")) == 2 + len(children), "not without autologging"


@pytest.mark.slow("versions")
@pytest.mark.filterwarnings("ignore")
def test_a_real_server(mlflow: Any, server: str, finished: Finished, tmp_path: Path) -> None:  # noqa: F811
    """In one test, so that one worker starts one server."""
    a_run_becomes_a_run_with_a_child_for_each_learner(mlflow, server, finished)
    the_model_predicts_as_pydaub_does(mlflow, server, tmp_path)
    (tmp_path / "killed").mkdir()
    a_killed_run_is_exported_as_such_and_only_once(mlflow, server, finished, tmp_path / "killed")
    autologging_logs_the_search_and_no_inner_training(mlflow)


def test_what_cannot_be_done_is_said_in_one_line(finished: Finished, tmp_path: Path) -> None:  # noqa: F811
    for options, message in (
        (("curves", "--again"), "`--again` must go with `--to mlflow`, got 'curves'."),
        (("mlflow", "--out", tmp_path / "x"), "`--out` must go with `--to curves`, got 'mlflow'."),
        (("mlflow", "--experiment", ""), "must not be empty"),
    ):
        done = call("export", finished.folder, "--to", *options)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert message in done.err


@pytest.mark.slow("processes")
def test_an_address_where_nobody_answers_is_an_error_at_once(finished: Finished) -> None:  # noqa: F811
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        done = call("export", finished.folder, "--to", "mlflow", "--tracking-uri", address)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"MLflow at {address} could not take the run" in done.err
