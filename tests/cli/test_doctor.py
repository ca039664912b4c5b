from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from unittest.mock import Mock

import pytest

from cli.commands import call
from pydaub.cli import doctor
from pydaub.isolation import trial
from pydaub.isolation.nursery import Limits
from pydaub.learners.weka import jar

ROOT = Path(__file__).parents[2]


def test_this_machine_is_well() -> None:
    found = call("doctor", "--json").json
    assert found["ok"]
    assert len(found["isolation"]) == 5
    assert found["packages"]["scikit-learn"]["problem"] is None
    assert found["extras"]["boost"]["install"] is None
    shown = call("doctor").out
    assert f"scikit-learn   {found['packages']['scikit-learn']['version']}" in shown
    assert shown.endswith("Everything that pydaub needs is here.\n")


def test_every_extra_for_users_is_explained() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*doctor.USES} == {*extras} - {"all", "build", "dev", "docs"}


def test_wekas_jar_is_looked_for_where_it_is_used() -> None:
    assert (doctor.JAR_VARIABLE, doctor.DEBIANS_JAR) == (jar.VARIABLE, jar.DEBIAN)


def test_a_machine_without_limits_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call within its limits ends well, which is not what the trial wants to see."""
    monkeypatch.setattr(trial, "TRIALS", (("a call that takes too long is ended", "answer", Limits(), "timeout"),))
    monkeypatch.setattr(doctor, "requires", lambda _: ["numpy>=99", "nowhere", "nobody; extra == 'boost'"])
    done = call("doctor")
    assert done.code == 1
    assert done.out.endswith("Something does not work: see above.\n")
    for words in ("FAILED", "must be >=99", "missing", "lacks nobody", "`pip install 'pydaub[boost]'`"):
        assert words in done.out


def test_source_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", Mock(side_effect=PackageNotFoundError("pydaub")))
    done = call("doctor")
    assert done.code == 2
    assert "pydaub must be installed, got only its source" in done.err
