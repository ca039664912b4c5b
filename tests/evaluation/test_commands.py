"""Commands as learners, in real processes: answers that are understood, and every way to misbehave."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pydaub import Allocation, Failure, Measurement, Outcome
from pydaub.data.rowfiles import rows_of
from pydaub.engines.processes import ProcessEngine
from pydaub.evaluation.commands import DONE, LOG
from pydaub.evaluation.evaluate import Task
from pydaub.isolation.nursery import NO_LIMITS, Limits
from pydaub.learners import Learner
from pydaub.learners.commands import PLACES, Command

SIZE = 8
GOOD = 'import json, os; print(json.dumps({"score": 0.5}))'


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def task_of(folder: Path, **commands: Any) -> Task:
    """Return a task with ten rows of JSON, and two to validate."""
    folder.mkdir(exist_ok=True)
    rows, dev = folder / "train.jsonl", folder / "dev.jsonl"
    rows.write_text("".join(f'{{"x": {number}}}\n' for number in range(10)))
    dev.write_text('{"x": 1}\n{"x": 2}\n')
    made = {
        name: each if isinstance(each, Command) else Command(tuple(each), folder=str(folder))
        for name, each in commands.items()
    }
    return Task(rows_of(rows, dev, None, 0), {name: Learner(name, each) for name, each in made.items()})


def outcomes(
    folder: Path, limits: Limits = NO_LIMITS, sizes: tuple[int, ...] = (SIZE,), workers: int = 2, **commands: Any
) -> dict[str, Outcome]:
    """Evaluate each command, some at a time, at one size after the other; return what came of the last size."""
    task, found = task_of(folder, **commands), dict[str, Outcome]()
    with closing(ProcessEngine(task, workers, folder / "run", limits)) as engine:
        for size in sizes:
            waiting, running = [Allocation(name, size) for name in commands], 0
            while waiting or running:
                while waiting and engine.free:
                    engine.submit(waiting.pop(0))
                    running += 1
                collected = engine.collect()
                assert collected is not None
                found[collected[0].learner] = collected[1]
                running -= 1
    return found


def measured(outcome: Outcome) -> Measurement:
    assert isinstance(outcome, Measurement), outcome
    return outcome


def failed(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure), outcome
    return outcome


def test_a_command_is_given_everything_twice_and_its_answer_is_understood(tmp_path: Path) -> None:
    code = f"""
import json, os, sys
given = dict(zip({list(PLACES)!r}, sys.argv[1:]))
assert {{name: os.environ["PYDAUB_" + name.upper()] for name in given}} == given, given
assert int(given["threads"]) == int(os.environ["OMP_NUM_THREADS"])
assert os.environ["CUDA_VISIBLE_DEVICES"] == "" and "PYDAUB_BEFORE" not in os.environ
rows = [json.loads(line) for line in open(given["rows"])]
assert len(rows) == int(given["size"]) and len(open(given["validation"]).readlines()) == 2
os.mkdir(os.path.join(given["folder"], "model"))
answer = {{"score": 3, "train_score": 2.5, "seconds": 0.25, "rows_scored": 1, "metrics": {{"bleu": 7}}}}
answer["model"] = "model"
json.dump(answer, open(given["result"], "w"))
print("this is no answer")
"""
    command = Command((*python(code), *(f"{{{name}}}" for name in PLACES)), "minimize")
    found = measured(outcomes(tmp_path, given=command)["given"])
    assert (found.valid_score, found.train_score, found.own_seconds, found.scored) == (-3.0, -2.5, 0.25, 1)
    assert found.metrics["bleu"] == 7.0
    about = json.loads((tmp_path / "run" / "commands" / "given" / str(SIZE) / DONE).read_text())
    assert Path(about["model"]).is_dir()


def test_the_last_line_of_the_output_is_an_answer_too(tmp_path: Path) -> None:
    found = outcomes(tmp_path, a=sh("echo '{\"score\": 1}'; echo noise >&2; echo; echo '{\"score\": 2}'; echo"))
    assert measured(found["a"]).valid_score == 2.0


def test_samples_are_nested_and_a_larger_one_begins_from_the_folder_of_the_smaller(tmp_path: Path) -> None:
    code = """
import json, os
rows = open(os.environ["PYDAUB_ROWS"]).read()
before = os.environ["PYDAUB_FROM"]
if before:
    assert rows.startswith(open(before + "/seen").read()) and os.environ["PYDAUB_SIZE"] == "8"
