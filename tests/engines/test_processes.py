"""Real learners in real processes, really killed: failures are reported, and results do not depend on workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import faulty
from faults import MB, alive, pids, wait_until
from pydaub import (
    Allocation,
    Daub,
    Failure,
    InputError,
    Journal,
    Measurement,
    Outcome,
    Postponed,
    RefusedAllocation,
    Result,
    Schedule,
    run,
)
from pydaub.data import prepare
from pydaub.engines.processes import ProcessEngine
from pydaub.engines.registry import Where
from pydaub.evaluation.evaluate import THREADED, Task
from pydaub.events import Evaluated
from pydaub.isolation.nursery import Limits
from pydaub.isolation.proc import cores
from pydaub.learners import Learner
from pydaub.records import outcome_to_json
from pydaub.runs.journal import read
from pydaub.runs.plan import Plan
from pydaub.runs.selection import select
from tables import collected

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
slow = pytest.mark.slow("processes")

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(600, 5))
DATA = prepare(X, np.where(X[:, 0] + RANDOM.normal(size=600) > 0, "yes", "no"))
FULL = DATA.full_size
SCHEDULE = Schedule.geometric(FULL, 40, 2)


def task(estimators: dict[str, Any], **settings: Any) -> Task:
    learners = {name: Learner(name, estimator) for name, estimator in estimators.items()}
    return Task(DATA, learners, **{"metrics": "none", **settings})


def outcome_of(engine: ProcessEngine, learner: str, size: int = FULL) -> Outcome:
    engine.submit(Allocation(learner, size))
    allocation, outcome = collected(engine)
    assert allocation == Allocation(learner, size)
    return outcome


FAILURES = {
    "segfault": ("crash", "ended by SIGSEGV"),
    "abort": ("crash", "ended by SIGABRT"),
    "leave": ("crash", "ended with exit code 3 and without an answer"),
    "exit_politely": ("error", "SystemExit: enough"),
    "recurse": ("error", "RecursionError: maximum recursion depth exceeded"),
    "raise_mute": ("error", "MuteError: (its message cannot be shown)"),
    "raise_lines": ("error", "ValueError: the first line"),
    "raise_at_length": ("error", f"BaseException: {'x' * 485}"),
    "raise_surrogate": ("error", "ValueError: \ud800"),
}
FORGED = ["5", "[]", "{}", "null", '{"value": 1}', '{"value": {"valid_score": "x", "metrics": 3}}', '{"error": {}}']
ESTIMATORS = {
    **{content: faulty.Faulty("scribble", {"content": f"{content}\n"}) for content in FORGED},
    **{name: faulty.Faulty(name) for name in FAILURES},
    "print_much": faulty.Faulty("print_much"),
    "unscored": faulty.Unscored(),
    "stuck": faulty.Stuck(),
    "spoilt": faulty.Spoilt(),
    "good": faulty.Learner(),
    "line": LogisticRegression(),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessEngine]:
    engine = ProcessEngine(task(ESTIMATORS), 2, tmp_path_factory.mktemp("faults"))
    yield engine
    engine.close()


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_a_learner_does_becomes_its_failure(engine: ProcessEngine, name: str) -> None:
    outcome = outcome_of(engine, name)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.message) == FAILURES[name]


def test_a_learner_that_prints_much_is_measured(engine: ProcessEngine) -> None:
    assert isinstance(outcome_of(engine, "print_much"), Measurement)


@linux
@pytest.mark.parametrize("content", FORGED)
def test_a_learner_that_writes_to_any_descriptor_fails_alone(engine: ProcessEngine, content: str) -> None:
    for name in (content, "good"):
        engine.submit(Allocation(name, FULL))
    outcomes = {allocation.learner: outcome for allocation, outcome in (collected(engine), collected(engine))}
    assert isinstance(outcomes[content], Failure)
    assert isinstance(outcomes["good"], Measurement)


@linux
def test_a_learner_that_somebody_kills_is_trained_again_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate, path = tmp_path / "go", tmp_path / "pids"
    learners = {
        "gated": faulty.Gated(str(gate), str(path)),
        "lemming": faulty.Faulty("kill_itself", {"path": str(path)}),
    }
    with closing(ProcessEngine(task(learners), 1, tmp_path)) as engine:
        engine.submit(Allocation("gated", FULL))
        wait_until(lambda: pids(path))
        os.kill(pids(path)[0], signal.SIGKILL)
        wait_until(lambda: engine.collect(0.0) is None and len(pids(path)) == 2)
        gate.touch()
        measured = collected(engine)[1]
        assert (type(measured), measured.retries) == (Measurement, 1)
        assert caplog.messages == ["gated on 420 rows was killed, but not by pydaub. Times that it was begun again: 1."]
        failure = outcome_of(engine, "lemming")
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.message, failure.retries) == ("crash", "ended by SIGKILL, 4 times in a row", 3)


def test_a_score_that_is_not_a_number_is_a_failure(engine: ProcessEngine) -> None:
    outcome = outcome_of(engine, "unscored")
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.message) == ("error", "ValueError: the score must be a finite number, got nan")


def test_a_learner_that_cannot_be_pickled_fails_at_once_and_occupies_a_worker(
    engine: ProcessEngine,
) -> None:
    engine.submit(Allocation("stuck", FULL))
    assert engine.free == 1
    engine.submit(Allocation("good", FULL))
    assert engine.free == 0
    outcomes = dict(collected(engine) for _ in range(2))
    failure = outcomes[Allocation("stuck", FULL)]
    assert isinstance(failure, Failure)
    assert failure.message.startswith("it cannot be pickled, as workers need: TypeError: cannot pickle")
    assert isinstance(outcomes[Allocation("good", FULL)], Measurement)
    spoilt = outcome_of(engine, "spoilt")
    assert isinstance(spoilt, Failure)
    assert (spoilt.kind, spoilt.message) == ("error", "MuteError: (its message cannot be shown)")


def test_an_impossible_allocation_is_refused_without_effect(engine: ProcessEngine) -> None:
    with pytest.raises(RefusedAllocation, match=r"`learner` must be one of the task's, got 'nobody'"):
        engine.submit(Allocation("nobody", 20))
    with pytest.raises(RefusedAllocation, match=rf"`size` must be at most the {FULL} training rows, got {FULL + 1}"):
        engine.submit(Allocation("good", FULL + 1))
    assert engine.free == 2


def test_a_learner_that_starts_from_a_smaller_sample_is_not_evaluated_ahead_of_time(engine: ProcessEngine) -> None:
    free = engine.free
    with pytest.raises(RefusedAllocation, match=r"must not be guessed: it starts from the sizes asked for before"):
        engine.submit(Allocation("line", 40), guess=True)
    assert engine.free == free, "a refusal has no effect"
    engine.submit(Allocation("line", 40))
    assert collected(engine)[0] == Allocation("line", 40)
    assert isinstance(outcome_of(engine, "line", 80), Measurement)


@pytest.mark.parametrize(
    ("workers", "message"),
    [(0, r"`workers` must be at least 1, got 0"), (1.5, r"`workers` must be a whole number, got 1\.5")],
)
def test_bad_parameters_are_refused(workers: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        ProcessEngine(task({"good": faulty.Learner()}), workers, tmp_path)


def test_a_learner_that_takes_too_long_fails(tmp_path: Path) -> None:
    estimators = {"loop": faulty.Faulty("loop_in_c"), "sleep": faulty.Faulty("sleep_with_the_gil")}
    engine = ProcessEngine(task(estimators), 2, tmp_path, Limits(seconds=0.5))
    for name in estimators:
        engine.submit(Allocation(name, FULL))
    outcomes = [collected(engine)[1] for _ in estimators]
    engine.close()
    assert {(each.kind, each.message) for each in outcomes if isinstance(each, Failure)} == {
        ("timeout", "longer than 0.5 s")
    }


@linux
@pytest.mark.slow("memory")
def test_every_library_that_runs_out_of_memory_is_recognised(tmp_path: Path) -> None:
    """Each reports it in its own words; libraries in C++ raise exceptions of their own, or crash."""
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    rows = np.random.default_rng(0).normal(size=(20_000, 40))
    data = prepare(rows, rows[:, 0] > 0, columns=False)
    estimators = {
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
        "xgboost": xgboost.XGBClassifier(n_estimators=5),
        "boosting": HistGradientBoostingClassifier(max_iter=5),
        "forest": RandomForestClassifier(10),
        "filling": faulty.Faulty("fill_memory"),
    }
    learners = {name: Learner(name, each) for name, each in estimators.items()}
    engine = ProcessEngine(Task(data, learners), 2, tmp_path, Limits(memory=3 * MB))
    outcomes = {name: outcome_of(engine, name, data.full_size) for name in estimators}
    engine.close()
    assert all(isinstance(outcome, Failure) and outcome.kind == "memory" for outcome in outcomes.values()), outcomes


@linux
@slow
@pytest.mark.parametrize("threads", [1, 2])
def test_learners_use_no_more_threads_than_they_may(threads: int, tmp_path: Path) -> None:
    """Limited to one, a process has a single thread; limited to more, no library has a larger pool of threads."""
    lightgbm = pytest.importorskip("lightgbm")
    count = "tasks" if threads == 1 else "pools"
    estimators = {
        "boosting": faulty.Wrapping(HistGradientBoostingClassifier(max_iter=2), count),
        "blas": faulty.Wrapping(faulty.Multiplying(), count),
        "lightgbm": faulty.Wrapping(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1), count),
        "lightgbm, all": faulty.Wrapping(lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=-1), count),
        "bagging": faulty.Counting(BaggingClassifier(faulty.Telling(), n_estimators=8, n_jobs=-1)),
        "bagging, many": faulty.Counting(BaggingClassifier(faulty.Telling(), n_estimators=8, n_jobs=64)),
    }
    if threads > 1:  # the same libraries once
        estimators = {name: each for name, each in estimators.items() if "," not in name}
    rows = RANDOM.normal(size=(500, 1 + THREADED // 350))  # just large enough for threads
    given = replace(task(estimators, threads=threads), data=prepare(rows, np.where(rows[:, 0] > 0, "yes", "no")))
    engine = ProcessEngine(given, 1, tmp_path)
    found = {name: outcome_of(engine, name, given.data.full_size) for name in estimators}
    engine.close()
    counts = {name: each.train_score if isinstance(each, Measurement) else each for name, each in found.items()}
    assert all(count in range(1, threads + 1) for count in counts.values()), counts
    assert threads == 1 or counts["boosting"] == threads, "the threads that it may use are used"


def test_a_large_training_has_the_cores_of_the_workers_that_are_free(tmp_path: Path) -> None:
    """They are free again once it has ended, in whatever way; a small training leaves them alone."""
    rows = RANDOM.normal(size=(500, 1 + THREADED // 100))
    data, go = prepare(rows, np.where(rows[:, 0] > 0, "yes", "no")), tmp_path / "go"
    estimators = {name: faulty.Jobs(str(go)) for name in "abc"} | {"single": faulty.Jobs(str(go), n_jobs=1)}
    large, small = data.full_size, 50
    with closing(ProcessEngine(replace(task(estimators), data=data), 4, tmp_path / "run")) as engine:
        assert engine.spreads(Allocation("a", large))
        assert not engine.spreads(Allocation("a", small))
        assert not engine.spreads(Allocation("single", large))
        engine.submit(Allocation("single", large))
        engine.submit(Allocation("b", small))
        engine.submit(Allocation("a", large))
        assert engine.free == 0
        engine.cancel(Allocation("a", large))
        assert engine.free == 2
        engine.submit(Allocation("a", large))
        go.touch()
        outcomes = dict(collected(engine) for _ in range(3))
        assert engine.free == 4
        seen = {
            allocation.learner: outcome.valid_score if isinstance(outcome, Measurement) else outcome
            for allocation, outcome in outcomes.items()
        }
        assert seen == {"single": 0.1, "b": 0.1, "a": 0.2}
        wanted = [Allocation("c", large), Allocation("single", large), Allocation("a", large)]
        found = engine.fit(wanted, with_validation=True)
        fitted = engine.loaded({each.learner: found[each] for each in wanted})
    everything = min(4, cores())
    assert {name: (each.jobs_, each.n_jobs) for name, each in fitted.items()} == {
        "c": (everything, None),
        "a": (everything, None),
        "single": (1, 1),
    }, "after the run, one after the other with all cores"
    with closing(ProcessEngine(replace(task(estimators), data=data), 1, tmp_path / "other")) as engine:
        assert not engine.spreads(Allocation("a", large)), "a worker that is alone has all cores anyway"


def scores(result: Result) -> list[Any]:
    """Return the steps without their seconds."""
    return [
        (step.allocation, step.outcome.train_score, step.outcome.valid_score, step.bound)
        if isinstance(step.outcome, Measurement)
        else (step.allocation, {**outcome_to_json(step.outcome), "seconds": 0}, step.bound)
        for step in result.steps
    ]


SEEDED = {
    "line": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(C=0.01)),
    "bayes": BernoulliNB(),
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(5),
    "gradient": SGDClassifier(),
    "chancy": faulty.Chancy(),
    "failing": faulty.Learner(fails_at=80),
}


@pytest.mark.parametrize(
    ("reuse", "workers"),
    [(True, 2), *(pytest.param(reuse, workers, marks=slow) for reuse, workers in ((True, 1), (False, 1), (False, 2)))],
)
def test_steps_and_scores_are_those_of_one_process(tmp_path: Path, *, reuse: bool, workers: int) -> None:
    """Seeds and starting points depend on the learner and the size, not on the workers."""
    given = task(SEEDED, reuse=reuse, seed=11)
    alone = select(Plan(given, Daub(tuple(SEEDED), SCHEDULE)), Where())
    found = select(Plan(given, Daub(tuple(SEEDED), SCHEDULE)), Where(workers, folder=tmp_path))
    assert scores(found.result) == scores(alone.result)
    assert found.result.selected == alone.result.selected
    valid = DATA.valid()
    assert found.fitted.score(valid.X, valid.y) == alone.result.valid_score


@slow
@linux
def test_a_run_whose_processes_are_killed_from_outside_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    """Three times the server with all workers, while they train."""
    learners = {name: SEEDED[name] for name in ("line", "bayes", "tree", "failing")}
    learners |= {"gated": faulty.Gated(str(tmp_path / "go"), str(tmp_path / "pids"))}
    given = task(learners, seed=11)
    (tmp_path / "go").touch()
    alone = select(Plan(given, Daub(tuple(learners), SCHEDULE)), Where())
    (tmp_path / "go").unlink()

    def kill() -> None:
        known = 0  # two workers may begin at once
        try:
            for _ in range(3):
                wait_until(lambda known=known: len(pids(tmp_path / "pids")) > known)
                known, worker = len(begun := pids(tmp_path / "pids")), begun[-1]
                parent = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
                os.kill(parent, signal.SIGKILL)
            wait_until(lambda: len(pids(tmp_path / "pids")) > known)
        finally:
            (tmp_path / "go").touch()

    killer = Thread(target=kill)
    killer.start()
    found = select(Plan(given, Daub(tuple(learners), SCHEDULE)), Where(2, folder=tmp_path / "run"))
    killer.join()
    assert scores(found.result) == scores(alone.result)
    assert found.result.selected == alone.result.selected


def test_another_seed_gives_other_scores() -> None:
    first, second = (
        scores(select(Plan(task({"chancy": faulty.Chancy()}, seed=seed), Daub(("chancy",), SCHEDULE)), Where()).result)
        for seed in (1, 2)
    )
    assert first != second


@linux
def test_closing_the_engine_kills_everything_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "pids"
    given = {"busy": faulty.Faulty("tell_pid", {"path": str(path), "then": "loop_in_c"})}
    engine = ProcessEngine(task(given), 2, tmp_path / "bench")
    for size in (40, 80):
        engine.submit(Allocation("busy", size))
    wait_until(lambda: len(pids(path)) == 2)
    engine.close()
    assert not any(map(alive, pids(path)))
    assert engine.free == 2


@linux
@slow
def test_a_time_limit_ends_the_run_with_the_best_so_far_and_nothing_keeps_running(tmp_path: Path) -> None:
    path = tmp_path / "pids"
    given = {"good": faulty.Learner(), "busy": faulty.Faulty("tell_pid", {"path": str(path)})}
    engine = ProcessEngine(task(given), 1, tmp_path / "bench")
    outcome = outcome_of(engine, "good", 40)  # now the server has started
    known = {Allocation("good", size): outcome for size in SCHEDULE.sizes}
    result = run(Daub(tuple(given), SCHEDULE), engine, known=known, time_limit=2)
    assert (result.stopped, result.selected) == ("time limit", "good")
    assert not any(map(alive, pids(path)))


def script(folder: Path, text: str, *arguments: Path) -> subprocess.Popen[str]:
    """Start a script in a process of its own, where it is `__main__`."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
    return subprocess.Popen(
        [sys.executable, str(path), *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@slow
def test_learners_defined_in_a_script_without_a_main_guard(tmp_path: Path) -> None:
    """They are pickled by value, so workers do not run the script again."""
    text = """
        import sys
        from pathlib import Path
        import numpy as np
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.naive_bayes import GaussianNB
        from pydaub.search import DaubSearch

        print("started")
        OFFSET = 1

        class Mine(ClassifierMixin, BaseEstimator):
            def __init__(self, inner=None):
                self.inner = inner
            def fit(self, X, y):
                self.fitted_ = helped(self.inner).fit(X, y)
                self.classes_ = self.fitted_.classes_
                return self
            def predict(self, X):
                return self.fitted_.predict(X + OFFSET - 1)

        def helped(inner):
            return inner or GaussianNB()

        X = np.random.default_rng(0).normal(size=(300, 3))
        search = DaubSearch({"mine": Mine()}, n_jobs=2, random_state=0, scoring=lambda e, X, y: e.score(X, y))
        search.fit(X, X[:, 0] > 0)
        print(search.best_learner_, dict(search.failures_))
    """
    process = script(tmp_path, text)
    output, _ = process.communicate()
    assert (process.returncode, output.splitlines()) == (0, ["started", "mine {}"])


RUN = """
    import sys
    from pathlib import Path
    from pydaub import Daub, Journal, run
    from pydaub.engines.processes import ProcessEngine
    import cloudpickle

    given, folder = map(Path, sys.argv[1:])
    task, schedule = cloudpickle.loads(given.read_bytes())
    with Journal(folder / "journal.jsonl", {}) as journal:
        run(Daub(tuple(task.learners), schedule), ProcessEngine(task, 2, folder), journal)
"""


@linux
@slow
def test_a_killed_run_can_be_resumed(tmp_path: Path) -> None:
    """After kill -9 the resumed run ends like one that was never killed, and nothing is measured twice."""
    cloudpickle = pytest.importorskip("cloudpickle")
    gate, path, folder = tmp_path / "gate", tmp_path / "pids", tmp_path / "run"
    gated = faulty.Gated(str(gate), str(path), closed_from=SCHEDULE.sizes[1])
    given = task({"line": LogisticRegression(), "gated": gated, "bayes": BernoulliNB(), "chancy": faulty.Chancy()})
    (tmp_path / "task").write_bytes(cloudpickle.dumps((given, SCHEDULE)))
    folder.mkdir()
    process = script(tmp_path, RUN, tmp_path / "task", folder)
    wait_until(lambda: pids(path) and journalled(folder) >= 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not any(map(alive, pids(path))))
    before = journalled(folder)
    gate.touch()
    names = tuple(given.learners)
    with Journal(folder / "journal.jsonl", {}) as journal:
        resumed = run(Daub(names, SCHEDULE), ProcessEngine(given, 2, folder), journal)
    assert resumed.resumed == before
    fresh = run(Daub(names, SCHEDULE), ProcessEngine(given, 1, tmp_path / "fresh"))
    assert scores(resumed) == scores(fresh)
    assert resumed.selected == fresh.selected


def journalled(folder: Path) -> int:
    path = folder / "journal.jsonl"
    return sum(isinstance(event, Evaluated) for event in read(path)) if path.exists() else 0


@slow
def test_an_evaluation_is_ended_at_the_limit_of_its_allocation_and_has_not_failed(tmp_path: Path) -> None:
    given = task({"it": faulty.Faulty("forever")})
    with closing(ProcessEngine(given, 1, tmp_path / "a")) as engine:
        engine.submit(Allocation("it", 60, 1.0))
        allocation, outcome = collected(engine)
        assert allocation == Allocation("it", 60)
        assert isinstance(outcome, Postponed)
        assert outcome.seconds >= 1.0
    with closing(ProcessEngine(given, 1, tmp_path / "b", Limits(0.5))) as engine:
        engine.submit(Allocation("it", 60, 30.0))
        _, outcome = collected(engine)
        assert isinstance(outcome, Failure), "the limit of the user was reached first"
        assert outcome.kind == "timeout"


def test_each_gpu_is_used_by_one_learner_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation that was asked for waits for a GPU; one that was guessed is refused; a cancelled one frees its."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    used = tmp_path / "used"
    used.mkdir()
    estimators = {**{f"gpu{place}": faulty.OnGpu(str(used)) for place in range(5)}, "cpu": faulty.Learner()}
    with closing(ProcessEngine(task(estimators), 6, tmp_path / "bench")) as engine:
        for name in ("gpu0", "gpu1", "gpu2", "gpu3", "cpu"):
            engine.submit(Allocation(name, FULL))
        with pytest.raises(RefusedAllocation, match="every GPU is in use"):
            engine.submit(Allocation("gpu4", FULL), guess=True)
        assert engine.free == 1
        engine.cancel(Allocation("gpu3", FULL))
        engine.cancel(Allocation("gpu0", FULL))
        found = dict(collected(engine) for _ in range(3))
        assert {each.learner for each in found} == {"gpu1", "gpu2", "cpu"}
        for path in used.iterdir():
            path.unlink()  # of the one that was killed
        assert all(isinstance(outcome, Measurement) for each, outcome in found.items() if each.learner != "gpu2")
        assert isinstance(outcome_of(engine, "gpu4"), Measurement)
        assert engine.free == 6


def test_without_a_gpu_learners_use_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with closing(ProcessEngine(task({"gpu": faulty.OnGpu(str(tmp_path))}), 1, tmp_path / "bench")) as engine:
        outcome = outcome_of(engine, "gpu")
        assert isinstance(outcome, Measurement), outcome
