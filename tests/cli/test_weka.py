"""WEKA's learners in every command: run, resume, predict, compare, replay, learners."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from cli.commands import PATIENCE, Done, call, mixed, refused, started, written
from pydaub import DaubSearch
from pydaub.data import load
from pydaub.learners.weka.jar import DEBIAN, VARIABLE
from weka_here import needs_old_weka, needs_weka, newer_weka

FEW = "weka-j48,weka-naive-bayes,weka-zero-r"

pytestmark = needs_weka


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(mixed(1500).drop(columns=["flag", "price", "story"]), tmp_path_factory.mktemp("weka") / "mixed.csv")


def test_a_run_selects_a_learner_that_predicts(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    two = "weka-j48,weka-zero-r"
    done = call("run", data, "--target", "label", "--learners", two, "--jobs", 1, "--out", folder, "--json", "--quiet")
    assert done.json["failures"] == []
    assert done.json["selected"] == "weka-j48"
    assert done.json["model"] == "model.skops"
    out = tmp_path / "new.csv"
    predicted = call("predict", folder, data, "--proba", "--out", out)
    assert (predicted.code, predicted.err) == (0, "")
    answers = pd.read_csv(out)
    assert (answers["prediction"] == pd.read_csv(data)["label"]).mean() > 0.6
    versions = json.loads((folder / "journal.jsonl").read_text().splitlines()[0])["versions"]
    assert versions["jpype1"]
    assert versions["weka"].startswith("3.")


@pytest.mark.slow("weka")
def test_compare_runs_them_and_replay_reads_their_curves(data: Path, tmp_path: Path) -> None:
    done = call("compare", data, "--target", "label", "--learners", FEW, "--strategies", "daub,full", "--out", tmp_path)
    assert done.code == 0, done.err
    assert "weka-" in done.out
    table = ["learner,size,train_score,valid_score,seconds"]
    for path in tmp_path.glob("*/journal.jsonl"):
        for line in map(json.loads, path.read_text().splitlines()):
            if line["kind"] == "evaluated":
                scores = (line["train_score"], line["valid_score"], line["seconds"])
                table.append(",".join(map(str, (line["learner"], line["size"], *scores))))
    (tmp_path / "curves.csv").write_text("\n".join(dict.fromkeys(table)) + "\n")
    assert call("replay", tmp_path / "curves.csv", "--strategy", "daub").code == 0


@needs_old_weka
def test_learners_lists_them() -> None:
    done = call("learners", "weka", "--json")
    assert len(done.json) == 41
    assert done.json["weka-jrip"] == "Rules by RIPPER"


def apart(*arguments: object) -> Done:
    """Run the command in another process, because the JVM of this one may already have another WEKA."""
    with started(*arguments) as process:
        out, err = process.communicate(timeout=PATIENCE)
        return Done(process.returncode, out, err)


@pytest.mark.slow("versions")
def test_a_run_uses_and_remembers_the_jar_that_the_user_names(data: Path, tmp_path: Path) -> None:
    jar, folder = newer_weka(), tmp_path / "run"
    some = "weka,-weka-[!drz]*,-weka-de*,-weka-r[aeo]*,weka-j48"  # two that are in this WEKA, and some that are not
    asked = ("run", data, "--target", "label", "--learners", some, "--weka-jar", jar, "--jobs", 2, "--out", folder)
    done = apart(*asked, "--time-limit", "0.1s")
    assert "Left out: weka-rbf-network, weka-dtnb," in done.err
    assert json.loads((folder / "journal.jsonl").read_text().splitlines()[0])["versions"]["weka"].startswith("3.9")
    if Path(DEBIAN).exists():
        another = apart("resume", folder, "--weka-jar", DEBIAN)
        assert another.code == 2
        assert "must be continued with the WEKA that it was started with, 3.9" in another.err
    resumed = apart("resume", folder, "--json", "--quiet").json  # the jar is not named again
    assert resumed["failures"] == []
    assert resumed["selected"].startswith("weka-")
    assert resumed["model"] == "model.skops"
    assert apart("predict", folder, data, "--weka-jar", jar, "--out", tmp_path / "new.csv").code == 0
    if Path(DEBIAN).exists():
        another = apart("predict", folder, data)  # a jar is code, so a jar that only the folder names is not run
        assert another.code == 2
        assert "WEKA must have the version that trained this learner, 3.9" in another.err
        assert "Name its jar with `--weka-jar`" in another.err


def test_a_bad_jar_is_refused_before_a_folder_is_created(data: Path, tmp_path: Path) -> None:
    for jar in ("nowhere.jar", data):
        asked = ("run", data, "--target", "label", "--learners", "weka", "--weka-jar", jar, "--out", tmp_path / "run")
        assert "must name WEKA's jar, got" in refused(*asked)
        assert "must name WEKA's jar, got" in refused("learners", "weka", "--weka-jar", jar)
    unneeded = ("run", data, "--target", "label", "--learners", "tree", "--weka-jar", "nowhere.jar")
    assert "must name WEKA's jar, got" in refused(*unneeded, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert "WEKA's are classifiers" in refused("learners", "weka", "--task", "regression")


@pytest.mark.slow("weka")
def test_a_search_accepts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = load("parity:2000", None).train(1400)
    search = DaubSearch(learners="weka-j48,weka-naive-bayes,weka-part", n_jobs=2).fit(sample.X, sample.y)
    assert str(search.best_learner_).startswith("weka-")
    assert set(search.predict(sample.X)) <= {"even", "odd"}
    assert search.predict_proba(sample.X).shape == (1400, 2)
    monkeypatch.setenv(VARIABLE, "/nowhere/weka.jar")
    with pytest.raises(ValueError, match="must name WEKA's jar"):
        DaubSearch(learners="weka").fit(sample.X, sample.y)
