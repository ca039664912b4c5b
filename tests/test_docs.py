"""Documentation that is run: every Python block of a page, in order, in one namespace."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.main import get_command

import pydaub
from cli.commands import call, numbers, written
from pydaub import PAPER_SIZES, Daub, Frugal, Schedule, SlopeBound, learners
from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO
from pydaub.algorithm.strategies import DEFAULT, PARAMETERS, STRATEGIES, make_strategy
from pydaub.cli import everything
from pydaub.data import prepare
from pydaub.data.schema import Column, Schema
from pydaub.evaluation.evaluate import LEAST_SCORED, Task
from pydaub.events import Event
from pydaub.learners import portfolio, recipes
from pydaub.learners.weka.table import WEKA
from pydaub.records import METRICS, PORTFOLIOS, VALIDATION_FRACTION, VALIDATION_ROWS
from pydaub.runs.folder import Request
from pydaub.runs.plan import Sizes, plan
from weka_here import needs_weka

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/guide.md",
    "docs/algorithm.md",
    "docs/interface.md",
    "docs/coming-from.md",
    pytest.param("docs/weka.md", marks=needs_weka),
]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert blocks
    namespace: dict[str, object] = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)  # noqa: S102  # our own pages


def test_the_code_for_other_libraries_names_what_they_have() -> None:
    """All of it is Python; what it imports is there wherever the library is installed."""
    page = (ROOT / "docs/coming-from.md").read_text()
    blocks = re.findall(r"^```py\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        compile(block, "docs/coming-from.md", "exec")
        first = block.splitlines()[0]
        if find_spec(first.split()[1].partition(".")[0]):
            exec(first, {})  # noqa: S102  # our own page


def test_the_page_on_the_journal_names_every_event_and_every_setting() -> None:
    page = (ROOT / "docs" / "journal.md").read_text()
    told = {name for row in re.findall(r"^\|([^|]*)\|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert {kind.__name__.lower() for kind in get_args(Event)} <= told
    rows = np.arange(60.0).reshape(-1, 1)
    task = Task(prepare(rows, rows[:, 0] > 30), portfolio("lightgbm-1,tree", prepare(rows, rows[:, 0] > 30).schema))
    every = {**plan(task, "frugal").settings, **plan(task, "daub").settings}
    more = Frugal(["a 1", "b"], Schedule((1, 2)), members=2, spaces={"a": None}, families={"b": "c"}).settings
    assert {*every, *more} - told == set()


# What keeps a command short here: a few learners instead of all, and a folder that the next commands find.
SHORTER = {
    "run adult.csv": ["--learners", "tree,knn-5", "--out", "RUN"],
    "run prepared": ["--learners", "tree,knn-5"],
    "run parts": ["--learners", "tree,knn-5"],
    "run 'parts": ["--learners", "tree,knn-5"],
    "compare": ["--learners", "tree,knn-5", "--strategies", "daub,full"],
}


def test_the_guides_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "src/pydaub/recorded/parity.csv", tmp_path / "curves.csv")
    for name, target in (("adult.csv", "income"), ("data.csv", "label"), ("new.csv", "income")):
        written(numbers(100).rename(columns={"label": target}), tmp_path / name)
    for name in ("big.parquet", "parts/2024-01.parquet", "parts/2024-02.parquet", "new/a.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        numbers(100).to_parquet(tmp_path / name)
    (tmp_path / "mine.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\nlearners = {'bayes': GaussianNB()}\n"
    )
    commands = re.findall(r"^pydaub (.*?)(?: +#.*)?$", (ROOT / "docs/guide.md").read_text(), flags=re.MULTILINE)
    assert len(commands) > 5
    for written_down in commands:
        command = re.sub(r"s3://bucket/(folder|parts)", "parts", written_down)  # there is no such bucket
        more = next((more for start, more in SHORTER.items() if command.startswith(start)), [])
        done = call(*shlex.split(command.replace("mine.py,sklearn", "mine.py,tree")), *more)
        assert done.code == 0, f"{command}: {done.err}"


def test_the_page_on_commands_is_enough_to_run_three_of_them(tmp_path: Path) -> None:
    page = (ROOT / "docs/commands.md").read_text().split("## A fine-tuning script")[0]
    for name, program in re.findall(r"^`(\w+\.awk)` .*?```awk\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(program)
    (listing,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (script,) = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "learners.toml").write_text(listing)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    more = "sh best/every-row.sh"
    done = subprocess.run(  # our own page
        ["sh", "-ec", f"{script}{more}"],  # as on the page
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Selected (steps-\d+): neg_score -0\.[23]", done.stdout, re.MULTILINE)


def test_the_readmes_loop_is_short_and_finds_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    (loop,) = [block for block in blocks if "strategy.ask()" in block]
    assert len([line for line in loop.splitlines() if line.strip()]) <= 12
    exec(compile(loop, "README.md", "exec"), {})  # noqa: S102  # our own page
    assert capsys.readouterr().out.endswith("the best on all rows: forest\n")


def test_every_file_is_on_the_map() -> None:
    architecture = (ROOT / "docs/architecture.md").read_text()
    for path in (ROOT / "src/pydaub").rglob("*.py"):
        if path.name != "__init__.py":
            assert path.name in architecture, path


def test_the_quick_start_says_what_the_default_is_and_how_to_run_the_papers_algorithm() -> None:
    """With the parameters of Algorithm 1: its bound, capped by f^T, and the sizes of the paper's experiments."""
    quick_start = (ROOT / "README.md").read_text().split("## ")[1]
    assert f"`{DEFAULT}`" in quick_start
    assert "`--strategy daub --sizes paper`" in quick_start
    schedule, _ = Sizes(sizes="paper").schedule(PAPER_SIZES[-1])
    strategy = make_strategy("daub", ["a", "b"], schedule)
    assert schedule.sizes == PAPER_SIZES
    assert strategy.settings == Daub(["a", "b"], Schedule(PAPER_SIZES), SlopeBound(points=3, train_cap=True)).settings


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    assert any("docs/figures/page.png" in line for line in lines[:10]), "a picture comes first"


