"""Many runs after each other in one process, and many at once, with kills at random: nothing piles up.

    python tests/soak.py [--minutes 60] [--runs 200] [--at-once 20] [--seed 0]

Memory, open files, threads, processes, folders, shared memory and ports must be at the end what they were before. Each
round has `--runs` in this process, of which some are disturbed by kills of their workers, and `--at-once` commands at
the same time, of which some are killed whole and resumed. Rounds are repeated until the time is over.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from sklearn.datasets import make_classification

from cli.commands import call
from injection import TRIAL, processes, rows
from pydaub import DaubSearch
from pydaub.isolation.proc import children_of

WARM = 8  # runs after which libraries have loaded what they use
MOST_GROWTH = 0.3  # megabytes for each run
KILLED, FROM_PYTHON = 0.3, 0.5  # shares of the runs
BETWEEN = (0.5, 6.0)  # seconds between two kills: those that kill faster might have reasons to blame a learner
SETTLED = 30.0  # seconds in which processes end that are being killed
PATIENCE = 600.0
LEARNERS = "tree,naive-bayes-gaussian,logistic,knn-5"
SHARED = Path("/dev/shm")  # noqa: S108  # where the system keeps shared memory


class State(NamedTuple):
    """What a run may leave behind."""

    files: int
    threads: int
    processes: int
    folders: tuple[str, ...]
    shared: tuple[str, ...]
    ports: int

    def beyond(self, before: State) -> list[str]:
        """Return in words what has been added."""
        return [
            f"{name}: {old} before, {new} now"
            for name, old, new in zip(self._fields, before, self, strict=True)
            if new != old
        ]


def state(token: str, scratch: Path) -> State:
    """Return what there is now, once processes that are ending have ended."""
    deadline = time.monotonic() + SETTLED
    while (others := [pid for pid in processes(token) if pid != os.getpid()]) and time.monotonic() < deadline:
        time.sleep(0.1)
    gc.collect()
    return State(
        files=len([*Path("/proc/self/fd").iterdir()]),
        threads=threading.active_count(),
        processes=len(others),
        folders=tuple(sorted(path.name for path in scratch.iterdir())),
        shared=tuple(sorted(path.name for path in SHARED.iterdir() if path.owner() == Path.home().owner())),
        ports=listening(),
    )


def listening() -> int:
    """Return how many ports this process listens on."""
    inodes = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            inodes.add(entry.readlink().name.removeprefix("socket:[").removesuffix("]"))
    found = 0
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = [line.split() for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]]
            found += sum(fields[3] == "0A" and fields[9] in inodes for fields in lines)
    return found


def memory() -> float:
    """Return the megabytes that this process holds, without what the allocator could give back."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def killing(rng: random.Random) -> Iterator[None]:
    """Kill some child or grandchild of this process now and then."""
    done = threading.Event()

    def kill() -> None:
        while not done.wait(rng.uniform(*BETWEEN)):
            servers = children_of(os.getpid())
            victims = [*servers, *(child for server in servers for child in children_of(server))]
            if victims:
                with suppress(ProcessLookupError):
                    os.kill(rng.choice(victims), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        done.set()
        killer.join()


def one_run(rng: random.Random, data: Path, scratch: Path) -> None:
    """Do one run in this process, from the command line or from Python, perhaps with kills."""
    disturbed = killing(rng) if rng.random() < KILLED else nullcontext()
    if rng.random() < FROM_PYTHON:
        X, y = make_classification(rng.choice([200, 600]), random_state=rng.randrange(100))
        with disturbed:
            DaubSearch(LEARNERS.split(","), n_jobs=rng.choice([1, 2]), random_state=0).fit(X, y).predict(X)
        return
    out = scratch / "run"
    options = ["--refit"] if rng.random() < 0.3 else ["--ensemble"] if rng.random() < 0.3 else []
    done = call(
        "run", data, "--target", "label", "--learners", LEARNERS, "--out", out, "--jobs", 2, "--quiet", *options
    )
    assert done.code == 0, done.err
    for command in (("show",), ("report",), ("predict", data)):
        looked = call(command[0], out, *command[1:])
        assert looked.code == 0, looked.err
    subprocess.run(["rm", "-r", out], check=True)


def after_each_other(count: int, rng: random.Random, data: Path, scratch: Path, until: float) -> int:
    """Do runs one after another; return how many there was time for."""
    for number in range(count):
        if time.monotonic() > until:
            return number
        one_run(rng, data, scratch)
    return count


def at_once(count: int, rng: random.Random, data: Path, scratch: Path) -> None:
    """Begin so many commands at the same time, kill some of them, and let those be resumed."""
    places = [scratch / f"run-{number}" for number in range(count)]
    begun = {out: started(out, data) for out in places}
    for out in rng.sample(places, count // 3):
        time.sleep(rng.uniform(0.0, 1.0))
        begun[out].kill()
    for out, process in begun.items():
        _, reason = process.communicate(timeout=PATIENCE)
        code = process.returncode
        if code == -signal.SIGKILL:
            again = started(out, data)
            _, reason = again.communicate(timeout=PATIENCE)
            code = again.returncode
        assert code == 0, reason
        left = [path.name for path in out.iterdir() if path.name.startswith(".")]
        assert len(left) <= 1, f"{left} were left half-written"
    subprocess.run(["rm", "-r", *places], check=True)


def started(out: Path, data: Path) -> subprocess.Popen[str]:
    """Begin a run in a folder, or continue it."""
    line = ["run", data, "--target", "label", "--learners", LEARNERS, "--out", out]
    if (out / "run.json").exists():
        line = ["resume", out]
    command = [sys.executable, "-m", "pydaub", *map(str, line), "--jobs", "1", "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="how long to go on (default: 60)")
    parser.add_argument("--runs", type=int, default=200, help="runs after each other, in each round (default: 200)")
    parser.add_argument("--at-once", type=int, default=20, help="commands at the same time (default: 20)")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, token, until = random.Random(asked.seed), uuid4().hex, time.monotonic() + 60 * asked.minutes
    trouble: list[str] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        scratch = Path(place) / "scratch"
        scratch.mkdir()
        data = Path(place) / "rows.csv"
        data.write_text(rows())
        os.environ |= {TRIAL: token, "TMPDIR": str(scratch)}  # for descendants: this process had its own before
        tempfile.tempdir = None
        after_each_other(WARM, rng, data, scratch, until)
        before, held, runs = state(token, scratch), memory(), 0
        print(f"before: {before}, {held:.0f} MB", flush=True)
        while time.monotonic() < until and not trouble:
            runs += after_each_other(asked.runs, rng, data, scratch, until)
            at_once(asked.at_once, rng, data, scratch)
            now, holds = state(token, scratch), memory()
            growth = (holds - held) / max(runs, 1)
            print(f"after {runs} runs: {now}, {holds:.0f} MB, {growth:+.2f} MB for each run", flush=True)
            trouble = now.beyond(before)
            if runs >= WARM and growth > MOST_GROWTH:
                trouble.append(f"memory: {growth:.2f} MB more with each run")
    print("\n".join(trouble) or "nothing is left behind")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
