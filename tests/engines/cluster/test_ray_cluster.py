"""A real Ray cluster of several nodes: it gives the same results as one process, and its nodes are really killed.

A node takes seconds to start, so most tests use the same two, and the tests that change the nodes come last.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import faulty
import ray_here
from cli.commands import PATIENCE, call, check_json, numbers, sequence, started, written
from faults import MB, alive, pids, wait_until
from pydaub import (
    Allocation,
    ClusterLost,
    Daub,
    DaubSearch,
    Failure,
    InputError,
    Journal,
    Measurement,
    Outcome,
    RefusedAllocation,
    Schedule,
    run,
)
from pydaub.data import prepare
from pydaub.engines.cluster import fleet
from pydaub.engines.cluster.fleet import Fleet
from pydaub.engines.cluster.node import IDENTITY, Crate, copy_of, evaluate_there
from pydaub.engines.cluster.ray import RayEngine, connect
from pydaub.engines.processes import ProcessEngine
from pydaub.engines.registry import Where
from pydaub.engines.serial import SerialEngine
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.events import Evaluated
from pydaub.isolation.nursery import Limits
from pydaub.learners import Learner
from pydaub.runs.journal import read
from pydaub.runs.plan import Plan
from pydaub.runs.selection import select
from tables import collected

pytestmark = ray_here.needs_ray


RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(1000, 5))
DATA = prepare(X, np.where(X[:, 0] + X[:, 1] ** 2 + RANDOM.normal(size=1000) > 0.5, "yes", "no"))
FULL = DATA.full_size
SCHEDULE = Schedule.geometric(FULL, 40, 2.0)
RACERS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
    "line": LogisticRegression(),  # starts from what it learned on fewer rows
    "counts": BernoulliNB(),  # so does this one
    "near": KNeighborsClassifier(),
}


def task(estimators: dict[str, Any], **settings: Any) -> Task:
    learners = {name: Learner(name, estimator) for name, estimator in estimators.items()}
    return Task(DATA, learners, **{"metrics": False, **settings})


def steps(result: Any) -> list[Any]:
    return [(step.allocation, step.outcome.valid_score, step.bound) for step in result.steps]


def outcome_of(engine: RayEngine, learner: str, size: int = FULL) -> Outcome:
    engine.submit(Allocation(learner, size))
    allocation, outcome = collected(engine)
    assert allocation == Allocation(learner, size)
    return outcome


@pytest.fixture(scope="module")
def serial() -> Any:
    """The result of one process."""
    return select(Plan(task(RACERS), Daub(RACERS, SCHEDULE)), Where())


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the run's folder from the nodes, as if they were other machines."""
    real = Fleet._packed  # noqa: SLF001  # it writes the file by which nodes recognise the folder

    def packed(fleet: Fleet) -> Crate:
        crate = real(fleet)
        (Path(crate.folder) / IDENTITY).write_text("another")
        return crate

    monkeypatch.setattr(Fleet, "_packed", packed)


