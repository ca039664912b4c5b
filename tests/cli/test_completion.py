"""Completion in real shells, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import PATIENCE, Finished, environment
from pydaub.cli import completion
from pydaub.learners.sklearn import CLASSIFIERS
from pydaub.learners.weka.table import WEKA
from pydaub.records import PORTFOLIOS

BASH = """
eval "$(pydaub --show-completion bash)"
COMP_WORDS=({words} ''); COMP_CWORD={count}; COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}
COMP_WORDS[$COMP_CWORD]='{last}'
$(complete -p pydaub | sed -E 's/.*-F ([^ ]+).*/\\1/') pydaub
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def environment_with_pydaub() -> dict[str, str]:
    folder = str(Path(sys.executable).parent)
    return environment(PATH=os.pathsep.join([folder, os.environ["PATH"]]), HOME=str(Path.cwd()))


def offered(shell: str, *words: str) -> list[str]:
    """Return what a shell offers for the last of these words."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    *before, last = words
    line = " ".join(["pydaub", *words])
    if shell == "bash":
        code = BASH.format(words=" ".join(["pydaub", *before]), count=len(words), line=line, last=last)
    elif shell == "fish":
        code = f"pydaub --show-completion fish | source; complete -C '{line}'"
    else:  # zsh completes in its editor only, so the script's request is made as it makes it
        code = f"_TYPER_COMPLETE_ARGS='{line}' _PYDAUB_COMPLETE=complete_zsh pydaub"
    done = subprocess.run(
        [program, "-c", code],
        env=environment_with_pydaub(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "Traceback" not in done.stderr, done.stderr
    if shell == "zsh":
        return [part for part in done.stdout.split('"') if part and not part.startswith(("_arguments", " ", "(", "\n"))]
    return [found.partition("\t")[0] for found in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "knn-25" in " ".join(offered(shell, "run", "x.csv", "--learners", "tree,knn-2"))


def test_every_shell_has_a_script() -> None:
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [Path(sys.executable).with_name("pydaub"), "--show-completion", shell],
            env=environment_with_pydaub(),
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        assert "_PYDAUB_COMPLETE" in done.stdout


def test_learners_are_offered_by_name() -> None:
    names = {recipe.name for recipe in CLASSIFIERS}
    assert {*PORTFOLIOS, *names} <= {*completion.learners("")}
    assert {*completion.learners("")} <= {*PORTFOLIOS, *names, *(recipe.name for recipe in WEKA)}
    assert completion.learners("tree,-knn-2") == ["tree,-knn-25"]
    assert completion.learners("nobody") == []


def test_runs_are_offered(finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert completion.runs("") == []
    for place in ("pydaub-runs/first", "second"):
        shutil.copytree(finished.folder, place)
    assert completion.runs("") == ["pydaub-runs/", "second", "pydaub-runs/first"]
    assert completion.runs("pydaub-runs/f") == ["pydaub-runs/first"]
    assert completion.runs(f"{tmp_path}/s") == [f"{tmp_path}/second"]
    assert completion.runs("nowhere/x") == []


def test_completion_imports_no_heavy_library() -> None:
    code = (
        "import sys, pydaub.cli; pydaub.cli.everything()\n"
        "from pydaub.cli import completion; completion.learners(''); completion.runs('')\n"
        "print({'sklearn', 'pandas', 'numpy', 'pyarrow', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == "set()\n"
