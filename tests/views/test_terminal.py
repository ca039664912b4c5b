"""What people see: the live display on a real (pseudo-)terminal, plain lines elsewhere, and results in words."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import selectors
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cli.commands import (
    PATIENCE,
    alive,
    descendants,
    environment,
    evaluated,
    gated,
    numbers,
    wait_until,
    written,
)
from pydaub import (
    Account,
    Allocation,
    Asked,
    Evaluated,
    Failure,
    Full,
    Measurement,
    Schedule,
    Scores,
    Selected,
    Submitted,
)
from pydaub.events import Event, Stopped
from pydaub.records import score_text
from pydaub.views.summary import counted, plain
from pydaub.views.terminal import LEADERS, Display, live_table, print_run, print_table
from pydaub.views.verdict import verdict

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|38|48|9[0-7])\b[0-9;]*m")
HOSTILE = "[red]\x1b[31mtwo\nlines\x9b5m[/red]"
SHOWN = "[red]\\x1b[31mtwo\\nlines\\x9b5m[/red]"


class Screen:
    """A terminal in which a command runs."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.text = ""
        self._descriptor = descriptor
        self._bytes = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(descriptor, selectors.EVENT_READ)

    def read_until(self, wanted: str | None) -> str:
        """Read until a text is on the screen, or to the end; return all that was written."""
        deadline = time.monotonic() + PATIENCE
        while wanted is None or wanted not in self.text:
            assert self._selector.select(deadline - time.monotonic()), f"{wanted} in vain; got {self.text[-2000:]}"
            try:
                received = os.read(self._descriptor, 1 << 16)
            except OSError:  # Linux says so when the last who could write has closed
                received = b""
            if not received:
                assert wanted is None, f"ended without {wanted}: {self.text[-2000:]}"
                break
            self._bytes += received
            self.text = self._bytes.decode(errors="replace")
        return self.text

    def press(self, keys: bytes) -> None:
        os.write(self._descriptor, keys)

    def close(self) -> None:
        self._selector.close()
        os.close(self._descriptor)


@contextmanager
def screen(*arguments: object, width: int = 100, **said: str) -> Iterator[Screen]:
    """Run the command in a terminal of its own, as a person does."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", f"{CONTROLLED}; main()", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=environment(**{"TERM": "xterm-256color", **said}),
    )
    os.close(theirs)
    shown = Screen(process, ours)
    try:
        yield shown
    finally:
        process.kill()
        process.wait()
        shown.close()


# The terminal becomes the controlling one of the new session, so that Ctrl-C in it is a signal.
CONTROLLED = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from pydaub.cli import main"


BY_DAUB = ("--strategy", "daub", "--first-size", 60)  # from as many rows, up by 1.5


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(numbers(), tmp_path / "numbers.csv")


@pytest.mark.slow("processes")
def test_a_live_display(data: Path, tmp_path: Path) -> None:
    """Progress, the leaders with their scores and forecasts, what is running; and then the result in its place."""
    gate = tmp_path / "gate"
    gate.touch()
    learners = gated(tmp_path / "gated.py", gate, rows=200)
    folder = tmp_path / "run"
    arguments = ("run", data, "--target", "label", "--learners", learners, *BY_DAUB, "--out", folder)
    with screen(*arguments, "--jobs", 1) as shown:
        shown.read_until("Training: gated with 203 rows.")
        text = ESCAPE.sub("", shown.text)
        assert re.search(r"pydaub: [\d,.]+ s on 1 worker", text)
        assert re.search(r"█*░+ \d+ %", text)
        assert re.search(r"\S+ leads: accuracy 0\.\d+ ± 0\.\d+ with [\d,]+ of 420 rows\.", text)
        assert re.search(r"learner +expected +accuracy +rows +status", text)
        assert re.search(r"▶ +\S+ +0\.\d+ ± 0\.\d+ +0\.\d{4} +[\d,]+ +leads, ", text), "the leader is marked"
        assert re.search(r"bayes +0\.\d+ ± 0\.\d+ +0\.\d{4} +\d+", text)
        assert re.search(r"gated +0\.\d+ ± 0\.\d+ +0\.\d{4} +135 +(leads, )?training", text)
        gate.unlink()
        text = ESCAPE.sub("", shown.read_until(None))
        assert shown.process.wait(PATIENCE) == 0
    assert "Traceback" not in text
    assert re.search(r"Selected \S+: accuracy 0\.\d{4} on all 420 training rows\.", text)
    assert "\x1b[?25h" in shown.text, "the cursor is given back"


@pytest.mark.slow("processes")
def test_the_address_of_the_page_stays_in_view(data: Path, tmp_path: Path) -> None:
    """In every frame of the live display, and after it."""
    gate = tmp_path / "gate"
    gate.touch()
    learners = gated(tmp_path / "gated.py", gate, rows=200)
    arguments = ("run", data, "--target", "label", "--learners", learners, *BY_DAUB, "--out", tmp_path / "run")
    with screen(*arguments, "--jobs", 1, "--dashboard", BROWSER="true") as shown:
        shown.read_until("#token=")
        gate.unlink()
        text = shown.read_until(None)
        assert shown.process.wait(PATIENCE) == 0
    frames = [frame.count("The page: http://127.0.0.1:") for frame in text.split("pydaub: ")]
    first = frames.index(1)
    assert frames[first:-1] == [1] * len(frames[first:-1])
    assert frames[-1] == 2, "the last frame, and what remains after it"


@pytest.mark.slow("processes")
def test_ctrl_c_in_a_terminal(data: Path, tmp_path: Path) -> None:
    gate, folder = tmp_path / "gate", tmp_path / "run"
    gate.touch()
    learners = gated(tmp_path / "gated.py", gate, rows=60)
    arguments = ("run", data, "--target", "label", "--learners", learners, *BY_DAUB, "--out", folder)
    with screen(*arguments, "--jobs", 1) as shown:
        shown.read_until("Training: gated with 60 rows.")
        children = descendants(shown.process.pid)
        shown.press(b"\x03")
        text = shown.read_until(None)
        assert shown.process.wait(PATIENCE) == 130
    assert "Interrupted. `pydaub resume " in text
    assert "Traceback" not in text
    assert "\x1b[?25h" in text, "the cursor is given back"
    wait_until(lambda: not alive(children))
    assert evaluated(folder) >= 1


OWN = f"""
from sklearn.tree import DecisionTreeClassifier