@pytest.mark.usefixtures("unseen")
def test_nodes_that_do_not_see_the_folder_fetch_the_rows_once_and_send_back_what_was_learned(
    serial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray_here.cluster(2)
    made: list[Path] = []
    real = Fleet._ended  # noqa: SLF001  # the copy exists only during the run

    def ended(fleet: Fleet, ref: Any) -> Any:
        answer = real(fleet, ref)
        if answer is not None:
            made.extend(Path(copy_of(fleet._packed().identity)).glob("whole"))  # noqa: SLF001
        return answer

    monkeypatch.setattr(Fleet, "_ended", ended)
    found = select(Plan(task(RACERS), Daub(RACERS, SCHEDULE)), Where(folder=tmp_path / "run", engine="ray"))
    assert steps(found.result) == steps(serial.result)
    assert list(found.fitted.predict(X[:50])) == list(serial.fitted.predict(X[:50]))
    assert len(made) == len([each for each in read(tmp_path / "run" / "journal.jsonl") if isinstance(each, Evaluated)])
    assert len(set(made)) == 1, "both nodes are on this machine and share the copy"
    assert not made[0].parent.exists(), "it is deleted at the end of the run"
    assert list((tmp_path / "run" / "learned").glob("*.pkl"))


def test_limits_hold_and_whatever_a_learner_does_is_its_failure(tmp_path: Path) -> None:
    ray_here.cluster(2)
    estimators = {
        "segfault": faulty.Faulty("segfault"),
        "hang": faulty.Faulty("forever"),
        "fill": faulty.Faulty("fill_memory"),
        "raise": faulty.Faulty("raise_lines"),
        "good": faulty.Learner(),
    }
    engine = RayEngine(task(estimators), tmp_path, Limits(10.0, 300 * MB))
    found = {name: outcome_of(engine, name) for name in estimators}
    engine.close()
    assert isinstance(found["good"], Measurement), found["good"]
    kinds = {name: outcome.kind for name, outcome in found.items() if isinstance(outcome, Failure)}
    assert kinds == {"segfault": "crash", "hang": "timeout", "fill": "memory", "raise": "error"}


def test_cancelling_ends_what_is_running_and_so_does_closing(tmp_path: Path) -> None:
    ray_here.cluster(2)
    estimators = {name: faulty.Gated(str(tmp_path / "never"), str(tmp_path / name)) for name in ("first", "second")}
    engine = RayEngine(task(estimators), tmp_path / "run")
    for name in estimators:
        engine.submit(Allocation(name, FULL))
    wait_until(lambda: pids(tmp_path / "first") and pids(tmp_path / "second"))
    engine.cancel(Allocation("first", FULL))
    wait_until(lambda: not any(map(alive, pids(tmp_path / "first"))))
    assert all(map(alive, pids(tmp_path / "second")))
    assert engine.free == 1
    engine.close()
    wait_until(lambda: not any(map(alive, pids(tmp_path / "second"))))


def test_ray_shows_learners_and_sizes(tmp_path: Path) -> None:
    ray_here.cluster(2)
    from ray.util.state import list_tasks  # noqa: PLC0415  # the source of its dashboard

    gate = tmp_path / "gate"
    engine = RayEngine(
        task({"to be shown": faulty.Gated(str(gate), str(tmp_path / "pids"))}), tmp_path / "run", Limits(None, 400 * MB)
    )
    engine.submit(Allocation("to be shown", FULL))
    wait_until(lambda: pids(tmp_path / "pids"))
    wait_until(lambda: any(each.name == f"to be shown {FULL}" for each in list_tasks(raise_on_missing_output=False)))
    (shown,) = [
        each for each in list_tasks(detail=True, raise_on_missing_output=False) if each.name == f"to be shown {FULL}"
    ]
    assert shown.state == "RUNNING"
    assert shown.required_resources == {"CPU": 1.0, "memory": 400 * MB}
    gate.touch()
    assert collected(engine)[0] == Allocation("to be shown", FULL)
    engine.close()


@pytest.mark.slow("cluster")
def test_the_estimator_runs_there_too() -> None:
    ray_here.cluster(2)
    search = DaubSearch(list(RACERS.items()), strategy="daub", first_size=40, random_state=0, engine="ray", refit=False)
    target = np.where(X[:, 0] > 0, "yes", "no")
    search.fit(X, target)
    alone = DaubSearch(list(RACERS.items()), strategy="daub", first_size=40, random_state=0, refit=False).fit(X, target)
    assert steps(search.result_) == steps(alone.result_)
    assert search.best_score_ == alone.best_score_


def test_only_the_address_of_the_connected_cluster_is_accepted(tmp_path: Path) -> None:
    ray_here.cluster(2)
    here = ray_here.address()
    for same in (None, "auto", here, here.replace("127.0.0.1", "localhost")):
        assert not connect(same), "this process is connected to it already"
    for other in ("127.0.0.1:1", "192.0.2.1:6379", "no.such.host.invalid:6379", "local"):
        message = f"`address` must be that of the cluster to which this process is connected, {here}, got '{other}'"
        with pytest.raises(InputError, match=message):
            connect(other)
    with pytest.raises(InputError, match="`address` must be that of the cluster to which this process is connected"):
        DaubSearch(list(RACERS.items()), engine="ray", address="192.0.2.1:6379").fit(X, X[:, 0] > 0)
    with pytest.raises(InputError, match=r"`learner_memory` must fit on a node of the cluster, .* got 1,000,000\.0 GB"):
        RayEngine(task(RACERS), tmp_path, Limits(None, 10**15))


@pytest.mark.parametrize("token", [None, pytest.param("0" * 64, marks=pytest.mark.slow("cluster"))])
def test_a_missing_or_wrong_token_is_reported(token: str | None, tmp_path: Path) -> None:
    ray_here.cluster(2)
    environment = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_TOKEN"}
    environment |= {"HOME": str(tmp_path), **({"RAY_AUTH_TOKEN": token} if token else {})}
    script = f"from pydaub.engines.cluster.ray import connect; connect({ray_here.address()!r})"
    with (tmp_path / "said").open("w") as said:  # a pipe would be kept open by Ray's processes
        assert subprocess.run([sys.executable, "-c", script], env=environment, stderr=said, check=False).returncode == 1
    last = (tmp_path / "said").read_text().splitlines()[-1]
    assert "InputError" in last
    assert "If the cluster requires a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the same value" in last


def test_a_worker_that_is_idle_keeps_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = ray_here.cluster(2)

    def impatiently(*arguments: Any, **options: Any) -> Any:  # Ray sends this function to the worker
        with mock.patch("pydaub.engines.cluster.node.IDLE_SECONDS", 1.0):
            return evaluate_there(*arguments, **options)

    monkeypatch.setattr(fleet, "evaluate_there", impatiently)
    gate = tmp_path / "gate"
    engine = RayEngine(task({"gated": faulty.Gated(str(gate), str(tmp_path / "pids"))}), tmp_path / "run")
    engine.submit(Allocation("gated", FULL))
    wait_until(lambda: pids(tmp_path / "pids"))
    (child,) = pids(tmp_path / "pids")
    worker, server = _place_of(child, nodes)[1], _parent(child)
    assert _parent(server) == worker
    gate.touch()
    assert isinstance(collected(engine)[1], Measurement)
    engine.close()
    wait_until(lambda: not alive(server))
    assert alive(worker), "the worker belongs to Ray, which may use it for other work"


def _place_of(child: int, nodes: list[Any]) -> tuple[Any, int]:
    """Return the node on which a child process runs, and the Ray worker that is its ancestor."""
    line = []
    while child > 1:
        line.append(child)
        child = _parent(child)
    for node in nodes:
        for raylet in node.all_processes["raylet"]:
            if raylet.process.pid in line:
                return node, line[line.index(raylet.process.pid) - 1]
    raise AssertionError(f"{line} belong to no node")


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.slow("cluster")
def test_an_evaluation_whose_worker_is_killed_again_and_again_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "RETRIES", 1)
    nodes = ray_here.cluster(2)
    estimators = {"doomed": faulty.Gated(str(tmp_path / "never"), str(tmp_path / "pids")), "good": faulty.Learner()}
    engine = RayEngine(task(estimators), tmp_path / "run")
    engine.submit(Allocation("doomed", FULL))
    for turn in range(2):
        while len(pids(tmp_path / "pids")) <= turn:
            assert engine.collect(0.1) is None
        os.kill(_place_of(pids(tmp_path / "pids")[turn], nodes)[1], signal.SIGKILL)
    assert collected(engine)[1] == Failure("crash", "its Ray worker was killed; it was tried 2 times", 0.0)
    wait_until(lambda: not any(map(alive, pids(tmp_path / "pids"))))
    assert isinstance(outcome_of(engine, "good"), Measurement)
    engine.close()


