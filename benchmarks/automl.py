"""Compare the portfolio `strong` with FLAML and AutoGluon, at the same wall time and on rows that no tool has seen.

    python -m benchmarks.automl run TOOL FILE.parquet [...] --keep FOLDER [--python PYTHON] [--seconds 60] [--seeds 3]
    python -m benchmarks.automl report --keep FOLDER [--plot FILE]

TOOL is pydaub, flaml or autogluon. The others need an environment of their own, whose interpreter is `--python`:

    pip install flaml[automl] autogluon.tabular[catboost,lightgbm,xgboost] xgboost catboost

Each run has a process of its own: a quarter of the rows is put aside, `fit` is called with the limit of time, and its
learner is scored on that quarter. What is kept already is not run again. `report` prints a table, and draws how many of
the runs have come within 1 % of the best score of all tools, by time. A file with two dots in its name has another
target: `blogfeedback.comments.parquet` replaces the target of `blogfeedback.parquet` in a regression.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    from collections.abc import Callable

    Fitted = tuple[Any, float, list[tuple[float, float]]]  # what predicts, seconds, scores by time

TEST = 0.25
RESULT = "RESULT "  # begins the line of a process that says what came of a run
NEAR = 0.99  # of the best score of all tools: the aim of the picture
CORES = 2


class Problem:
    """Training rows, and rows that no tool sees."""

    def __init__(self, path: Path, seed: int) -> None:
        whole, _, other = path.stem.partition(".")
        frame = pd.read_parquet(path.with_name(f"{whole}.parquet"))
        target = frame.pop("target") if not other else pd.read_parquet(path).iloc[:, 0].rename("target")
        self.task: Literal["regression", "classification"] = "regression" if other else "classification"
        parts = train_test_split(frame, target, test_size=TEST, random_state=seed, stratify=None if other else target)
        self.train, self.test, self.target, self._hidden = (each.reset_index(drop=True) for each in parts)
        self.seed = seed

    @property
    def metric(self) -> str:
        """What all tools are asked for."""
        return "accuracy" if self.task == "classification" else "r2"

    def score(self, fitted: Any) -> float:  # noqa: ANN401  # any estimator
        """Return the score of a fitted learner on the hidden rows."""
        found = np.asarray(fitted.predict(self.test))
        return float((accuracy_score if self.task == "classification" else r2_score)(self._hidden, found))


def pydaub(problem: Problem, seconds: float) -> Fitted:
    """Run the portfolio `strong`."""
    from pydaub import DaubSearch  # noqa: PLC0415  # each tool is imported in its own environment only
    from pydaub.runs.account import Account  # noqa: PLC0415
    from pydaub.runs.journal import read  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        search = DaubSearch("strong", ensemble=True, n_jobs=CORES, time_limit=seconds, folder=folder, random_state=0)
        began = time.monotonic()
        search.fit(problem.train, problem.target)
        took = time.monotonic() - began
        first, *events = read(Path(folder) / "journal.jsonl")
    # A run that is ended earlier hands over the learner that leads then. What it scores on the hidden rows is measured
    # afterwards, by training it on as many rows.
    account, leaders = Account.begun(first, held=True), list[tuple[float, Any]]()
    for event in events:
        account.take(event)
        if account.leader is not None and (not leaders or leaders[-1][1] != account.leader):
            leaders.append((account.clock, account.leader))
    learners = portfolio_of(problem)
    curve = []
    for at, leader in leaders:
        fitted = clone(learners[leader.learner]).fit(problem.train[: leader.size], problem.target[: leader.size])
        curve.append((at, problem.score(fitted)))
    print(search.best_learner_, search.best_size_, search.best_score_, search.result_.stopped, file=sys.stderr)
    return search, took, curve


def portfolio_of(problem: Problem) -> dict[str, Any]:
    """Return the estimators of the portfolio `strong` for these rows."""
    from pydaub.data import prepare  # noqa: PLC0415
    from pydaub.learners import portfolio  # noqa: PLC0415

    schema = prepare(problem.train, problem.target, task=problem.task).schema
    return {name: learner.estimator for name, learner in portfolio("strong", schema).items()}


def flaml(problem: Problem, seconds: float) -> Fitted:
    """Run FLAML with its defaults."""
    from flaml import AutoML  # noqa: PLC0415

    curve: list[tuple[float, float]] = []
    best, scoring, began = -np.inf, 0.0, time.monotonic()

    def loss(rows: Any, target: Any, estimator: Any, *_: Any, **__: Any) -> tuple[float, dict[str, float]]:  # noqa: ANN401
        nonlocal best, scoring
        score = (accuracy_score if problem.task == "classification" else r2_score)(target, estimator.predict(rows))
        if score > best:
            best, asked = score, time.monotonic()
            curve.append((asked - began - scoring, problem.score(Raw(estimator))))
            scoring += time.monotonic() - asked
        return 1 - score, {"score": score}

    class Raw:
        """A learner within the search, for rows as they were given."""

        def __init__(self, estimator: Any) -> None:  # noqa: ANN401
            self._estimator = estimator

        def predict(self, rows: Any) -> Any:  # noqa: ANN401
            """Predict as the tool does."""
            prepared = tool._state.task.preprocess(rows, tool._transformer)  # noqa: SLF001  # it offers no other way
            found = self._estimator.predict(prepared)
            labels = tool._label_transformer  # noqa: SLF001
            return labels.inverse_transform(pd.Series(np.ravel(found).astype(int))) if labels else found

    tool = AutoML()
    tool.fit(
        problem.train,
        problem.target,
        task=problem.task,
        metric=loss,
        time_budget=seconds,
        n_jobs=CORES,
        seed=problem.seed,
        verbose=0,
    )
    return tool, time.monotonic() - began - scoring, curve


def autogluon(problem: Problem, seconds: float) -> Fitted:
    """Run AutoGluon with its fastest presets."""
    from autogluon.tabular import TabularPredictor  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        kind = {"regression": "regression"}.get(problem.task)
        tool = TabularPredictor("target", problem_type=kind, eval_metric=problem.metric, path=folder, verbosity=0)
        began = time.monotonic()
        tool.fit(
            problem.train.assign(target=problem.target), time_limit=seconds, presets="medium_quality", num_cpus=CORES
        )
        took = time.monotonic() - began
        hidden = problem.test.assign(target=problem._hidden)  # noqa: SLF001  # its own table needs the answers
        board = tool.leaderboard(hidden).sort_values("fit_order")
        times = took - board["fit_time_marginal"].sum() + board["fit_time_marginal"].cumsum()
        curve, best = [], -np.inf
        for at, valid, score in zip(times, board["score_val"], board["score_test"], strict=True):
            if valid > best:
                best = valid
                curve.append((float(at), float(score)))
        found = tool.predict(problem.test)
    return Predicted(found), took, curve


class Predicted:
    """Predictions that were made already."""

    def __init__(self, found: Any) -> None:  # noqa: ANN401  # an array or a series
        self._found = found

    def predict(self, _: Any) -> Any:  # noqa: ANN401
        """Return them."""
        return self._found


TOOLS: dict[str, Callable[[Problem, float], Fitted]] = {"pydaub": pydaub, "flaml": flaml, "autogluon": autogluon}


def one(tool: str, path: Path, seed: int, seconds: float) -> dict[str, Any]:
    """Run a tool once."""
    warnings.simplefilter("ignore")
    problem = Problem(path, seed)
    fitted, took, curve = TOOLS[tool](problem, seconds)
    score = problem.score(fitted)
    points = [[round(at, 2), round(value, 6)] for at, value in [*curve, (took, score)]]
    return {"tool": tool, "data": path.stem, "seed": seed, "score": score, "seconds": round(took, 2), "curve": points}


def run(given: argparse.Namespace) -> None:
    """Run a tool on each data set with each seed, as far as that is not kept yet."""
    tool, seconds = given.tool, given.seconds
    for seed in range(given.seeds):
        for path in given.files:
            kept = given.keep / f"{tool}-{path.stem}-{seed}.json"
            if kept.exists():
                continue
            command = [given.python, __file__, "one", tool, str(path), "--seed", str(seed), "--seconds", str(seconds)]
            done = subprocess.run(  # noqa: S603  # this file, with an interpreter of the user's
                command, check=False, capture_output=True, text=True, timeout=5 * seconds + 60
            )
            found = [line for line in done.stdout.splitlines() if line.startswith(RESULT)]
            if not found:
                print(done.stderr[-2000:], file=sys.stderr)
                continue
            kept.write_text(found[0].removeprefix(RESULT))
            result = json.loads(kept.read_text())
            print(f"{tool:10} {path.stem:28} {seed} {result['score']:.4f} {result['seconds']:6.1f} s", flush=True)


def report(keep: Path, plot: Path | None) -> None:
    """Print the mean scores and seconds, and draw how many runs are near the best score by time."""
    kept = pd.DataFrame([json.loads(path.read_text()) for path in sorted(keep.glob("*.json"))])
    kept = kept[kept.groupby(["data", "seed"])["tool"].transform("nunique") == kept["tool"].nunique()]
    tools = [tool for tool in TOOLS if tool in {*kept["tool"]}]
    means = kept.pivot_table(index="data", columns="tool", values=["score", "seconds"])
    print("| data set | " + " | ".join(tools) + " | " + " | ".join(f"{tool}, s" for tool in tools) + " |")
    print("|---|" + "--:|" * 2 * len(tools))
    for data, row in means.iterrows():
        best = max(row["score"])
        scores = [
            f"**{row['score'][tool]:.4f}**" if row["score"][tool] == best else f"{row['score'][tool]:.4f}"
            for tool in tools
        ]
        print(f"| {data} | " + " | ".join([*scores, *(f"{row['seconds'][tool]:.0f}" for tool in tools)]) + " |")
    mean = means.mean()
    print(
        "| mean | "
        + " | ".join(
            [*(f"{mean['score'][tool]:.4f}" for tool in tools), *(f"{mean['seconds'][tool]:.0f}" for tool in tools)]
        )
        + " |"
    )
    runs = len(kept) // len(tools)
    print(f"\n{runs} runs of each tool.")
    for other in tools[1:]:
        better = (means["score"][tools[0]] > means["score"][other]).sum()
        print(f"{tools[0]} has the higher mean score than {other} on {better} of {len(means)} data sets.")
    best = kept.groupby(["data", "seed"])["score"].max()
    reached = {tool: sorted(reaching(kept[kept["tool"] == tool], best)) for tool in tools}
    for tool, times in reached.items():
        found = [at for at in times if np.isfinite(at)]
        print(
            f"{tool}: {len(found)} of {runs} runs come within {1 - NEAR:.0%} of the best score,"
            f" the median after {np.median(times):.1f} s."
        )
    if plot is not None:
        draw(reached, plot)


def reaching(runs: pd.DataFrame, best: pd.Series) -> list[float]:
    """Return after how many seconds each run is near the best score of all tools; infinity if it never is."""
    found = []
    for _, one in runs.iterrows():
        aim = NEAR * best[one["data"], one["seed"]]
        found.append(min((at for at, score in one["curve"] if score >= aim), default=np.inf))
    return found


def draw(reached: dict[str, list[float]], path: Path) -> None:
    """Draw how many runs are near the best score, by time."""
    import matplotlib.pyplot as plt  # noqa: PLC0415  # an optional dependency

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for tool, times in reached.items():
        shares = np.arange(1, len(times) + 1) / len(times)
        end = [at for at in times if np.isfinite(at)]
        axes.step([0.1, *end, 90], [0, *shares[: len(end)], len(end) / len(times)], where="post", label=tool, lw=2)
    axes.set(xscale="log", xlim=(0.3, 90), ylim=(0, 1.02), xlabel="seconds since fit was called")
    axes.set_ylabel(f"share of runs within {1 - NEAR:.0%} of the best score")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("run", "one", "report"))
    parser.add_argument("tool", nargs="?", choices=sorted(TOOLS))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    if given.action == "one":
        print(RESULT + json.dumps(one(given.tool, given.files[0], given.seed, given.seconds)))
        return
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.action == "report":
        report(given.keep, given.plot)
    else:
        run(given)


if __name__ == "__main__":
    main()