class Fails(DecisionTreeClassifier):
    def fit(self, X, y, **more):
        raise RuntimeError({HOSTILE!r})

learners = {{{HOSTILE!r}: DecisionTreeClassifier(), "fails": Fails(), "n" * 70: DecisionTreeClassifier(max_depth=1)}}
"""


@pytest.mark.slow("processes")
def test_hostile_names_and_no_colours(data: Path, tmp_path: Path) -> None:
    """On a narrow terminal of a person who wants no colours."""
    (tmp_path / "own.py").write_text(OWN)
    arguments = ("run", data, "--target", "label", "--learners", tmp_path / "own.py", "--out", tmp_path / "run")
    with screen(*arguments, width=60, NO_COLOR="1") as shown:
        text = shown.read_until(None)
        assert shown.process.wait(PATIENCE) == 0
    assert "Traceback" not in text
    assert not COLOUR.search(text)
    assert "\x9b" not in text
    folded = re.sub(r"\s", "", ESCAPE.sub("", text))
    assert f"Selected{SHOWN}:accuracy" in folded
    assert "Failed:1xerror(RuntimeError:[red]\\x1b[31mtwo):fails" in folded


@pytest.mark.slow("processes")
def test_a_terminal_that_can_do_nothing(data: Path, tmp_path: Path) -> None:
    arguments = ("run", data, "--target", "label", "--learners", "tree,knn-5", "--out", tmp_path / "run")
    with screen(*arguments, TERM="dumb") as shown:
        text = shown.read_until(None)
        assert shown.process.wait(PATIENCE) == 0
    assert "\x1b" not in text
    assert "tree with 125 rows: validation 0." in text


def account(*events: Event) -> Account:
    """Return the account of a run of two learners, the second of which fails."""
    strategy = Full(("tree", HOSTILE), Schedule((40,)))
    made = Account(strategy, {**strategy.settings, "scores": Scores("accuracy").to_json()}, held=True)
    for event in events:
        made.take(event)
    return made


@pytest.mark.parametrize("variable", ["TERM", "FORCE_COLOR"])
def test_lines_of_a_run(variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(variable, "1")  # colors in a pipe are no reason for a live display
    events: list[Event] = [
        Submitted(Allocation("tree", 10)),
        Evaluated(Allocation("tree", 10), Measurement(1.0, 0.5, 0.25), 3.5),
        Evaluated(Allocation(HOSTILE, 10), Failure("crash", HOSTILE, 1.0), 4.0),
    ]
    with Display("2 workers") as display:
        for event in events:
            display.take(event, account())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[     3.5 s] tree with 10 rows: training 1.0000, validation 0.5000 (0.25 s)",
        f"[     4.0 s] {SHOWN} with 10 rows failed: crash ({SHOWN})",
    ]
    with Display("2 workers", quiet=True) as display:
        for event in events:
            display.take(event, account())
    assert capsys.readouterr().err == ""


MEASURED = Measurement(1.0, 0.75, 2.0, {"accuracy": 0.75, "f1": 0.5, "peak_mb": 100.0})
TREE: list[Event] = [Asked(Allocation("tree", 40), None), Evaluated(Allocation("tree", 40), MEASURED, 2.0)]
FAILED: list[Event] = [
    Asked(Allocation(HOSTILE, 40), None),
    Evaluated(Allocation(HOSTILE, 40), Failure("error", HOSTILE, 0.5), 4.0),
]


def printed(value: Account, width: int = 160) -> str:
    out = Console(file=StringIO(), width=width, emoji=False, highlight=False)
    print_run(out, value, place="2 workers")
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_a_result_in_words() -> None:
    text = printed(account(*TREE, *FAILED, Selected("tree", 4.0)))
    assert "Selected tree: accuracy 0.7500 on all 40 training rows." in text
    assert "Other metrics: f1 0.5000." in text, "the score itself has been said"
    binary = account(*TREE, Selected("tree", 4.0))
    binary.scores = Scores("f1", 100)
    assert "Other metrics: accuracy 0.7500, f1_macro 0.5000." in printed(binary), "a mean, unlike the score"
    assert "2 trainings of 80 rows in all: 4.0 s on 2 workers, 2.5 s of training." in text
    assert f"Failed: 1 x error ({SHOWN}): {SHOWN}" in text
    assert "\x1b" not in text
    killed = account(TREE[0], Evaluated(Allocation("tree", 40), replace(MEASURED, retries=2), 2.0))
    assert "Killed, but not by pydaub, and begun again: tree with 40 rows." in printed(killed)
    assert killed.decisions[-1].words == "tree with 40 rows was killed, but not by pydaub, and begun again 2 times."
    stopped = printed(account(*TREE, Stopped("time limit", 3.0)))
    assert "The run ended early (time limit). The best so far is tree: accuracy 0.7500 with 40 of 40 rows." in stopped
    assert re.search(r"^tree .* best so far", stopped, flags=re.MULTILINE)


@pytest.mark.parametrize("width", [20, 60])
def test_a_narrow_terminal_eats_no_name(width: int) -> None:
    assert SHOWN in re.sub(r"\s", "", printed(account(*TREE, *FAILED, Selected("tree", 4.0)), width))


def drawn(value: Account, width: int) -> list[str]:
    """Return the lines of the live display."""
    out = Console(file=StringIO(), width=width, emoji=False, highlight=False)
    out.print(live_table(value, width))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("score", [0.75, 1.2e-6, -1e6])
def test_the_live_display_fits_with_any_names_and_scores(width: int, score: float) -> None:
    """The verdict is broken between words, the leader comes first, and each learner has a line of its own."""
    names = [f"grid(max_depth=10, min_samples_leaf={number}, {'x' * 60}={number})" for number in range(30)]
    strategy = Full(names, Schedule((40_000,)))
    kind = Scores("neg_root_mean_squared_error", 500, 0.0, proportion=False)
    value = Account(strategy, {**strategy.settings, "scores": kind.to_json()}, held=True)
    for number in range(20):
        allocation = Allocation(names[number], 40_000)
        value.take(Asked(allocation, None))
        value.take(Evaluated(allocation, Measurement(score, score - abs(score) * number / 100, 1.0), number + 1.0))
    found, said = drawn(value, width), verdict(value).line
    assert all(len(line) <= width for line in found)
    assert " ".join(line.strip() for line in found).startswith(said), "only spaces are broken"
    place = next(place for place, line in enumerate(found) if "▶" in line)
    assert found[place - 1].split()[:2] == ["learner", "expected"]
    leader = value.leader
    assert leader is not None
    assert leader.learner[-5:] in found[place], "the end of a name tells it from the others"
    rows = found[place : place + LEADERS]
    assert len({row.split("40,000")[0] for row in rows}) == LEADERS
    assert all(score_text(score - abs(score) * number / 100) in "".join(rows) for number in (0, 1))
    assert "... and 20 more" in found


class Looked(StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_sentences_are_broken_between_words_on_a_terminal_and_nowhere_else() -> None:
    value = account(*TREE, *FAILED, Selected("tree", 4.0))
    out = Console(file=Looked(), width=50, emoji=False, highlight=False, force_terminal=True, color_system=None)
    print_run(out, value, place="2 workers")
    assert isinstance(out.file, StringIO)
    text = out.file.getvalue()
    assert all(len(line) <= 50 for line in text.splitlines())
    assert verdict(value).line in " ".join(line.strip() for line in text.splitlines())
    assert verdict(value).line == printed(value, 50).splitlines()[0]


def test_names_in_lists_are_no_markup() -> None:
    out = Console(file=StringIO(), width=160)
    columns = ("column", "kind", "missing", "distinct")
    print_table(out, columns, [(HOSTILE, "numeric", 1234, 5678), ("[b]", "text", 0, None)])
    print_table(out, ("learner", "description"), [(HOSTILE, "[i]what[/i] :smile:")])
    assert isinstance(out.file, StringIO)
    text = out.file.getvalue()
    assert text.count(SHOWN) == 2
    for part in ("1,234", "5,678", "[b]", "[i]what[/i] :smile:"):
        assert part in text
    assert "\x1b" not in text


def test_small_words() -> None:
    assert counted(1, "worker") == "1 worker"
    assert counted(1000, "worker") == "1,000 workers"
    assert counted(0, "worker") == "0 workers"
    assert plain("a\tb\x00\x7f\x85ü") == "a\\tb\\x00\\x7f\\x85ü"