def test_evaluations_of_a_killed_worker_are_retried(tmp_path: Path) -> None:
    nodes = ray_here.cluster(2)
    gate = tmp_path / "gate"
    gated = {**RACERS, "gated": faulty.Gated(str(gate), str(tmp_path / "pids"), closed_from=SCHEDULE.sizes[2])}
    open_to_all = task({**gated, "gated": faulty.Learner()}, reuse=False)
    expected = run(Daub(gated, SCHEDULE), SerialEngine(lambda each: evaluate(open_to_all, each).outcome))
    journal = Journal(tmp_path / "journal.jsonl", {"of": "a run with a loss"})
    engine = RayEngine(task(gated, reuse=False), tmp_path / "run")
    seen: list[Any] = []

    def watch(event: Any, _account: Any) -> None:
        seen.append(event)
        waiting = pids(tmp_path / "pids")
        if waiting and not gate.exists():  # it is training
            os.kill(_place_of(waiting[0], nodes)[1], signal.SIGKILL)
            wait_until(lambda: not any(map(alive, waiting)))
            gate.touch()

    with journal:
        found = run(Daub(gated, SCHEDULE), engine, journal, watch=watch)
    assert steps(found) == steps(expected)
    evaluated = [event.allocation for event in journal.events if isinstance(event, Evaluated)]
    assert len(evaluated) == len(set(evaluated))
    assert not found.failures
    assert gate.exists(), "something was killed"


