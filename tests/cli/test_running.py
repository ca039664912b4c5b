"""`pydaub run`, `resume` and `demo`: what each option does, what is refused, and runs that are cut short."""

from __future__ import annotations

import io
import json
import shutil
import signal
import subprocess
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from cli.commands import (
    CHEAP,
    PATIENCE,
    Done,
    Finished,
    alive,
    call,
    descendants,
    environment,
    evaluated,
    gated,
    mixed,
    numbers,
    refused,
    sequence,
    started,
    wait_until,
    written,
)
from pydaub.data import Prepared
from pydaub.runs.folder import RunFolder

KEYS = {
    "state", "standing",
    "strategy", "sizes", "selected", "full_size", "allocations", "rows", "seconds", "wall_seconds", "speculated",
    "abandoned", "resumed", "failures", "selected_size", "valid_score", "metrics", "stopped", "certificate", "folder",
    "model", "not_saved", "ensemble", "adjustment", "drawn",
}  # fmt: skip
CLAIM = {
    "choice",
    "audit",
    "ceiling",
    "ceiling_learner",
    "chance",
    "claims",
    "confidence",
    "corrected",
    "looks",
    "margin",
    "prospects",
    "rival",
    "ties",
    "judged",
    "short",
    "misbehaved",
    "tolerance",
    "doubts",
    "proof",
    "spent",
    "text",
}


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def most_at_a_time(folder: Path) -> int:
    """Return how many evaluations were running at once at most."""
    changes = {"submitted": 1, "evaluated": -1}
    return max(accumulate(changes.get(event["kind"], 0) for event in journal(folder)))


def test_the_json_object(finished: Finished) -> None:
    told = finished.done.json
    assert set(told) == KEYS
    assert set(told["certificate"]) == CLAIM
    assert told["sizes"] == [125, 420]
    assert (told["full_size"], told["selected_size"], told["stopped"]) == (420, 420, None)
    assert told["selected"] in CHEAP.split(",")
    assert {step["learner"] for step in told["allocations"]} == set(CHEAP.split(","))
    assert told["rows"] == sum(step["size"] for step in told["allocations"])
    on_all = [step for step in told["allocations"] if step["size"] == 420]
    assert (told["selected"], told["valid_score"]) in [(step["learner"], step["valid_score"]) for step in on_all]
    assert told["valid_score"] == max(step["valid_score"] for step in on_all)
    assert told["metrics"]["accuracy"] == told["valid_score"]
    assert {"precision", "recall", "f1", "log_loss", "auc", "peak_mb"} <= told["metrics"].keys()
    assert told["folder"] == str(finished.folder)
    assert (finished.folder / told["model"]).name == "model.skops"
    assert json.loads((finished.folder / "result.json").read_text()) == told


def test_progress_off_a_terminal_is_plain_lines(finished: Finished) -> None:
    err = finished.done.err
    assert "\x1b" not in err
    assert "Classification with 2 classes: 420 rows to train, 180 to validate.\n" in err
    lines = [line for line in err.splitlines() if " rows: validation " in line]
    assert len(lines) == evaluated(finished.folder)


def test_an_ended_run_that_is_resumed_says_the_same(finished: Finished, tmp_path: Path) -> None:
    folder = shutil.copytree(finished.folder, tmp_path / "copied")
    again = call("resume", folder, "--jobs", 1, "--json", "--quiet")
    assert again.err == ""
    told = finished.done.json
    assert sequence(again.json) == sequence(told)
    assert again.json["selected"] == told["selected"]
    assert again.json["resumed"] == evaluated(finished.folder)


def test_an_ensemble_is_reported_saved_and_predicts(tmp_path: Path) -> None:
    data, folder = written(mixed(600), tmp_path / "mixed.csv"), tmp_path / "run"
    names = "tree,knn-5,logistic,naive-bayes-gaussian,forest-10,mlp"
    done = call("run", data, "--target", "label", "--learners", names, "--ensemble", "--out", folder, "--json")
    told = done.json["ensemble"]
    assert set(told["members"]) <= set(names.split(","))
    assert sum(told["members"].values()) == pytest.approx(1.0, abs=1e-3)
    assert told["used"] == (told["score"] > told["best_member"])
    combined = [event for event in journal(folder) if event["kind"] == "combined"]
    assert [event["weights"] for event in combined] == [told["members"]]
    again = call("resume", folder, "--json", "--quiet")
    assert again.json["ensemble"] == told
    assert [event for event in journal(folder) if event["kind"] == "combined"] == combined, "it is recorded once"
    assert ("Ensemble of " if told["used"] else "No ensemble: ") in call("show", folder).out
    predicted = call("predict", folder, data)
    assert predicted.code == 0, predicted.err
    assert len(predicted.out.splitlines()) == 601
    assert "`ensemble` must go without `cv`" in refused("run", data, "--target", "label", "--ensemble", "--cv", 3)