open(os.environ["PYDAUB_FOLDER"] + "/seen", "w").write(rows)
print(json.dumps({"score": 2.0 if before else 1.0}))
"""
    assert measured(outcomes(tmp_path, sizes=(4, 8), a=python(code))["a"]).valid_score == 2.0


def test_a_training_that_was_measured_is_not_repeated(tmp_path: Path) -> None:
    command = sh("echo >> calls; echo '{\"score\": 1}'")
    first, again = (outcomes(tmp_path, a=command)["a"] for _ in range(2))
    assert first == again
    assert (tmp_path / "calls").read_text() == "\n"


def test_exit_code_75_means_later(tmp_path: Path) -> None:
    answer = '{"score": 1, "retry_after": 0.05}'
    found = outcomes(tmp_path, a=sh(f"echo >> calls; echo '{answer}'; [ $(wc -l < calls) = 3 ] || exit 75"))
    assert measured(found["a"]).metrics["tried_again"] == 2.0


FAILURES = {
    "exits": (sh("echo one; echo two >&2; exit 3"), "error", "exit code 3: .*two"),
    "silent": (sh("true"), "error", "last line of its output must be a JSON object.* got nothing"),
    "early": (sh("echo '{\"score\": 1}'; echo done"), "error", "got 'done'"),
    "wrong_json": (sh("echo '{score: 1}'"), "error", "must be a JSON object"),
    "wrong_file": (sh('echo oops; echo "{" > $PYDAUB_RESULT'), "error", "PYDAUB_RESULT must be a JSON object.*oops"),
    "a_list": (sh("echo '[1]'"), "error", "must be a JSON object"),
    "scoreless": (sh("echo '{\"accuracy\": 1}'"), "error", "must have a `score`"),
    "nan": (sh("echo '{\"score\": NaN}'"), "error", "finite number, got nan"),
    "infinite": (sh("echo '{\"score\": -Infinity}'"), "error", "finite number"),
    "huge": (sh("echo '{\"score\": 1e300}'"), "error", "at most"),
    "text": (sh('echo \'{"score": "0.5"}\''), "error", "finite number, got '0.5'"),
    "truth": (sh("echo '{\"score\": true}'"), "error", "finite number"),
    "bad_train": (sh('echo \'{"score": 1, "train_score": "x"}\''), "error", "`train_score`"),
    "bad_metrics": (sh('echo \'{"score": 1, "metrics": {"a": "b"}}\''), "error", "`metrics`"),
    "bad_rows": (sh('echo \'{"score": 1, "rows_scored": 0}\''), "error", "`rows_scored`"),
    "bad_seconds": (sh('echo \'{"score": 1, "seconds": -1}\''), "error", "`seconds`"),
    "no_model": (sh('echo \'{"score": 1, "model": "nowhere"}\''), "error", "`model` must be a path that exists"),
    "refuses": (sh('echo \'{"refused": "its context is too short"}\'; exit 1'), "refused", "its context is too short"),
    "too_large_an_answer": (sh("head -c 2000000 /dev/zero > $PYDAUB_RESULT"), "error", "at most 1,048,576 bytes"),
    "no_program": (["./nowhere"], "error", "could not be started"),
    "segfault": (sh("kill -SEGV $$"), "crash", "SIGSEGV"),
    "out_of_memory": (sh("echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1"), "memory", "CUDA"),
    "deletes_its_folder": (sh('rm -rf "$PYDAUB_FOLDER"'), "error", "got nothing"),
    "deletes_the_rows": (sh('rm -f "$PYDAUB_ROWS"; exit 1'), "error", "exit code 1"),
    "needs_a_terminal": (sh("read answer < /dev/tty && echo $answer"), "error", "exit code [12]: .*/dev/tty"),
    "reads_input": (python("print(input())"), "error", "EOFError"),
    "chatty": (python("import sys\nfor _ in range(3000): sys.stdout.write('x' * 10000)"), "error", "JSON object"),
    "garbage": (sh("head -c 100000 /dev/urandom"), "error", "must be a JSON object"),
    "deep": (python("print('[' * 100000)"), "error", "must be a JSON object"),
    "closes_its_output": (sh("exec >&- 2>&-; exit 7"), "error", "exit code 7"),
    "answers_by_a_folder": (sh("mkdir $PYDAUB_RESULT"), "error", "PYDAUB_RESULT must be a file, got a folder"),
    "answers_by_a_pipe": (sh("mkfifo $PYDAUB_RESULT"), "error", "PYDAUB_RESULT must be a file, got a pipe"),
    "answers_by_a_link": (sh("ln -s /etc/passwd $PYDAUB_RESULT"), "error", "PYDAUB_RESULT must be a file, got a link"),
    "forks_twice": (sh("(setsid sh -c 'sleep 600 &' &); exit 6"), "error", "exit code 6"),
    "stops_its_parent": (sh("kill -STOP $PPID; exit 4"), "error", "exit code 4"),
    "no_such_folder": (Command("true", folder="/nowhere"), "error", "could not be started"),
}


def test_a_command_that_fails_says_how_and_its_neighbour_is_unharmed(tmp_path: Path) -> None:
    commands: dict[str, Any] = {name: given[0] for name, given in FAILURES.items()}
    commands |= {f"good_{number}": python(GOOD) for number in range(3)}
    found = outcomes(tmp_path, **commands)
    for name, (_, kind, message) in FAILURES.items():
        failure = failed(found[name])
        assert failure.kind == kind, (name, failure)
        assert re.search(message, failure.message), (name, failure)
    assert all(measured(found[f"good_{number}"]).valid_score == 0.5 for number in range(3))
    assert (tmp_path / "run" / "commands" / "chatty" / str(SIZE) / LOG).stat().st_size < 11_000_000


def left_running(mark: str) -> list[int]:
    """Return the processes that have this word in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