def test_the_page_on_weka_lists_the_41_as_they_are() -> None:
    page = (ROOT / "docs/weka.md").read_text()
    lines = re.findall(r"^\| (\d+) \| `(\S+)` \| (\S+) \| `?(.*?)`? \| (\w+) \| `(\S+)` \|", page, flags=re.MULTILINE)
    kernels = "weka.classifiers.functions.supportVector."
    made = [recipe.make() for recipe in WEKA]
    assert [(name, class_name, options) for _, name, class_name, options, _, _ in lines] == [
        (recipe.name, each.class_name.removeprefix("weka.classifiers."), each.options.replace(kernels, "..."))
        for recipe, each in zip(WEKA, made, strict=True)
    ]
    known = recipes(Schema("matrix", "classification", 1, (Column("a", "numeric"),), (0, 1)))
    assert {closest for *_, closest in lines} <= set(known)


def test_links_lead_somewhere() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("experiments/*.md"),
        *ROOT.glob("src/**/*.md"),
    ]
    assert len(pages) > 7
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_tests_that_the_page_on_security_names_exist() -> None:
    rows = re.findall(r"^\|(.*)\|$", (ROOT / "docs" / "security.md").read_text(), flags=re.MULTILINE)[2:]
    for row in rows:
        *_, trusted, _, held = (cell.strip() for cell in row.split("|"))
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", held)
        assert named or trusted == "**yes**", row
        for file, test in named:
            assert f"def {test}(" in (ROOT / file).read_text(), test


def test_the_api_pages_have_every_public_name() -> None:
    pages = "".join(path.read_text() for path in ROOT.glob("docs/api/*.md"))
    shown = set(re.findall(r"^\.\. auto(?:class|data|exception|function):: (\w+)$", pages, flags=re.MULTILINE))
    assert shown == {*pydaub.__all__, *learners.__all__} - {"Portfolio"}  # a type of our own annotations
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs/api/index.md").read_text(), flags=re.MULTILINE))
    assert listed == shown


def test_links_that_lead_nowhere_and_what_is_loaded_from_elsewhere_are_found(tmp_path: Path) -> None:
    """By the script that `make docs` runs on the site."""
    (tmp_path / "index.html").write_text('<p id="here"><a href="broken.html">other</a></p>')
    (tmp_path / "broken.html").write_text(
        '<a href="index.html#here"></a><a href="index.html#nowhere"></a><img src="https://example.org/">'
    )
    command = [sys.executable, "docs/links.py", str(tmp_path)]
    links = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert links.stdout.splitlines() == [
        "broken.html loads https://example.org/",
        "broken.html links to index.html#nowhere, which does not exist",
    ]