def test_each_gpu_of_the_cluster_is_used_by_one_learner_at_a_time_and_without_one_the_cpu_is(tmp_path: Path) -> None:
    ray_here.cluster(1)
    used = tmp_path / "used"
    used.mkdir()
    estimators = {**{f"gpu{place}": faulty.OnGpu(str(used)) for place in range(5)}, "cpu": faulty.Learner()}
    node = ray_here.add(num_cpus=3, num_gpus=2, memory=8 * ray_here.MEMORY)
    engine = RayEngine(task(estimators), tmp_path / "run", Limits(None, ray_here.MEMORY))
    try:
        for name in ("gpu0", "gpu1", "gpu2"):
            engine.submit(Allocation(name, FULL))
        with pytest.raises(RefusedAllocation, match="every GPU is in use"):
            engine.submit(Allocation("gpu3", FULL), guess=True)
        engine.submit(Allocation("cpu", FULL))
        found = dict(collected(engine) for _ in range(4))
        assert all(isinstance(outcome, Measurement) for outcome in found.values()), found
        engine.submit(Allocation("gpu3", FULL))
    finally:
        ray_here.remove(node)
    assert isinstance(collected(engine)[1], Measurement)
    assert isinstance(outcome_of(engine, "gpu4"), Measurement), "no node has a GPU any more"
    engine.close()


LEARNERS = """
import faulty
from sklearn.naive_bayes import GaussianNB

learners = {{"gated": faulty.Gated({gate!r}, {pids!r}, closed_from=100), "bayes": GaussianNB()}}
"""