def test_what_a_command_starts_ends_with_it(tmp_path: Path) -> None:
    mark = f"mark-{os.getpid()}"
    forks = f"for i in 1 2 3; do setsid sh -c 'sleep 600; : {mark}' & done; (sleep 600; : {mark}) & "
    found = outcomes(
        tmp_path,
        Limits(seconds=1.5),
        forks=sh(forks + "echo '{\"score\": 1}'"),
        hangs=sh(forks + f"sleep 600; : {mark}"),
    )
    assert measured(found["forks"]).valid_score == 1.0
    assert failed(found["hangs"]).kind == "timeout"
    assert left_running(mark) == []


def test_a_command_is_asked_to_end_before_it_is_killed(tmp_path: Path) -> None:
    polite = "trap 'echo ended > ended; exit' TERM; while :; do sleep 0.05; done"
    found = outcomes(tmp_path, Limits(seconds=1.0), polite=sh(polite))
    assert failed(found["polite"]).kind == "timeout"
    assert (tmp_path / "ended").read_text() == "ended\n"


@pytest.mark.slow("processes")
def test_a_command_that_ignores_being_asked_is_killed_ten_seconds_later(tmp_path: Path) -> None:
    stubborn = "trap 'date +%s > asked' TERM; while :; do sleep 0.05; date +%s >> last; done"
    found = outcomes(tmp_path, Limits(seconds=1.0), stubborn=sh(stubborn))
    assert failed(found["stubborn"]).kind == "timeout"
    asked, written = int((tmp_path / "asked").read_text()), (tmp_path / "last").read_text()
    assert int(written.split()[-1]) - asked >= 9
    time.sleep(0.5)
    assert (tmp_path / "last").read_text() == written


@pytest.mark.slow("memory")
def test_a_command_that_uses_too_much_memory_is_ended(tmp_path: Path) -> None:
    hog = python("import time\nheld = []\nfor _ in range(40):\n  held.append(bytearray(20_000_000)); time.sleep(0.05)")
    found = outcomes(tmp_path, Limits(memory=200_000_000), hog=hog, good=python(GOOD))
    assert failed(found["hog"]).kind == "memory"
    assert measured(found["good"]).valid_score == 0.5
    own = failed(outcomes(tmp_path / "own", own=Command(tuple(hog), memory=100_000_000, folder="."))["own"])
    assert "100 MB" in own.message


def test_a_command_that_is_killed_from_outside_is_begun_again(tmp_path: Path) -> None:
    script = f"echo >> calls; [ $(wc -l < calls) = 2 ] || kill -9 $$; echo {shlex.quote(json.dumps({'score': 1}))}"
    found = measured(outcomes(tmp_path, a=sh(script))["a"])
    assert (found.valid_score, found.retries) == (1.0, 1)


def test_gpus_are_handed_out_to_one_training_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-a/b,7")
    code = """
import json, os, time
gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
for gpu in gpus:
    os.mkdir("used-" + gpu.replace("/", "-"))
time.sleep(0.3)
for gpu in gpus:
    os.rmdir("used-" + gpu.replace("/", "-"))
print(json.dumps({"score": len(gpus)}))
"""
    counts = {"one": 1, "another": 1, "two": 2, "three": 3, "last": 1}
    commands: dict[str, Any] = {
        name: Command(tuple(python(code)), gpu=count, folder=str(tmp_path)) for name, count in counts.items()
    }
    found = outcomes(
        tmp_path, workers=5, none=sh('[ -z "$CUDA_VISIBLE_DEVICES" ] && echo \'{"score": 0}\''), **commands
    )
    assert {name: measured(each).valid_score for name, each in found.items()} == {**counts, "none": 0}


@pytest.mark.slow("processes")
def test_what_comes_after_a_training_that_is_ended_waits_until_it_has(tmp_path: Path) -> None:
    """It may still write to its folder."""
    script = (
        "[ -e first ] || { touch first; trap 'sleep 2; echo old > $PYDAUB_FOLDER/by; exit' TERM; sleep 60 & wait; }"
    )
    task = task_of(tmp_path, a=sh(f"{script}; cat $PYDAUB_FOLDER/by; echo '{{\"score\": 1}}'"))
    allocation = Allocation("a", SIZE)
    with closing(ProcessEngine(task, 1, tmp_path / "run")) as engine:
        engine.submit(allocation)
        while not (tmp_path / "first").exists():
            time.sleep(0.02)
        engine.cancel(allocation)
        engine.submit(allocation)
        collected = engine.collect()
    assert collected is not None
    assert measured(collected[1]).valid_score == 1.0
    assert (tmp_path / "run" / "commands" / "a" / str(SIZE) / LOG).read_text().startswith("old")