def test_an_adjustment_is_reported_saved_and_predicts(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = pd.DataFrame(generator.normal(size=(2000, 3)), columns=list("abc"))
    rows["label"] = (rows.a + generator.normal(size=2000) > 2).astype(int)  # one in thirteen
    data, folder = written(rows, tmp_path / "rare.csv"), tmp_path / "run"
    done = call("run", data, "--target", "label", "--learners", "logistic,tree", "--scoring", "f1", "--adjust",
                "--out", folder, "--json")  # fmt: skip
    told = done.json["adjustment"]
    assert told["used"]
    assert told["score"] > told["without"]
    adjusted = [event for event in journal(folder) if event["kind"] == "adjusted"]
    assert [event["value"] for event in adjusted] == [told["threshold"]]
    assert call("resume", folder, "--json", "--quiet").json["adjustment"] == told
    assert [event for event in journal(folder) if event["kind"] == "adjusted"] == adjusted, "it is recorded once"
    assert "Adjusted: with the threshold " in call("show", folder).out
    predicted = pd.read_csv(io.StringIO(call("predict", folder, data, "--proba").out))
    assert (predicted["prediction"] == (predicted.iloc[:, -1] >= told["threshold"])).all()
    wrong = refused("run", data, "--target", "a", "--adjust")
    assert "`adjust` must go with a classification, got a regression" in wrong
    assert "`adjust` must go without `cv`" in refused("run", data, "--target", "label", "--adjust", "--cv", 3)


def test_many_options_at_once(tmp_path: Path) -> None:
    """On one worker: a strategy and sizes of one's own, columns in their roles, and nothing beside the score."""
    data = written(mixed(), tmp_path / "mixed.csv.gz")
    folder = tmp_path / "run"
    done = call(
        "run", data, "--target", "label", "--learners", "sklearn,-*,tree,naive-*,-naive-bayes-g*", "--out", folder,
        "--strategy", "halving", "--first-size", 30, "--ratio", 2, "--validation-fraction", 0.4, "--group", "family",
        "--drop", "flag, price", "--kind", "zip=categorical", "--kind", "stars=text", "--seed", 7, "--jobs", 1,
        "--metrics", "none", "--score-rows", "all", "--no-reuse", "--learner-timeout", "2m",
        "--learner-memory", "4GB", "--task", "classification",
    )  # fmt: skip
    assert done.code == 0, done.err
    schema = RunFolder(folder).schema()
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds == {
        "id": "identifier", "x": "numeric", "holes": "numeric", "zip": "categorical", "town": "categorical",
        "member": "boolean", "day": "date", "story": "text", "same": "constant", "stars": "text",
    }  # fmt: skip
    shown = {tuple(line.split()[:2]) for line in done.err.splitlines()}
    assert set(kinds.items()) <= shown, "they are shown before anything is trained"
    prepared = Prepared.open(folder / "data")
    assert prepared.valid_size == 120
    groups = [set(np.asarray(part.groups)) for part in (prepared.train(180), prepared.valid())]
    assert not groups[0] & groups[1]
    told = json.loads((folder / "result.json").read_text())
    assert (told["strategy"], told["sizes"]) == ("halving", [30, 60, 120, 180])
    assert told["metrics"] == {}
    assert not any("metrics" in step for step in told["allocations"])
    learners = {step["learner"] for step in told["allocations"]}
    assert {"tree", "naive-bayes-bernoulli"} <= learners
    assert not {"naive-bayes-gaussian", "dummy"} & learners
    settings = journal(folder)[0]["settings"]
    assert (settings["seed"], settings["reuse"]) == (7, False)
    assert most_at_a_time(folder) == 1
    assert " s on 1 worker, " in done.out
    assert f"The run is in {folder}; the learner, trained on 180 rows, is in model.skops there." in done.out
    unseen = mixed(20).assign(town="Atlantis", zip=99999, member=None, story="")
    assert call("predict", folder, written(unseen, tmp_path / "new.csv")).out.count("\n") == 21


def test_learners_of_two_portfolios_on_text_and_categories(tmp_path: Path) -> None:
    """Those that read their sample in blocks get the same columns as the others, and win against a constant."""
    data, folder = written(mixed(100), tmp_path / "mixed.parquet"), tmp_path / "run"
    options = ("--learners", "sklearn,-*,dummy,streaming", "--drop", "flag,price,stars", "--strategy", "full")
    told = call("run", data, "--target", "label", *options, "--out", folder, "--json", "--quiet").json
    assert told["failures"] == []
    learners = {step["learner"] for step in told["allocations"]}
    assert learners == {"dummy", "stream-naive-bayes", "stream-sgd-logistic", "stream-sgd-hinge", "stream-mlp"}
    kinds = {column.name: column.kind for column in RunFolder(folder).schema().columns}
    assert (kinds["story"], kinds["town"], kinds["member"]) == ("text", "categorical", "boolean")
    assert told["selected"] != "dummy"
    unseen = written(mixed(20).assign(town="Atlantis", member=None, story=""), tmp_path / "new.parquet")
    assert call("predict", folder, unseen).out.count("\n") == 21


def test_a_regression_split_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers that are told to be no classes, and a folder that is named by nobody."""
    monkeypatch.chdir(tmp_path)
    frame = mixed()
    data = written(frame, tmp_path / "mixed.parquet")
    done = call(
        "run", data, "--target", "stars", "--task", "regression", "--learners", "stump,linear", "--time", "day",
        "--scoring", "neg_root_mean_squared_error", "--drop", "label,flag,story,price", "--jobs", 2, "--quiet",
    )  # fmt: skip
    assert done.code == 0
    assert done.err == (
        "pydaub: Column 'day' divides the rows and is not a feature.\n"
        "pydaub: Columns left out as constant: 'same'.\n"
        "pydaub: Columns left out as identifier: 'id'.\n"
    ), "notes on the data, and no progress"
    assert "Selected linear: neg_root_mean_squared_error -" in done.out
    assert "mean_absolute_error" in done.out
    (folder,) = (tmp_path / "pydaub-runs").iterdir()
    assert folder.name.startswith("mixed-2")
    assert "day" not in {column.name for column in RunFolder(folder).schema().columns}
    prepared = Prepared.open(folder / "data")
    assert sorted(prepared.valid().y) == sorted(frame["stars"][-90:])
    predicted = call("predict", folder, data)
    assert abs(float(predicted.out.splitlines()[1]) - frame["stars"][0]) < 2
    assert "`--proba` must go with a learner that gives" in refused("predict", folder, data, "--proba")


def test_cross_validation_and_refitting(tmp_path: Path) -> None:
    """A file in another encoding, boolean labels, and folds instead of validation rows."""
    frame = mixed().rename(columns={"x": "größe", "flag": "müde"})
    data = tmp_path / "mixed.csv"
    frame.to_csv(data, index=False, encoding="latin-1")
    assert "must be UTF-8 text" in refused("run", data, "--target", "label", "--out", tmp_path / "run")
    options = (
        "--target",
        "müde",
        "--encoding",
        "latin-1",
        "--drop",
        "label,price,stars,story,zip,town,member,day,family",
        "--learners",
    )
    folder = tmp_path / "run"
    done = call(
        "run", data, *options, "tree,logistic", "--cv", 3, "--scoring", "roc_auc", "--refit", "--out", folder,
        "--first-size", 100, "--json",
    )  # fmt: skip
    told = done.json
    assert (told["full_size"], told["sizes"][0]) == (300, 100)
    assert "300 rows to train, validated by cross-validation" in done.err
    assert 0.5 < told["valid_score"] <= 1
    assert "valid_score_std" in told["metrics"]
    predicted = call("predict", folder, data, "--encoding", "latin-1", "--proba")
    assert predicted.out.startswith("prediction,p(False),p(True)\n")


def test_sparse_rows_and_a_file_to_validate_on(tmp_path: Path) -> None:
    frame = numbers(500)
    lines = [
        f"{1 if row.label == 'yes' else -1} 1:{row.a:.4f} 2:{row.b * row.c:.4f} 5:{row.d:.4f}\n"
        for row in frame.itertuples()
    ]
    (tmp_path / "train.svm").write_text("".join(lines[:300]))
    (tmp_path / "valid.svm").write_text("".join(lines[300:]))
    folder = tmp_path / "run"
    told = call(
        "run", tmp_path / "train.svm", "--validation", tmp_path / "valid.svm", "--learners", "tree,logistic",
        "--scoring", "neg_log_loss", "--out", folder, "--json", "--quiet", "--refit",
    ).json  # fmt: skip
    assert told["full_size"] == 300
    assert told["valid_score"] < 0
    assert told["valid_score"] == pytest.approx(-told["metrics"]["log_loss"])
    assert Prepared.open(folder / "data").valid_size == 200
    predicted = call("predict", folder, tmp_path / "valid.svm").out.split()
    assert set(predicted) == {"prediction", "1", "-1"}
    right = [a == b.split()[0] for a, b in zip(predicted[1:], lines[300:], strict=True)]
    assert np.mean(right) > 0.75
    assert "must be a sparse matrix or an svmlight file" in refused(
        "predict", folder, written(frame, tmp_path / "x.csv")
    )


def test_arff(tmp_path: Path) -> None:
    """Its last column is not guessed to be the target; and ten rows are enough for an answer."""
    path = tmp_path / "ten.arff"
    rows = "".join(f"{i % 5}.5,{'ab'[i % 2]},{('no', 'yes')[i % 2]}\n" for i in range(10))
    path.write_text(f"@relation ten\n@attribute x real\n@attribute y {{a,b}}\n@attribute z {{yes,no}}\n@data\n{rows}")
    done = call("run", path, "--target", "z", "--learners", "tree,dummy", "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert "is too large for 7 training rows, so every learner gets all of them." in done.err
    assert "Selected tree: accuracy 1.0000 on all 7 training rows." in done.out
    new = tmp_path / "new.csv"
    new.write_text("y,x\nb,1\na,1\nc,1\n")
    assert call("predict", tmp_path / "run", new).out.split()[:3] == ["prediction", "yes", "no"]


OWN = """
import os, threading, time
import numpy as np
from sklearn.tree import DecisionTreeClassifier

class Own(DecisionTreeClassifier):
    pass

class Fails(Own):
    def fit(self, X, y, **more):
        raise RuntimeError("no luck\\ntoday")

class Crashes(Own):
    def fit(self, X, y, **more):
        os.abort()

class Hangs(Own):
    def fit(self, X, y, **more):
        while True:
            time.sleep(1)

class Hoards(Own):
    def fit(self, X, y, **more):
        self.hoard_ = np.ones(2_000_000_000 // 8)
        return super().fit(X, y)

def learners(schema):
    assert schema.classes == ("no", "yes")
    return {
        "own": Own(), "fails": Fails(), "crashes": Crashes(), "hangs": Hangs(), "hoards": Hoards(),
        "[red]\\x1b[31mtwo\\nlines[/red]": Own(max_depth=1), "unpicklable": Own(class_weight=threading.Lock()),
    }
"""


def test_learners_of_ones_own_that_misbehave(tmp_path: Path) -> None:
    """Each fails in its own way, the run goes on, and what they are called steers no terminal."""
    data = written(numbers(), tmp_path / "numbers.csv")
    (tmp_path / "own.py").write_text(OWN)
    folder = tmp_path / "run"
    done = call(
        "run", data, "--target", "label", "--learners", tmp_path / "own.py", "--learner-timeout", "2s",
        "--learner-memory", "500MB", "--out", folder, "--jobs", 2,
    )  # fmt: skip
    assert done.code == 0, done.err
    told = json.loads((folder / "result.json").read_text())
    kinds = {failure["learner"]: failure["kind"] for failure in told["failures"]}
    assert kinds == {
        "fails": "error", "crashes": "crash", "hangs": "timeout", "hoards": "memory", "unpicklable": "error",
    }  # fmt: skip
    assert told["selected"] == "own"
    assert "Failed: 1 x error (RuntimeError: no luck): fails" in done.out
    assert "Failed: 1 x timeout (longer than 2 s): hangs" in done.out
    assert "read the sample in blocks need less: --learners sklearn,streaming." in done.out
    assert "hangs another chance: `pydaub resume RUN --retry --learner-timeout " in done.out
    assert "fails with 125 rows failed: error (RuntimeError: no luck)" in done.err
    assert "Nothing is claimed about the 5 learners that failed." in done.out
    assert "It was saved as a pickle because skops could not save it (" in done.out
    for text in (done.out, done.err, call("show", folder).out):
        assert "\x1b" not in text
        assert "[red]\\x1b[31mtwo\\nlines[/red]" in text
        assert "Traceback" not in text
    assert f"`pydaub predict {folder} NEW.csv --trust` predicts with it" in done.out
    assert "is a pickle: loading it runs code" in refused("predict", folder, data)
    assert call("predict", folder, data, "--trust").code == 0


@pytest.mark.parametrize("engine", ["processes", "serial"])
def test_a_winner_that_cannot_be_saved(engine: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The result is complete, it is said why there is no learner, and nothing that a learner prints mixes with it."""
    data, folder = written(numbers(), tmp_path / "numbers.csv"), tmp_path / "run"
    (tmp_path / "own.py").write_text(
        "import os\n"
        "from threading import Lock\n"
        "from sklearn.naive_bayes import GaussianNB\n"
        "print('imported')\n"
        "class Locked(GaussianNB):\n"
        "    def fit(self, X, y):\n"
        "        self.lock_ = Lock()\n"
        "        print('fitting')\n"
        "        os.write(1, b'fitting')\n"
        "        return super().fit(X, y)\n"
        "learners = [('locked', Locked())]\n"
    )
    options = ("--engine", engine, "--json", "--quiet")
    done = call("run", data, "--target", "label", "--learners", tmp_path / "own.py", "--out", folder, *options)
    for each in (done, call("resume", folder, *options)):
        assert each.code == 0, each.err
        told = each.json
        assert set(told) == KEYS
        assert (told["selected"], told["state"], told["model"]) == ("locked", "finished", None)
        assert "cannot pickle '_thread.lock' object" in told["not_saved"]
        assert f"pydaub: The selected learner could not be saved: {told['not_saved']}\n" in each.err
    assert capfd.readouterr().out == ""
    assert json.loads((folder / "result.json").read_text()) == told
    shown = call("show", folder, "--json").json
    assert (shown["model"], shown["not_saved"]) == (None, told["not_saved"])
    assert "holds no learner: it could not be saved after the run (" in refused("predict", folder, data)
    if engine == "processes":
        assert f"The run is in {folder}; the learner could not be saved." in call("resume", folder).out


def test_when_every_learner_fails(tmp_path: Path) -> None:
    data = written(numbers(), tmp_path / "numbers.csv")
    (tmp_path / "own.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n"
        "class Broken(GaussianNB):\n"
        "    def fit(self, X, y):\n"
        "        raise RuntimeError('no luck')\n"
        "learners = [('a', Broken()), ('b', Broken())]\n"
    )
    done = call(
        "run", data, "--target", "label", "--learners", tmp_path / "own.py", "--out", tmp_path / "run", "--json",
        "--quiet",
    )  # fmt: skip
    assert done.code == 1
    assert done.err == (
        f"pydaub: The run is in {tmp_path / 'run'}.\n"
        "pydaub: All 2 learners failed: 2 x error (RuntimeError: no luck): a, b.\n"
    )
    assert json.loads(done.out)["selected"] is None
    shown = call("show", tmp_path / "run")
    assert shown.code == 0
    assert "Nothing has been selected: every learner failed." in shown.out


def test_a_class_that_is_missing_in_samples(tmp_path: Path) -> None:
    frame = numbers(400)
    frame.loc[7, "label"] = "once"
    frame.loc[[8, 9, 10], "label"] = "rare"
    done = call(
        "run", written(frame, tmp_path / "x.csv"), "--target", "label", "--learners", CHEAP, "--first-size", 20,
        "--out", tmp_path / "run",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Classification with 4 classes" in done.err
    assert "failed" not in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--learners", "forrest-20"), "got 'forrest-20'. Did you mean forest-20"),
        (("--learners", ""), "`learners` must name at least one learner that can be used, got ''"),
        (("--learners", "tree,-tree"), "`learners` must name at least one learner"),
        (("--learners", "nowhere.py"), "must name a readable Python file, got nowhere.py: No such file or directory."),
        (("--scoring", "acuracy"), "got 'acuracy'. Did you mean accuracy"),
        (("--scoring", ""), "`scoring` must be a scorer of scikit-learn, got ''."),
        (("--cv", "1"), "`--cv` must be at least 2 folds, got 1."),
        (("--cv", "-3"), "`--cv` must be at least 2 folds, got -3."),
        (("--cv", "3", "--time", "a"), "`--cv` must go without `--time`: folds would mix the times."),
        (("--scoring", "r2"), "`scoring` must suit the target, a classification, got 'r2'"),
        (("--cv", "999"), "`cv` must be at most the 178 rows of the first size, got 999 folds."),
        (("--cv", "3", "--validation", "x.csv"), "`--cv` must go without `--validation`"),
        (("--first-size", "0"), "`first_size` must be at least 1, got 0."),
        (("--first-size", "999"), "The largest `first_size` that works is 186."),
        (("--ratio", "1"), "`ratio` must be greater than 1, got 1."),
        (("--ratio", "nan"), "`ratio` must be a finite number greater than 1, got 'nan'."),
        (("--ratio", "1/0"), "`ratio` must be a finite number greater than 1, got '1/0'."),
        (("--jobs", "0"), "`--jobs` must be at least 1, got 0."),
        (("--time-limit", "0"), "`--time-limit` must be more than 0, got '0'."),
        (("--time-limit", "soon"), "`--time-limit` must be a time such as 90s, 10m or 2h, got 'soon'."),
        (("--learner-timeout", "0s"), "`--learner-timeout` must be more than 0, got '0s'."),
        (("--learner-memory", "0GB"), "`--learner-memory` must be more than 0, got '0GB'."),
        (("--learner-memory", "500"), "`--learner-memory` must be an amount with a unit, such as 500MB or 2GB"),
        (("--learner-memory", "0.0001KB"), "`learner_memory` must be a number of bytes, more than 1,000,000"),
        (("--kind", "nonsense"), "`--kind` must be written as column=kind, got 'nonsense'."),
        (("--kind", "a=nonsense"), "The kind of 'a' must be among numeric"),
        (("--kind", "zz=numeric"), "Kinds must be given for columns of the data, got 'zz'."),
        (("--validation-fraction", "0"), "must be between 0 and 1, got 0.0."),
        (("--validation-fraction", "1"), "must be between 0 and 1, got 1.0."),
        (("--validation-fraction", "nan"), "must be between 0 and 1, got nan."),
        (("--validation", "nowhere.csv"), "nowhere.csv must be a file that can be read, got no such file."),
        (("--group", "nope"), "`group` must be a column of numbers.csv, got 'nope'."),
        (("--group", "label"), "`group` must not be the column of `target`, got 'label' for both."),
        (("--time", "nope"), "`time` must be a column of numbers.csv, got 'nope'."),
        (("--drop", "a,nope"), "`drop` must be a column of numbers.csv, got 'nope'."),
        (("--drop", "label"), "`drop` must not be the column of `target`"),
        (("--drop", "a,b,c,d"), "must have a column to learn from besides the target, got none."),
        (("--task", "regression"), "must be numbers for a regression, got "),
        (
            ("--encoding", "klingon"),
            "`encoding` must be one of text that Python knows, such as latin-1, got 'klingon'.",
        ),
        (("--seed", "-1"), "`seed` must not be negative, got -1."),
        (("--target", "lable"), "`target` must be a column of numbers.csv, got 'lable'. Did you mean 'label'?"),
        (("--out", "used"), "used must be a new or empty folder, got one with 'thesis.tex'. Name another one."),
        (("--out", "numbers.csv"), "numbers.csv must be a new or empty folder, got a file."),
        (("--out", "/proc/run"), "Cannot write to the folder /proc/run: "),
    ],
)
def test_options_that_make_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    """They are refused before anything is run, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    data = written(numbers(), Path("numbers.csv"))
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.tex").write_text("precious")
    assert message in refused("run", data, "--target", "label", "--out", "run", *options)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["numbers.csv", "thesis.tex", "used"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"a,b\n1,2\n3,4\n", "`target` must be a column of x.csv, got 'label'. It has 'a', 'b'."),
        ("x.csv", b"a,label\n" + b"1.5,x\n2.5,x\n" * 20, "must have at least two classes, got only 'x'."),
        ("x.csv", b"a,a,label\n1,2,x\n", "must not name two columns alike, got 'a' more than once. Rename them."),
        ("x.csv", b"", "must hold rows, got an empty file."),
        ("x.csv", b"a,label\n", "must hold rows, got 2 columns and 0 rows."),
        ("x.csv", b"a,label\n" + b"inf,x\n2.5,y\n" * 20, "infinite values in 'a' (20). Replace or remove them."),
        ("x.csv", b"a,label\n" + b"".join(b"%d.5,n%d\n" % (i, i) for i in range(50)), "it looks like an identifier"),
        ("x.csv", b"a,label\n" + b"1.5,\n2.5,\n" * 10, "must have values, got 20 rows without one."),
        ("x.csv", "größe,label\n1,x\n".encode("latin-1"), "got something else at byte 2. Name its encoding"),
        ("x.csv", b"a,b,label\n1,2,x\n1,x\n", "must have 3 columns in every line, as in its first, got 2 in '1,x'."),
        ("x.csv.gz", b"\x1f\x8bxx", "must be a whole gzip file, got"),
        ("x.parquet", b"no", "must be a whole Parquet file, got"),
        ("x.feather", b"no", "x.feather must be"),
        ("x.arff", b"no", "must be an ARFF file, got no line `@data` in it."),
        ("x.xlsx", b"no", "must end in one of .csv, "),
        ("x", b"no", "must end in one of .csv, "),
    ],
)
def test_files_that_make_no_sense(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert message in refused("run", tmp_path / name, "--target", "label", "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sources_that_make_no_sense(tmp_path: Path) -> None:
    out = ("--out", tmp_path / "run")
    assert "must be a file that can be read, got no such file." in refused("run", tmp_path / "x.csv", *out)
    assert "must hold files of one format, CSV, Parquet or Arrow, got none." in refused("run", tmp_path, *out)
    (tmp_path / "x.svm").write_text("a b c\n")
    assert "must be an svmlight file, got something else" in refused("run", tmp_path / "x.svm", *out)
    assert "must be openml: and a number or a name" in refused("run", "openml:", *out)
    assert "`parity` must have between 1 and 65535 rows, got 0." in refused("run", "parity:0", *out)
    data = written(numbers(20), tmp_path / "y.csv")
    assert "`target` must be named for y.csv, got none. It has 'a', 'b', 'c', 'd', 'label'." in refused(
        "run", data, *out
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jobs", "0"), "`--jobs` must be at least 1, got 0."),
        (("--time-limit", "0"), "`--time-limit` must be more than 0"),
        (("--learner-timeout", "x"), "`--learner-timeout` must be a time such as"),
        (("--learner-memory", "5"), "`--learner-memory` must be an amount with a unit"),
    ],
)
def test_resuming_with_options_that_make_no_sense(finished: Finished, options: tuple[str, str], message: str) -> None:
    assert message in refused("resume", finished.folder, *options)


def test_resuming_what_was_changed(finished: Finished, tmp_path: Path) -> None:
    folder = shutil.copytree(finished.folder, tmp_path / "copied")
    about = json.loads((folder / "run.json").read_text())
    del about["crc"]  # as its message says
    for changed, named in (
        ({"seed": 3}, "seed"),
        ({"learners": "tree,knn-5"}, "definitions, growths, learners, promises"),
    ):
        (folder / "run.json").write_text(json.dumps({**about, "request": {**about["request"], **changed}}))
        assert f"must be of the same run, got one with other settings: {named}." in refused("resume", folder)
    (folder / "run.json").write_text(json.dumps({**about, "request": {**about["request"], "strategy": "magic"}}))
    assert "`strategy` must be one of frugal, daub, " in refused("resume", folder)


def test_a_time_limit_that_leaves_no_time(tmp_path: Path) -> None:
    data = written(numbers(), tmp_path / "numbers.csv")
    folder = tmp_path / "run"
    done = call(
        "run", data, "--target", "label", "--learners", "tree,knn-5", "--out", folder, "--time-limit", "0.001s",
        "--json", "--quiet",
    )  # fmt: skip
    assert done.code == 1
    assert done.err == (
        f"pydaub: The run is in {folder}. `pydaub resume {folder}` continues it.\n"
        "pydaub: `time_limit` must leave time for at least one measurement. Give a longer one.\n"
    )
    assert json.loads(done.out)["selected"] is None
    shown = call("show", folder)
    assert "Nothing has been selected: time limit." in shown.out
    assert f"`pydaub resume {folder}` continues the run." in shown.out
    assert "must hold a saved learner, got none." in refused("predict", folder, data)


class Gate(NamedTuple):
    """A run that stops at a gate: what to ask for, the gate, and what comes of it when nothing is in the way."""

    arguments: tuple[object, ...]
    gate: Path
    uninterrupted: Done


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    place = tmp_path_factory.mktemp("gate")
    data = written(numbers(), place / "numbers.csv")
    learners = gated(place / "gated.py", place / "gate", rows=200)
    how = ("--strategy", "daub", "--first-size", 60, "--jobs", 2)  # another strategy may decide by the times
    arguments = ("run", data, "--target", "label", "--learners", learners, *how, "--out")
    done = call(*arguments, place / "run", "--json", "--quiet")
    assert done.code == 0, done.err
    return Gate(arguments, place / "gate", done)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow("processes")),
        pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow("processes")),
    ],
    ids=str,
)
def test_a_run_that_was_cut_short_goes_on(gate: Gate, tmp_path: Path, number: signal.Signals, code: int) -> None:
    """However it ended: no process is left, it is shown, and resumed it is as if nothing had happened."""
    folder = tmp_path / "run"
    gate.gate.touch()
    with started(*gate.arguments, folder, env=environment(TERM="xterm-256color")) as process:
        wait_until(lambda: evaluated(folder) >= 4)
        _look_at_a_run_that_goes_on(folder)
        wait_until(lambda: len(descendants(process.pid)) >= 2)  # a server, and a worker that waits at the gate
        children = descendants(process.pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "Traceback" not in err
    assert "\x1b" not in err, "no escape codes off a terminal, whatever it is said to know"
    if number != signal.SIGKILL:
        assert f"pydaub: Interrupted. `pydaub resume {folder}` continues the run.\n" in err
    wait_until(lambda: not alive(children))
    assert call("show", folder).out.startswith("Killed or interrupted: ")
    if number == signal.SIGINT:
        _stop_at_once(folder)
    gate.gate.unlink()
    known = evaluated(folder)
    resumed = call("resume", folder, "--json", "--quiet", "--jobs", 1).json
    told = gate.uninterrupted.json
    assert resumed["resumed"] == known
    assert sequence(resumed) == sequence(told)
    assert resumed["selected"] == told["selected"]
    # What was guessed ahead may raise doubts, as time allowed, and seconds differ.
    ahead = {"doubts", "spent", "text"}
    assert {name: value for name, value in resumed["certificate"].items() if name not in ahead} == {
        name: value for name, value in told["certificate"].items() if name not in ahead
    }
    data = gate.arguments[1]
    assert call("predict", folder, data).out == call("predict", told["folder"], data).out


def _look_at_a_run_that_goes_on(folder: Path) -> None:
    before = (folder / "journal.jsonl").read_bytes()
    assert "Another process is writing" in refused("resume", folder)
    assert (folder / "journal.jsonl").read_bytes().startswith(before)
    assert call("show", folder, "--json").json["stopped"] == "not finished"
    assert "must hold a saved learner, got none. Let the run end first" in refused(
        "predict", folder, json.loads((folder / "run.json").read_text())["request"]["data"]
    )


def _stop_at_once(folder: Path) -> None:
    """A time limit that has passed already: the best so far, honestly labelled."""
    done = call("resume", folder, "--time-limit", "0.001s", "--quiet")
    assert done.code == 0, done.err
    assert "The run ended early (time limit). The best so far is " in done.out
    assert "No certificate: no learner has had all 420 rows." in done.out
    assert f"`pydaub resume {folder}` continues the run." in done.out
    told = call("show", folder, "--json").json
    assert told["stopped"] == "time limit"
    assert told["selected_size"] < told["full_size"]
    assert "No certificate" in told["certificate"]["text"]
    assert "The run ended early (time limit)." in call("show", folder).out


@pytest.mark.slow("processes")
def test_a_second_interruption_leaves_nothing_behind(gate: Gate, tmp_path: Path) -> None:
    """Ctrl-C, and again while it is being dealt with."""
    folder = tmp_path / "run"
    gate.gate.touch()
    with started(*gate.arguments, folder) as process:
        wait_until(lambda: evaluated(folder) >= 4)
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    wait_until(lambda: not alive(children))
    gate.gate.unlink()
    assert call("show", folder).code == 0


@pytest.mark.slow("processes")
def test_the_demo(tmp_path: Path) -> None:
    """It is a run like any other; here it has no time to go on."""
    folder = tmp_path / "run"
    assert refused("demo", "--jobs", 0) == "pydaub: `--jobs` must be at least 1, got 0."
    assert "must be a new or empty folder" in refused("demo", "--out", written(numbers(), tmp_path / "x.csv").parent)
    with started("demo", "--out", folder, "--quiet", stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: evaluated(folder) >= 3)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    request = RunFolder(folder).request
    assert request.data.startswith("parity:")
    assert (request.fraction, request.learners) == (0.5, "sklearn")
    prepared = Prepared.open(folder / "data")
    assert prepared.full_size == prepared.valid_size
    assert len(journal(folder)[0]["settings"]["learners"]) > 40


@pytest.mark.slow("processes")
def test_trouble_with_the_folder_stops_the_run_and_changes_no_winner(tmp_path: Path) -> None:
    """A learner deletes what the others need: nobody fails for it, and the resumed run ends as it would have."""
    data, gate = written(numbers(), tmp_path / "numbers.csv"), tmp_path / "gate"
    own = tmp_path / "own.py"
    own.write_text(
        f"""
from pathlib import Path
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

class Deleting(GaussianNB):
    def fit(self, X, y, **more):
        if Path({str(gate)!r}).exists():
            for path in Path({str(tmp_path)!r}).glob("*/learners/*.pkl"):
                path.unlink()
        return super().fit(X, y, **more)

learners = [("deleting", Deleting()), ("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]
"""
    )
    asked = (
        "run",
        data,
        "--target",
        "label",
        "--learners",
        own,
        "--strategy",
        "daub",
        "--jobs",
        1,
        "--json",
        "--quiet",
    )
    whole = call(*asked, "--out", tmp_path / "whole").json
    gate.touch()
    done = call(*asked, "--out", tmp_path / "cut")
    assert done.code == 1
    assert "could not be read: No such file or directory. What was measured is kept: resume the run" in done.err
    assert "Traceback" not in done.err
    stopped = call("show", tmp_path / "cut", "--json").json
    assert stopped["failures"] == []
    assert "trouble with its folder" in stopped["stopped"]
    gate.unlink()
    resumed = call("resume", tmp_path / "cut", "--json", "--quiet").json
    assert (resumed["failures"], resumed["selected"]) == ([], whole["selected"])
    assert sequence(resumed) == sequence(whole)


def test_a_folder_of_files_and_a_glob_are_run_and_predicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = numbers(300)
    for name, start in (("b", 150), ("a", 0)):
        (tmp_path / "parts").mkdir(exist_ok=True)
        table[start : start + 150].to_parquet(tmp_path / "parts" / f"{name}.parquet")
    for source, out in (("parts", "one"), ("parts/*.parquet", "two")):
        told = json.loads(
            call("run", source, "--target", "label", "--learners", "tree", "--out", out, "--json", "--jobs", "1").out
        )
        assert told["selected"] == "tree"
        assert json.loads((tmp_path / out / "run.json").read_text())["request"]["data"] == str(tmp_path / source)
        lines = call("predict", out, source).out.splitlines()
        assert len(lines) == 301
    files = sorted((tmp_path / "parts").iterdir())
    for command in ("run", "compare", "prepare"):
        more = ("--out", tmp_path / "three")
        assert "a glob in quotes such as 'parts/*.parquet', got 2 arguments" in refused(
            command, *files, "--target", "label", *more
        )
    assert not (tmp_path / "three").exists()
