"""On a real Ray cluster of several nodes: the answer of one process, limits that hold, nodes that are really killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import faulty
import ray_here
from cli.commands import numbers, written
from faults import MB, alive, pids, wait_until
from pydaub import Allocation, Daub, DaubSearch, Failure, InputError, Journal, Measurement, Outcome, Schedule, run
from pydaub.data import prepare
from pydaub.engines.ray import Fleet, RayEngine, _check_reachable, connect
from pydaub.engines.serial import SerialEngine
from pydaub.evaluation import Task, evaluate
from pydaub.journal import read
from pydaub.learners import Learner
from pydaub.nursery import Limits
from pydaub.records import Evaluated
from pydaub.selection import Where, select
from pydaub.station import IDENTITY, PREFIX, Crate, copy_of, sweep
from tables import collected

pytestmark = ray_here.needs_ray

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(1000, 5))
DATA = prepare(X, np.where(X[:, 0] + X[:, 1] ** 2 + RANDOM.normal(size=1000) > 0.5, "yes", "no"))
FULL = DATA.full_size
SCHEDULE = Schedule.geometric(FULL, 40, 1.5)
RACERS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(10, random_state=0),
    "line": LogisticRegression(),  # goes on from what it learned on fewer rows
    "counts": BernoulliNB(),  # so does it
    "bayes": GaussianNB(),
    "near": KNeighborsClassifier(),
}


def task(estimators: dict[str, Any], **settings: Any) -> Task:
    learners = {name: Learner(name, estimator) for name, estimator in estimators.items()}
    return Task(DATA, learners, **{"metrics": False, **settings})


def told(result: Any) -> list[Any]:
    return [(step.allocation, step.outcome.valid_score, step.bound) for step in result.steps]


def outcome_of(engine: RayEngine, learner: str, size: int = FULL) -> Outcome:
    engine.submit(Allocation(learner, size))
    allocation, outcome = collected(engine)
    assert allocation == Allocation(learner, size)
    return outcome


@pytest.fixture(scope="module")
def serial() -> Any:
    """What one process comes to."""
    return select(task(RACERS), Daub(RACERS, SCHEDULE), Where())


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that do not see the run's folder, as on other machines."""
    real = Fleet._packed  # noqa: SLF001  # where the folder gets the sign by which it is known

    def packed(fleet: Fleet) -> Crate:
        crate = real(fleet)
        (Path(crate.folder) / IDENTITY).write_text("another")
        return crate

    monkeypatch.setattr(Fleet, "_packed", packed)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_the_answer_is_that_of_one_process_however_many_nodes_there_are(
    serial: Any, nodes: int, tmp_path: Path
) -> None:
    ray_here.cluster(nodes)
    found = select(task(RACERS), Daub(RACERS, SCHEDULE), Where(folder=tmp_path / "run", engine="ray"))
    assert told(found.result) == told(serial.result)
    assert found.result.selected == serial.result.selected
    rows = DATA.train(50).X
    assert list(found.fitted.predict(rows)) == list(serial.fitted.predict(rows))
    assert not (tmp_path / "run" / IDENTITY).exists()