def test_evaluations_of_a_killed_node_are_retried_and_stdout_holds_the_result_alone(tmp_path: Path) -> None:
    nodes = ray_here.cluster(2)
    data, gate, waiting = written(numbers(300), tmp_path / "data.csv"), tmp_path / "gate", tmp_path / "pids"
    mine = tmp_path / "mine.py"
    mine.write_text(LEARNERS.format(gate=str(gate), pids=str(waiting)))
    options = ("--target", "label", "--learners", mine, "--strategy", "daub", "--first-size", 40, "--json")
    gate.touch()
    expected = sequence(call("run", data, *options, "--jobs", 1, "--out", tmp_path / "here").json)
    gate.unlink()
    there = ("--engine", "ray", "--address", ray_here.address(), "--out", tmp_path / "there")
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:  # Ray's processes keep pipes open
        theirs = {**os.environ, "PYTHONPATH": str(Path(faulty.__file__).parent)}
        with started("run", data, *options, *there, stdout=out, stderr=err, env=theirs) as process:
            wait_until(lambda: pids(waiting) or process.poll() is not None)
            assert process.poll() is None, (tmp_path / "err").read_text()
            ray_here.kill(_place_of(pids(waiting)[0], nodes)[0])
            wait_until(lambda: not alive(pids(waiting)[0]))
            gate.touch()
            code = process.wait(PATIENCE)
    assert code == 0, (tmp_path / "err").read_text()
    told = (tmp_path / "out").read_text()
    check_json(("run", "--json"), told)
    assert sequence(json.loads(told)) == expected
    assert len(nodes) == 1, "a node was killed"


@pytest.mark.slow("cluster")
def test_a_node_that_joins_is_used_at_once(tmp_path: Path) -> None:
    ray_here.cluster(1)
    gate = tmp_path / "gate"
    estimators = {"gated": faulty.Gated(str(gate), str(tmp_path / "pids")), "good": faulty.Learner()}
    engine = RayEngine(task(estimators), tmp_path / "run")
    engine.submit(Allocation("gated", FULL))
    assert engine.free == 0
    wait_until(lambda: pids(tmp_path / "pids"))
    ray_here.cluster(2)
    assert engine.collect(60.0) is None, "there is room for more"
    assert engine.free == 1
    engine.submit(Allocation("good", FULL))
    assert collected(engine)[0] == Allocation("good", FULL)
    gate.touch()
    assert collected(engine)[0] == Allocation("gated", FULL)
    engine.close()


@pytest.mark.parametrize("nodes", [2, pytest.param(1, marks=pytest.mark.slow("cluster"))])
def test_the_answer_is_that_of_one_process_however_many_nodes_there_are(
    serial: Any, nodes: int, tmp_path: Path
) -> None:
    ray_here.cluster(nodes)
    found = select(Plan(task(RACERS), Daub(RACERS, SCHEDULE)), Where(folder=tmp_path / "run", engine="ray"))
    assert steps(found.result) == steps(serial.result)
    assert found.result.selected == serial.result.selected
    rows = DATA.train(50).X
    assert list(found.fitted.predict(rows)) == list(serial.fitted.predict(rows))
    assert not (tmp_path / "run" / IDENTITY).exists()


@pytest.mark.slow("cluster")
def test_rows_are_copied_only_by_a_node_that_does_not_see_them(tmp_path: Path) -> None:
    ray_here.cluster(1)
    gate = tmp_path / "gate"
    estimators = {"good": faulty.Learner(), "gated": faulty.Gated(str(gate), str(tmp_path / "pids"))}
    engine = RayEngine(task(estimators), tmp_path / "run")
    assert isinstance(outcome_of(engine, "good"), Measurement)
    identity = tmp_path / "run" / IDENTITY
    copy = copy_of(identity.read_text())
    assert not copy.exists(), "the only node sees the folder"
    identity.write_text("another")  # as for a node on another machine
    engine.submit(Allocation("gated", FULL))
    wait_until(lambda: pids(tmp_path / "pids"))
    ray_here.cluster(2)
    wait_until(lambda: engine.free)
    for size in (100, 200):
        assert isinstance(outcome_of(engine, "good", size), Measurement)
    for path in (tmp_path / "run" / "data").rglob("*"):
        assert (copy / path.relative_to(tmp_path / "run")).read_bytes() == path.read_bytes()
    gate.touch()
    assert collected(engine)[0] == Allocation("gated", FULL)
    engine.close()