@pytest.mark.parametrize(("command", "least"), [("run", 25), ("resume", 6), ("compare", 15), ("replay", 10)])
def test_the_guide_names_every_option(command: str, least: int) -> None:
    guide = (ROOT / "docs/guide.md").read_text()
    commands: Any = get_command(everything())
    options = {name for parameter in commands.commands[command].params for name in parameter.opts}
    options = {name for name in options if name.startswith("--")} - {"--help"}
    assert len(options) >= least
    for option in options:
        assert f"`{option}`" in guide, option


def test_the_guide_names_the_defaults_as_they_are() -> None:
    section = (ROOT / "docs/guide.md").read_text().split("### Options of `pydaub run`\n")[1].split("\n### ")[0]
    rows = dict(re.findall(r"^\| (`--[^|]+`) \| (.*) \|$", section, re.MULTILINE))
    for name, default in {
        **{name: each.default for name, each in PARAMETERS.items() if each.kind is float},
        "validation_fraction": VALIDATION_FRACTION,
        "validation_rows": VALIDATION_ROWS,
        "seed": Request("rows.csv").seed,
    }.items():
        assert f"({default:,})" in rows[f"`--{name.replace('_', '-')}`"], name
    chosen = {name: each.default for name, each in PARAMETERS.items() if each.kind is str}
    chosen |= {"strategy": DEFAULT, "learners": PORTFOLIOS[0], "metrics": METRICS[0]}
    for name, default in chosen.items():
        assert re.search(rf"`{default}`[^;`]*\bdefault\b", rows[f"`--{name}`"]), name
    few = [f"`{name}`" for name, kind in STRATEGIES.items() if kind.score_rows == "few"]
    assert f"(the default with {' and '.join(few)})" in rows["`--score-rows`"]
    assert f"{LEAST_SCORED:,} validation rows" in rows["`--score-rows`"]
    assert f"the paper's {PAPER_FIRST_SIZE} and {PAPER_RATIO} by default" in rows["`--first-size`, `--ratio`"]


def test_the_readmes_figures_are_those_of_the_pages_that_it_names() -> None:
    readme = (ROOT / "README.md").read_text()
    odd, _, even = (ROOT / "benchmarks/README.md").read_text().partition("**Figures on even ids** of LCDB 1.0")
    cell = r"([\d.]+) times(?: faster)?,(?: loss)? ([\d.]+) %(?:, worst ([\d.]+) %)?"
    found = re.findall(rf"^\| .* \| {cell} \|(?: {cell})? \| {cell} \|$", readme, flags=re.MULTILINE)
    assert len(found) == 9
    assert sum(bool(row[3]) for row in found) == 6, "of the others there are no cuts"
    for place, page in ((0, odd), (3, odd), (6, even)):
        for row in found:
            speed_up, loss, worst = row[place : place + 3]
            if not speed_up:
                continue
            recorded = re.search(rf"\| {speed_up} \| {float(loss):.2f} \| [\d.]+ \| ([\d.]+) \|", page)
            assert recorded, row
            digits = len(worst.partition(".")[2])
            assert f"{float(recorded[1]):.{digits}f}" == (worst or "0"), row


@pytest.mark.parametrize(("file", "extra"), [("requirements.lock", "dev"), ("requirements-demo.lock", "build")])
def test_the_locks_are_exact_and_name_no_registry(file: str, extra: str) -> None:
    lock = (ROOT / file).read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"][extra]]
    for requirement in wanted:
        if requirement.startswith("pydaub["):
            continue  # its own extras, which are in the lock like the rest
        name = re.split(r"[^\w-]", requirement)[0]
        assert re.search(rf"^{name}(\[[\w,-]+\])?==[\w.]+ ", lock, flags=re.MULTILINE), name
    assert "://" not in lock


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-demo.lock"])
def test_the_locks_name_the_extras_that_packages_ask_for(file: str) -> None:
    """With hashes, pip refuses a requirement such as coverage[toml] if only coverage is in the lock."""
    locked = re.findall(r"^([\w.-]+)(?:\[([\w,-]+)\])?==", (ROOT / file).read_text(), flags=re.MULTILINE)
    extras = {canonicalize_name(name): {"", *filter(None, given.split(","))} for name, given in locked}
    installed = {name: each for name in extras for each in metadata.distributions(name=name)}
    asked = [
        (name, requirement)
        for name, each in installed.items()
        for requirement in map(Requirement, each.requires or ())
        if any(requirement.marker is None or requirement.marker.evaluate({"extra": one}) for one in extras[name])
    ]
    assert asked
    for name, requirement in asked:
        assert requirement.extras <= extras.get(canonicalize_name(requirement.name), set()), (
            f"{name} asks for {requirement}"
        )
