"""Bounds of other packages: that of docs/extending.md, built and installed for real, and broken ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pydaub import Daub, InputError, Schedule, Scores
from pydaub.algorithm.strategies.bounded import BOUND
from pydaub.installed import load, names

ROOT = Path(__file__).parents[1]
CURVES = ROOT / "src/pydaub/recorded/parity.csv"
OWN = ["bernstein", "concave", "hoeffding", "isotonic", "spline"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package of the page, and install its wheel into a folder."""
    page, place = (ROOT / "docs/extending.md").read_text(), tmp_path_factory.mktemp("package")
    (toml,) = re.findall(r"^```toml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    system = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    project = '[project]\nname = "cautious"\nversion = "1"\n'
    (place / "pyproject.toml").write_text(f"{system}{project}{toml}")
    (place / "cautious.py").write_text(code)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=place, check=True, timeout=120)
    (wheel,) = (place / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "site")
    return place / "site"


def pydaub(*words: object, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"PYTHONPATH": str(site)} if site else {})}
    command = [sys.executable, "-m", "pydaub", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_a_bound_of_another_package_is_used_by_name(site: Path, tmp_path: Path) -> None:
    """Also in a journal, which needs the package to be continued."""
    journal = tmp_path / "journal.jsonl"
    done = pydaub("replay", CURVES, "--bound", "cautious", "--journal", journal, "--json", site=site)
    assert done.returncode == 0, done.stderr
    papers = json.loads(pydaub("replay", CURVES, "--json").stdout)
    third = next(step["bound"] for step in json.loads(done.stdout)["allocations"] if step["bound"] is not None)
    first = next(step["bound"] for step in papers["allocations"] if step["bound"] is not None)
    assert third == pytest.approx(first + 0.01)
    assert json.loads(journal.read_text().splitlines()[0])["settings"]["bound"] == "cautious"
    assert pydaub("replay", CURVES, "--bound", "cautious", "--journal", journal, site=site).returncode == 0
    without = pydaub("replay", CURVES, "--bound", "cautious", "--journal", journal)
    assert without.returncode == 2
    assert "`bound` must be one of slope, line, bernstein" in without.stderr
    near = pydaub("replay", CURVES, "--bound", "cautions", site=site)
    assert "got 'cautions'. Did you mean cautious?" in near.stderr


def test_pydaubs_own_bounds_are_found_as_others_are() -> None:
    assert [name for name in BOUND.names() if name in {*OWN, *BOUND.choices}] == [*BOUND.choices, *OWN]


def test_the_core_looks_nothing_up() -> None:
    """Neither entry points nor extensions are imported for what the core has."""
    code = (
        "import sys; from pydaub import Allocation, Daub, Measurement, Schedule;"
        "strategy = Daub(['a', 'b'], Schedule((1, 2, 4, 8)));"
        "[strategy.tell(asked, Measurement(1.0, 0.5, 0.1)) for asked in iter(strategy.ask, None)];"
        "print([name for name in sys.modules if name.startswith(('pydaub.extensions', 'importlib.metadata'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


BROKEN: Any = [
    ("raise ImportError('no such library')", "`bound` odd must be importable, got ImportError: no such library"),
    ("", "`bound` odd must be importable, got AttributeError"),
    ("def make(): ...", "`bound` odd must be made from BoundOptions, got TypeError"),
    ("def make(options): ...", "`bound` must be called with a curve and the full size, got None"),
]


@pytest.mark.parametrize(("code", "message"), BROKEN)
def test_a_broken_package_is_an_error_that_names_it(
    code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(tmp_path, "one", code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_one", raising=False)
    with pytest.raises(InputError, match=message):
        Daub(["a"], Schedule((10, 20)), "odd", scores=Scores(rows=500))


def test_two_packages_with_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for which in ("one", "two"):
        offered(tmp_path, which, "def make(options): return min")
    monkeypatch.syspath_prepend(tmp_path)
    assert names("pydaub.bounds").count("odd") == 1
    with pytest.raises(InputError, match="`bound` odd must be of one package, got 2: odd-one, odd-two"):
        load("pydaub.bounds", "odd", "bound")


def offered(place: Path, which: str, code: str) -> None:
    """Write an installed package, as installers leave it."""
    about = place / f"odd_{which}-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: odd-{which}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[pydaub.bounds]\nodd = odd_{which}:make\n")
    (place / f"odd_{which}.py").write_text(code)