@pytest.mark.slow("cluster")
def test_an_evaluation_that_ray_kills_for_lack_of_memory_is_not_retried_forever(tmp_path: Path) -> None:
    ray_here.cluster(2)
    node = ray_here.add(
        memory=3 * ray_here.MEMORY,
        env_vars={"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "100"},
    )
    estimators = {"gated": faulty.Gated(str(tmp_path / "never"), str(tmp_path / "pids"))}
    only_there = Limits(None, 2 * ray_here.MEMORY)
    engine = RayEngine(task(estimators), tmp_path / "run", only_there)
    try:
        outcome = outcome_of(engine, "gated")
    finally:
        engine.close()
        ray_here.remove(node)
    words = "Ray killed it because its node ran out of memory; it was tried 4 times"
    assert outcome == Failure("memory", words, 0.0)


@pytest.mark.slow("cluster")
def test_a_head_that_is_lost_ends_the_run_which_can_be_resumed(
    serial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pydaub.engines.cluster.fleet.SILENCE", 2.0)
    ray_here.cluster(2)
    journal = tmp_path / "journal.jsonl"
    measured = 0

    def watch(event: Any, _account: Any) -> None:
        nonlocal measured
        measured += isinstance(event, Evaluated)
        if measured == 4:
            ray_here.lose_the_head()
            while engine.free >= 0:
                time.sleep(0.1)

    engine = RayEngine(task(RACERS), tmp_path / "run")
    with (
        Journal(journal, {}) as first,
        pytest.raises(ClusterLost, match=r"did not answer for 2 s: .*\. The measurements are kept"),
    ):
        run(Daub(RACERS, SCHEDULE), engine, first, watch=watch)
    engine.close()
    ray_here.end()
    with Journal(journal, {}) as second:
        found = run(Daub(RACERS, SCHEDULE), ProcessEngine(task(RACERS), 1, tmp_path / "run"), second)
    assert steps(found) == steps(serial.result)
    evaluated = [event.allocation for event in read(journal) if isinstance(event, Evaluated)]
    assert len(evaluated) == len(set(evaluated)), "nothing was measured twice"


@pytest.fixture
def own(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Return a data file, and an environment without the settings of the cluster of these tests."""
    data = written(numbers(), tmp_path / "data.csv")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return data, environment


LEAVES = """
import sys
from pydaub.cli import main
try:
    main(sys.argv[1:])
finally:
    import ray
    sys.stderr.write("still connected" if ray.is_initialized() else "disconnected")
"""


@pytest.mark.slow("cluster")
def test_a_local_cluster_listens_on_loopback_only_is_left_in_the_end_and_gives_the_same_result(
    own: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    data, environment = own
    command = [
        sys.executable,
        "-m",
        "pydaub",
        "run",
        str(data),
        "--target",
        "label",
        "--learners",
        "tree,logistic",
        "--strategy",
        "full",
    ]
    before = _listening()
    process = subprocess.Popen(
        [sys.executable, "-c", LEAVES, *command[3:], "--engine", "ray", "--address", "local", "--jobs", "2", "--json",
         "--out", str(tmp_path / "ray")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    addresses: set[str] = set()
    while process.poll() is None:
        addresses |= _listening() - before
        time.sleep(0.2)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "on loopback only" in err
    assert err.endswith("disconnected"), "or Ray could still print to stdout"
    assert addresses, "it listened somewhere"
    assert {each.rpartition(":")[0] for each in addresses} <= {"0100007F", "0000000000000000FFFF00000100007F"}
    processes = call(*command[3:], "--jobs", 1, "--json", "--out", tmp_path / "here").json
    ray = json.loads(out)
    assert ray["selected"] == processes["selected"]
    assert ray["valid_score"] == processes["valid_score"]
    assert [(each["learner"], each["size"], each["valid_score"]) for each in ray["allocations"]] == [
        (each["learner"], each["size"], each["valid_score"]) for each in processes["allocations"]
    ]


def _listening() -> set[str]:
    """Return the local addresses that processes listen on, in the kernel's notation."""
    found = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(path).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                found.add(fields[1])
    return found