@pytest.mark.usefixtures("unseen")
def test_nodes_that_do_not_see_the_folder_fetch_the_rows_once_and_send_back_what_was_learned(
    serial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray_here.cluster(2)
    made: list[Path] = []
    real = Fleet._ended  # noqa: SLF001  # while it runs the copy is there

    def ended(fleet: Fleet, ref: Any) -> Any:
        answer = real(fleet, ref)
        made.extend(Path(copy_of(fleet._packed().identity)).glob("whole"))  # noqa: SLF001
        return answer

    monkeypatch.setattr(Fleet, "_ended", ended)
    found = select(task(RACERS), Daub(RACERS, SCHEDULE), Where(folder=tmp_path / "run", engine="ray"))
    assert told(found.result) == told(serial.result)
    assert list(found.fitted.predict(X[:50])) == list(serial.fitted.predict(X[:50]))
    assert len(made) == len([each for each in read(tmp_path / "run" / "journal.jsonl") if isinstance(each, Evaluated)])
    assert len(set(made)) == 1, "both nodes are on this machine, and share their copy"
    assert not made[0].parent.exists(), "it is gone with the run"
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
    engine = RayEngine(task(estimators), tmp_path, Limits(3.0, 300 * MB))
    found = {name: outcome_of(engine, name) for name in estimators}
    engine.close()
    assert isinstance(found["good"], Measurement), found["good"]
    kinds = {name: outcome.kind for name, outcome in found.items() if isinstance(outcome, Failure)}
    assert kinds == {"segfault": "crash", "hang": "timeout", "fill": "memory", "raise": "error"}


def test_a_node_that_is_killed_costs_what_it_was_running_which_is_tried_again_elsewhere(tmp_path: Path) -> None:
    nodes = ray_here.cluster(2)
    gate = tmp_path / "gate"
    gated = {**RACERS, "gated": faulty.Gated(str(gate), str(tmp_path / "pids"), closed_from=SCHEDULE.sizes[2])}
    open_to_all = task({**gated, "gated": faulty.Learner()}, reuse=False)
    expected = run(Daub(gated, SCHEDULE), SerialEngine(lambda each: evaluate(open_to_all, each).outcome))
    journal = Journal(tmp_path / "journal.jsonl", {"of": "a run with a loss"})
    engine = RayEngine(task(gated, reuse=False), tmp_path / "run")
    seen: list[Any] = []

    def watch(event: Any) -> None:
        seen.append(event)
        waiting = pids(tmp_path / "pids")
        if waiting and len(nodes) == 2:  # it is running on one of the two: end that one
            place = _node_of(waiting[0], nodes)
            ray_here.kill(place)
            wait_until(lambda: not any(map(alive, waiting)))
            gate.touch()

    with journal:
        found = run(Daub(gated, SCHEDULE), engine, journal, watch=watch)
    assert told(found) == told(expected)
    evaluated = [event.allocation for event in journal.events if isinstance(event, Evaluated)]
    assert len(evaluated) == len(set(evaluated))
    assert not found.failures
    assert len(nodes) == 1


def _node_of(child: int, nodes: list[Any]) -> Any:
    """Return the node whose raylet is an ancestor of a child process, by the workers that Ray has started."""
    line = []
    while child > 1:
        line.append(child)
        child = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
    for node in nodes:
        raylets = [entry.process.pid for entry in node.all_processes["raylet"]]
        if any(pid in line for pid in raylets):
            return node
    raise AssertionError(f"{line} are of no node")


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
    ray_here.cluster(1)
    from ray.util.state import list_tasks  # noqa: PLC0415  # its dashboard's own source

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


def test_the_estimator_runs_there_too() -> None:
    ray_here.cluster(2)
    search = DaubSearch(list(RACERS.items()), first_size=40, random_state=0, engine="ray", refit=False)
    target = np.where(X[:, 0] > 0, "yes", "no")
    search.fit(X, target)
    alone = DaubSearch(list(RACERS.items()), first_size=40, random_state=0, refit=False).fit(X, target)
    assert told(search.result_) == told(alone.result_)
    assert search.best_score_ == alone.best_score_


def test_nonsense_is_refused(tmp_path: Path) -> None:
    ray_here.cluster(1)
    for address in ("ray://somewhere:10001", "", 5):
        with pytest.raises(InputError, match="`address` must be that of a cluster's head"):
            connect(address)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`address` must be that of a running Ray cluster"):
        _check_reachable("127.0.0.1:1")
    with pytest.raises(InputError, match="`engine` must be one of processes, ray, got 'slurm'"):
        Where(engine="slurm")
    with pytest.raises(InputError, match="`address` must go with the engine ray"):
        Where(2, address="local")
    for workers in (0, -1, "two"):
        with pytest.raises(InputError, match="`workers` must be"):
            RayEngine(task(RACERS), tmp_path, workers=workers)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`learner_timeout` must be"):
        RayEngine(task(RACERS), tmp_path, Limits(-1.0))


def test_other_versions_on_a_node_are_refused(tmp_path: Path) -> None:
    crate = Crate("x", str(tmp_path), {}, (), (), {"numpy": "0.1"}, lambda handle: handle)
    with pytest.raises(InputError, match=r"Every node must have numpy 0\.1, as this process has, got "):
        crate.settle()


def test_what_runs_that_were_killed_have_left_is_swept_away_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, used = tmp_path / f"{PREFIX}left", tmp_path / f"{PREFIX}used"
    left.mkdir()
    (left / "lock").touch()
    blocks = {"data/rows": [b"some ", b"rows"], "task.pkl": [b""]}
    crate = Crate("used", str(tmp_path / "nowhere"), blocks, (), (), {}, lambda handle: handle)
    assert crate.settle() == used
    assert (used / "data" / "rows").read_bytes() == b"some rows"
    assert not left.exists()
    sweep()
    assert used.exists(), "this process holds it"
    assert crate.settle() == used


@pytest.fixture
def own(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A file, and an environment that knows nothing of the cluster of these tests."""
    data = written(numbers(), tmp_path / "data.csv")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return data, environment


def test_a_ray_of_our_own_listens_on_loopback_asks_for_a_token_and_comes_to_the_same(
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
        "tree,knn-5,logistic",
    ]
    before = _listening()
    process = subprocess.Popen(
        [*command, "--engine", "ray", "--address", "local", "--jobs", "2", "--json", "--out", str(tmp_path / "ray")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    addresses: set[str] = set()
    while process.poll() is None:
        addresses |= _listening() - before
        time.sleep(0.2)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "on loopback only" in err
    assert addresses, "it listened somewhere"
    assert {each.rpartition(":")[0] for each in addresses} <= {"0100007F", "0000000000000000FFFF00000100007F"}
    here = subprocess.run(
        [*command, "--jobs", "1", "--json", "--out", str(tmp_path / "here")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    ray, processes = json.loads(out), json.loads(here.stdout)
    assert ray["selected"] == processes["selected"]
    assert ray["valid_score"] == processes["valid_score"]
    assert [(each["learner"], each["size"], each["valid_score"]) for each in ray["allocations"]] == [
        (each["learner"], each["size"], each["valid_score"]) for each in processes["allocations"]
    ]


def _listening() -> set[str]:
    """Return the local addresses, in the kernel's own notation, on which somebody listens."""
    found = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(path).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                found.add(fields[1])
    return found
