from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import PATIENCE, call, refused
from pydaub import __version__
from pydaub.cli import everything

COMMANDS = ("run", "resume", "show", "predict", "compare", "learners", "demo", "replay", "recorded")


def test_the_version() -> None:
    assert call("--version") == (0, f"pydaub {__version__}\n", "")


def test_help_names_every_command() -> None:
    done = call("--help")
    assert (done.code, done.err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in done.out
    assert done.out.partition("Commands:\n")[2].startswith("  run "), "what most people need comes first"
    assert call().code == 2, "nothing was asked"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str) -> None:
    done = call(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fly",),
        ("--fly",),
        ("run",),
        ("run", "x.csv", "--fly"),
        ("run", "x.csv", "--strategy", "magic"),
        ("run", "x.csv", "--task", "clustering"),
        ("run", "x.csv", "--first-size", "many"),
        ("run", "x.csv", "--cv", "2.5"),
        ("run", "x.csv", "--validation-fraction", "half"),
        ("run", "x.csv", "--jobs", "all"),
        ("run", "x.csv", "--seed", "lucky"),
        ("run", "x.csv", "--target"),
        ("resume",),
        ("resume", "x", "--jobs", "all"),
        ("show",),
        ("predict", "x"),
        ("learners", "--task", "clustering"),
        ("demo", "--jobs", "all"),
        ("compare",),
        ("export", "x"),
        ("steer", "x"),
    ],
)
def test_usage_errors_have_exit_code_2(arguments: tuple[str, ...]) -> None:
    line = refused(*arguments)
    command = f"pydaub {arguments[0]}" if arguments[0] not in {"fly", "--fly"} else "pydaub"
    assert line.endswith(f". `{command} --help` says more.")


def test_an_empty_encoding_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("n,y\n" + "1.5,u\n2.5,v\n" * 20)
    for asked in (("run", rows, "--target", "y"), ("run", "parity:200"), ("prepare", rows, "--target", "y")):
        out = tmp_path / "out"
        assert "`encoding` must be one of text that Python knows" in refused(*asked, "--out", out, "--encoding", "")
        assert not out.exists()


ODD = ("x" * 5000, "x " * 2500, "x\n" * 2500, "x, " * 2500, "'" * 5000, "\x1b[31m" * 1000)


@pytest.mark.parametrize("text", ODD, ids=lambda text: repr(text[:4]))
@pytest.mark.parametrize(
    "arguments",
    [
        ("TEXT",),
        ("--TEXT",),
        ("run", "x.csv", "--TEXT"),
        ("run", "TEXT", "--target", "y"),
        ("run", "x.csv", "--target", "y", "TEXT"),
        *(("run", "parity:200", option, "TEXT") for option in ("--task", "--seed", "--jobs", "--strategy", "--target")),
        *(
            ("run", "parity:200", option, "TEXT")
            for option in ("--learners", "--scoring", "--ratio", "--sizes", "--kind")
        ),
        *(("run", "parity:200", option, "TEXT") for option in ("--time-limit", "--encoding", "--delta", "--drop")),
        ("show", "TEXT"),
        ("steer", "x", "TEXT"),
        ("learners", "TEXT"),
    ],
    ids=" ".join,
)
def test_a_refusal_is_one_line_that_repeats_little_of_the_input(arguments: tuple[str, ...], text: str) -> None:
    done = call(*(argument.replace("TEXT", text) for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("pydaub: ")
    assert len(done.err) <= 2010
    assert "x" * 301 not in done.err


def test_the_installed_command() -> None:
    """A real process: data on stdout alone, and a pipe that is closed early is no drama."""
    command = Path(sys.executable).with_name("pydaub")

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, shell=True, capture_output=True, text=True, check=False, timeout=PATIENCE)

    done = shell(f"{command} replay nowhere.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pydaub: nowhere.csv must be a readable file, got No such file or directory.\n"
    assert shell(f"{sys.executable} -m pydaub --version").stdout == f"pydaub {__version__}\n"
    assert "Traceback" not in shell(f"{command} recorded | head -n 1").stderr
    full = shell(f"{command} recorded > /dev/full")
    assert (full.returncode, full.stderr.count("\n")) == (1, 1)
    assert "Cannot write the output: No space left on device" in full.stderr


def test_asking_for_help_imports_no_heavy_library() -> None:
    heavy = {"sklearn", "pandas", "numpy", "pyarrow", "scipy"}
    code = f"import sys, pydaub.cli; pydaub.cli.everything(); print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("module", ["pydaub.errors", "typer", "rich.console", "pydaub.cli.session", "sklearn"])
def test_ctrl_c_while_the_command_imports_prints_no_traceback(module: str) -> None:
    code = f"""
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from pydaub.cli import main
main(["run", "parity:100", "--out", "nowhere", "--jobs", "1"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(("error", "reason"), [(EOFError, "ends too early"), (MemoryError, "not enough memory")])
def test_a_command_never_ends_without_a_reason(error: type[Exception], reason: str) -> None:
    """Typer itself would print "Aborted!" alone."""

    def faulty() -> None:
        raise error("of a file")

    everything().command("faulty", hidden=True)(faulty)
    done = call("faulty")
    everything().registered_commands.pop()
    assert (done.code, done.out) == (1, "")
    assert reason in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--first-size", "--cv", "--seed", "--jobs", "--validation-fraction", "--delta"])
def test_a_number_with_an_underscore_is_refused(option: str) -> None:
    """Python would read 0_1, a slip of the pen for 0.1, as 1."""
    done = call("run", "parity:100", option, "0_1")
    assert done.code == 2
    assert f"Invalid value for '{option}': must be a " in done.err
    assert "number, got '0_1'." in done.err
