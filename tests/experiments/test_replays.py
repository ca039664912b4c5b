"""What is computed from measured curves, and the page that is made from it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from runpy import run_path
from typing import Any

import accuracy
import assumptions
import bounds
import counts
import dividing
import effects
import enough
import machines
import numpy as np
import paper
import plan
import pytest
import results
import sweep
import table1
import table2
from curves import Wanted
from datasets import DATA_SETS
from hypothesis import given
from hypothesis import strategies as st
from replays import BEGUN, METHODS, Curves, all_curves, common, grouped, largest

from pydaub import Allocation, Failure, Measurement
from pydaub.algorithm.curve import Curve
from pydaub.engines.recorded import Table
from pydaub.errors import InputError

ROOT = Path(__file__).parents[2]
PAPER = ROOT.parent / "shared" / "paper"
TABLES = all_curves(ROOT / "experiments" / "measured")
SIZES = (500, 1000, 1500, 2500, 4000)


def made(curves: dict[str, list[float]], seed: int = 0, seconds: float = 1.0) -> Curves:
    """Return invented curves."""
    outcomes = {
        Allocation(name, size): Measurement(1.0, score, seconds * size)
        for name, scores in curves.items()
        for size, score in zip(SIZES, scores, strict=False)
    }
    about = {"data": "parity", "title": "PARITY", "portfolio": "sklearn", "seed": seed, "valid_rows": 10_000}
    return Curves(about, Table(outcomes))


@pytest.mark.parametrize("one", largest(TABLES), ids=lambda one: f"{one.about['data']}-{one.about['portfolio']}")
def test_laws_of_replays_on_the_shipped_curves(one: Curves) -> None:
    full = one.replayed("full")
    assert full.loss == 0
    assert full.iterations == len(one.table.learners)
    assert full.speed_up == pytest.approx(1)
    assert full.result.selected == next(iter(one.scores))
    for method in METHODS:
        replay = one.replayed(method)
        assert 0 <= replay.loss <= 1
        assert sum(replay.rows_of.values()) == replay.rows_after_bootstrap <= replay.result.rows
        assert replay.iterations <= len(replay.result.steps)
    assert set(one.scores) | set(one.failed) == set(one.table.learners)


scores = st.floats(0, 1, width=32)


@given(st.lists(st.lists(scores, min_size=5, max_size=5), min_size=2, max_size=5), st.sampled_from(SIZES[2:]))
def test_curves_up_to_a_size_are_those_of_a_shorter_table(points: list[list[float]], size: int) -> None:
    many = {f"learner-{place}": values for place, values in enumerate(points)}
    cut = made(many).up_to(size)
    short = made({name: values[: SIZES.index(size) + 1] for name, values in many.items()})
    assert cut.sizes == short.sizes
    assert cut.scores == short.scores
    for method in METHODS:
        assert cut.replayed(method).result == short.replayed(method).result


def test_the_rows_that_a_number_of_iterations_can_take() -> None:
    """By trying everything: one learner goes to the end, each of 40 others has had some of the sizes before."""
    sizes = (1, 2, 3, 4, 6, 9, 13)
    for others in range(9):
        depths = [
            chosen
            for chosen in combinations_with_replacement(range(4), others)  # how far each of the others came
            if sum(chosen) == others
        ]
        rows = [sum((4, 6, 9, 13)) + sum(sum((4, 6, 9)[:depth]) for depth in chosen) for chosen in depths]
        assert counts.least_and_most(4 + others, sizes) == (min(rows), max(rows))


def test_seven_of_the_papers_allocations_leave_no_room_for_the_bootstrap() -> None:
    lines = [line.split(" | ") for line in counts.counts().splitlines()[2:]]
    assert [line[4] for line in lines].count("no") == 1
    assert [line[6].rstrip(" |") for line in lines].count("no") == 7


def test_iterations_are_counted_after_the_bootstrap() -> None:
    one = made({"good": [0.7, 0.8, 0.85, 0.9, 0.92], "bad": [0.5, 0.5, 0.5, 0.5, 0.5]})
    daub = one.replayed("daub")
    assert daub.iterations == 2  # 2,500 and 4,000 rows for "good"
    assert daub.rows_after_bootstrap == 6500
    assert len(daub.result.steps) == 8


def test_incomplete_sizes_are_ignored() -> None:
    one = made({"long": [0.5, 0.6, 0.7, 0.8, 0.9], "short": [0.5, 0.6, 0.7, 0.8]})
    assert one.full_size == 2500
    with pytest.raises(InputError, match="at least 3 complete sizes, got 2"):
        _ = made({"long": [0.5, 0.6, 0.7], "short": [0.5, 0.6]}).sizes


def test_seeds_are_compared_at_a_size_that_enough_of_them_reach() -> None:
    lengths = {0: 5, 1: 4, 2: 4, 3: 3}
    tables = [made({"a": [0.1] * length, "b": [0.2] * length}, seed) for seed, length in lengths.items()]
    (seeds,) = grouped(tables).values()
    assert [one.full_size for one in common(seeds, 3)] == [2500] * 3
    assert [one.full_size for one in common(seeds, 4)] == [1500] * 4
    assert common(seeds, 5) == []
    assert largest(tables) == tables[:1]


def curve(*values: float) -> Curve:
    return Curve("a", SIZES[: len(values)], tuple(Measurement(1.0, value, 1.0) for value in values))


def test_curves_are_judged_by_the_papers_definitions() -> None:
    assert assumptions.monotone(curve(0.1, 0.1, 0.2), 0.0)
    assert not assumptions.monotone(curve(0.2, 0.1, 0.3), 0.0)
    assert assumptions.monotone(curve(0.2, 0.1, 0.3), 0.11)
    assert assumptions.diminishing(curve(0.1, 0.3, 0.4), 0.0)
    assert not assumptions.diminishing(curve(0.1, 0.2, 0.4), 0.0)
    assert assumptions.diminishing(curve(0.1, 0.2, 0.4), 0.11)
    # Twice the gain over twice the rows is the same gain per row: sizes are 1,000, 1,500, 2,500.
    assert assumptions.diminishing(curve(0.1, 0.2, 0.25, 0.349), 0.0)
    assert not assumptions.diminishing(curve(0.1, 0.2, 0.25, 0.351), 0.0)


def test_a_bound_is_valid_if_it_reaches_the_score_at_n() -> None:
    steady = made({"a": [0.10, 0.20, 0.30, 0.35, 0.40], "b": [0.1, 0.1, 0.1, 0.1, 0.9]})
    count = assumptions.Count()
    count.add(steady)
    assert (count.curves, count.bounds) == (2, 4)
    assert count.valid == [2, 2, 2, 2]  # both of a, at 1,500 and 2,500 rows; none of b
    assert count.held == [2, 2, 1, 1]


@pytest.mark.slow("random")
def test_the_results_page_is_up_to_date() -> None:
    """If this fails, run `python experiments/results.py`."""
    page = results.page(TABLES)
    assert (ROOT / "docs" / "results.md").read_text() == page
    for picture in re.findall(r"\((figures/.*?)\)", page):
        assert (ROOT / "docs" / picture).exists()


@pytest.mark.skipif(not PAPER.exists(), reason="needs the text of the paper")
def test_the_papers_figures_agree_with_its_text() -> None:
    text = "".join(path.read_text() for path in sorted(PAPER.iterdir()))
    plain = re.sub(r"\{\\bf\s*([^}]*)\}|[\\$]", r"\1", text)
    rows = {
        name: [re.sub(r"[^\d,k.]", "", cell) for cell in match.split("&")]
        for name, match in re.findall(r"^\s*(Iterations|Allocation|Time \(sec\))\s*&(.*)$", plain, flags=re.MULTILINE)
    }
    for place, name in enumerate(rows):
        ours = [
            f"{cell:,}" if isinstance(cell, int) else cell for data in table1.PAPER.values() for cell in data[place]
        ]
        assert rows[name] == ours
    assert len(rows) == 3
    lines = re.findall(r"^\s*([A-Z][\w ]+?)\s*&[^&]*&(.*)$", plain, flags=re.MULTILINE)
    found = {title: [re.sub(r"[^\d,k.]", "", cell) for cell in cells.split("&")] for title, cells in lines}
    for name, cells in table2.PAPER.items():
        title = DATA_SETS[name].title
        assert found[title] == [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells]
    assert sum(cells[-2] for cells in table2.PAPER.values()) / 6 == 16
    assert sum(cells[-1] for cells in table2.PAPER.values()) / 6 == pytest.approx(0.4, abs=0.05)
    assert accuracy.PAPER.startswith("0.4 % at 16x")


@pytest.mark.parametrize(
    "name", ["table1", "table2", "accuracy", "assumptions", "regrets", "ties", "figure1", "figure2", "results"]
)
def test_each_script_refuses_a_folder_without_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--measured", str(tmp_path)])
    with pytest.raises(SystemExit, match="must hold measured tables"):
        run_path(str(ROOT / "experiments" / f"{name}.py"), run_name="__main__")


def test_a_table_without_valid_metadata_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("learner,size,train_score,valid_score,seconds\na,500,1,1,1\n")
    with pytest.raises(InputError, match=r"must be a file that curves\.py wrote"):
        all_curves(tmp_path)
    (tmp_path / "table.json").write_text("{")
    with pytest.raises(InputError, match=r"must be a file that curves\.py wrote"):
        all_curves(tmp_path)


def test_the_large_version_prints_an_estimate_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["paper", "--large", "--out", str(tmp_path / "out")])
    paper.main()
    printed = capsys.readouterr().out
    assert re.search(r"^\d+ tables, about \d+ minutes", printed, flags=re.MULTILINE)
    assert "Nothing was started" in printed
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(sys, "argv", ["paper", "--data", "moon"])
    with pytest.raises(SystemExit, match="got moon"):
        paper.main()


@pytest.mark.slow("processes")
def test_the_small_version_writes_its_page_within_its_budget(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "experiments" / "paper.py"), "--data", "parity", "--budget", "8s"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False)
    # On a slow machine not even three sizes are complete within the budget; the script then reports it.
    if done.returncode == 0:
        assert "## Table 1" in (tmp_path / "results.md").read_text()
        assert list((tmp_path / "figures").glob("*.png"))
    else:
        assert "complete sizes" in done.stderr
    assert "tables left out" in done.stdout


def test_tables_with_too_few_sizes_are_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (good,) = [one for one in TABLES if one.about["data"] == "parity"][:1]
    for name, text in (
        ("good", Path(good.table.name).read_text()),
        ("bad", "learner,size,train_score,valid_score,seconds\na,500,1,1,1\na,1000,1,1,1\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
        (tmp_path / f"{name}.json").write_text(json.dumps(good.about | {"learners": good.about["learners"]}))
    assert [Path(one.table.name).stem for one in all_curves(tmp_path)] == ["good"]
    assert "Skipped" in capsys.readouterr().err


def test_tables_that_are_begun_count_only_where_they_are_asked_for(tmp_path: Path) -> None:
    one = TABLES[0]
    for folder, name in ((tmp_path, "whole"), (tmp_path / BEGUN, "begun")):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.csv").write_text(Path(one.table.name).read_text())
        (folder / f"{name}.json").write_text(json.dumps(one.about))
    assert [Path(each.table.name).stem for each in all_curves(tmp_path)] == ["whole"]
    assert [Path(each.table.name).stem for each in all_curves(tmp_path, partial=True)] == ["begun", "whole"]


def test_each_seed_counts_once() -> None:
    short = made({"a": [0.1] * 3, "b": [0.2] * 3})
    long = made({"a": [0.1] * 5, "b": [0.2] * 5})
    assert grouped([short, long, short]) == {("parity", "sklearn"): [long]}


def test_tables_of_two_machines_are_compared_up_to_what_both_have(tmp_path: Path) -> None:
    names = [f"{letter}{number}" for letter in "abc" for number in range(4)]
    about = {"machine": "old", "timeout": 6.0, "learners": len(names), "left_out": 0}
    old = made({name: [0.5, 0.6, 0.7, 0.8] for name in names} | {"slow": [0.5, 0.6, 0.7, 0.9]}, seconds=0.001)
    new = made({name: [0.5, 0.6, 0.7, 0.8, 0.8] for name in names} | {"slow": [0.5, 0.6, 0.7, 0.8, 0.9]}, seconds=0.002)
    stuck = Table({**new.table.outcomes, Allocation("slow", 2500): Measurement(1.0, 0.8, 15.0)})
    new = Curves({**new.about, **about, "machine": "new", "timeout": 60.0, "clock": "cpu"}, stuck)
    assert machines.machines([new], tmp_path / "none") == "No table was measured on two machines."
    rows = [
        f"{each.learner},{each.size},1.0,{told.valid_score},{told.seconds},"
        for each, told in old.table.outcomes.items()
        if isinstance(told, Measurement)
    ]
    (tmp_path / "old.csv").write_text("\n".join(["learner,size,train_score,valid_score,seconds,failure", *rows]))
    (tmp_path / "old.json").write_text(json.dumps({**old.about, **about}))
    text = machines.machines([new], tmp_path)
    assert "| PARITY | old, wall-clock seconds | 2,500 | 6 | 32 |" in text
    assert "| PARITY | new, CPU seconds | 2,500 | 6 | 66 |" in text, "12 trainings of 5 s, and one is ended after 6 s"
    assert "of at least 1 s took 2.00 times as long on the second machine (median of 38; eight of ten: 2.00" in text
    assert "51 of all 51 have the same validation score" in text
    assert text.endswith("they differ in the clock (wall-clock seconds, CPU seconds).")


def test_limits_and_projections() -> None:
    one = made({"quick": [0.1] * 5, "slow": [0.2] * 5}, seconds=0.01)  # 5 to 40 s
    assert effects.limited(one, 100).table.outcomes == one.table.outcomes
    assert effects.projected(one, one.full_size).table.outcomes == one.table.outcomes
    short = effects.limited(one, 16)  # ended with 2,500 rows, and not tried with 4,000
    assert short.full_seconds == 2 * 16
    assert short.table[Allocation("slow", 1500)] == one.table[Allocation("slow", 1500)]
    assert short.table[Allocation("slow", 4000)] == Failure("timeout", "longer than the limit", 16)
    long = effects.projected(short, 5_000)
    assert (long.sizes, long.failed) == ((*SIZES, 5_000), [])
    assert 2 * 16 < long.full_seconds < effects.projected(one, 5_000).full_seconds == pytest.approx(2 * 50)
    broken = Table({**one.table.outcomes, Allocation("slow", 4000): Failure("error", "too few rows", 1.0)})
    assert effects.projected(replace(one, table=broken), 5_000).failed == ["slow"], "only a limit is lifted"


def test_the_large_version_measures_what_is_not_complete() -> None:
    wanted = [Wanted("parity", "sklearn", seed, 4000, "60s") for seed in range(3)]
    tables = [made({"a": [0.1] * 5}, seed) for seed in range(3)]
    whole = {"sizes": SIZES, "train_rows": 21_500, "timeout": 60.0}
    others: list[dict[str, Any]] = [{}, {"timeout": 30.0}, {"sizes": SIZES[:-1]}]
    for one, other in zip(tables, others, strict=True):
        one.about.update({**whole, **other})
    assert plan.still_missing(wanted, tables) == [wanted[2], wanted[1]], "with a shorter limit: last"
    assert plan.still_missing(wanted, []) == wanted


def test_choosing_again_by_some_of_the_validation_rows() -> None:
    """A learner that is better on every block is always chosen; among equal ones the choice costs nothing."""
    rng = np.random.default_rng(0)
    worse, better, *equal = rng.normal(0.8, 0.01, (4, 100)) - [[0.2], [0.0], [0.0], [0.0]]
    same, losses = enough.redrawn(np.stack([worse, better]), 1, 0.2)
    assert same == 1
    assert not losses.any()
    same, losses = enough.redrawn(np.stack(equal), 0, 0.2)
    assert 0 < same < 1
    assert abs(losses.mean()) < 0.005


def test_the_page_says_what_is_missing_and_which_clock_was_used() -> None:
    one = made({"a": [0.1] * 5, "b": [0.2] * 5})
    text = {"machine": "m", "commit": "c", "date": "d", "versions": {}, "jobs": 2, "memory_gb": 6.0}
    about = {
        "train_rows": 5_000,
        "timeout": 60.0,
        "clock": "cpu",
        "learners": 2,
        "sizes": (*SIZES, 5_000),
        "left_out": 2,
    }
    one.about.update({**text, **about})
    one.about["sizes"] = SIZES
    assert results.left_out([one])[:3] == [
        "PARITY with 500 to 5,000 rows (weka)",
        "PARITY with 5,000 rows (sklearn, seed 0)",
        "PARITY with 500 to 5,000 rows (sklearn, seeds 1, 2, 3, 4)",
    ]
    one.about.update({"train_rows": 4_000, "timeout": 20.0})
    assert results.left_out([one])[1:3] == [
        "PARITY with 500 to 4,000 rows (sklearn, seeds 1, 2, 3, 4)",
        "PARITY with a limit of 60s (sklearn, seed 0)",
    ]
    one.about.update(about)
    assert results.clocks([one]).startswith("CPU seconds for PARITY (sklearn)")
    begun = "PARITY (sklearn), which is begun: 10 of 12 trainings, all learners up to 4,000 of 5,000 rows"
    assert results.progress(one) == begun


def test_estimates_follow_the_times_of_measured_tables() -> None:
    one = made({"a": [0.1] * 5, "b": [0.2] * 5}, seconds=0.01)
    one.about["train_rows"] = 21_500
    wanted = Wanted("parity", "sklearn", 3, 4000, "30s")
    # 95 s for each learner, but the last size takes 40 s and is stopped at 30.
    about, unknown = plan.estimate([wanted], [one], jobs=2)
    assert about == pytest.approx((2 * 85 + 10 * plan.OVERHEAD) / 2)
    assert unknown == []
    # Times of larger sizes are extrapolated, here in proportion to the rows.
    larger, _ = plan.estimate([Wanted("parity", "sklearn", 3, None, "1000s")], [one], jobs=2)
    rows = sum(Wanted("parity").sizes(21_500))
    assert larger == pytest.approx(rows * 0.01 + 10 * plan.OVERHEAD, rel=0.01)
    assert plan.estimate([Wanted("higgs")], [one], jobs=2) == (0.0, ["higgs (sklearn)"])


def test_other_first_sizes_and_ratios_use_the_papers_sizes() -> None:
    one = next(one for one in TABLES if (one.about["data"], one.about["portfolio"]) == ("parity", "sklearn"))
    for start in range(sweep.STARTS):
        for stride in sweep.STRIDES:
            allowed = one.sizes[start::stride]
            if replay := sweep.replayed(one, start, stride):
                used = {step.allocation.size for step in replay.result.steps}
                assert min(used) == allowed[0]
                assert used <= {*allowed, one.full_size}
            else:
                assert len({*allowed, one.full_size}) < sweep.LEAST_SIZES
    papers = one.replayed("daub")
    cell = f"{papers.speed_up:.1f}x, {100 * papers.loss:.2f} %"
    assert sweep.table([one]).splitlines()[2].split(" | ")[1] == cell


@pytest.mark.skipif(not PAPER.exists(), reason="needs the text of the paper")
def test_what_the_paper_says_of_parity() -> None:
    text = re.sub(r"\s+", " ", "".join(path.read_text() for path in sorted(PAPER.iterdir())))
    *_, speed_up, loss = table2.PARITY
    assert f"one of the top three classifiers for PARITY ({loss}\\% loss)" in text
    assert f"$\\sim${table2.PAPER['higgs'][-2]}x for HIGGS, and $\\sim${speed_up}x for PARITY" in text
    assert "by $\\sim$2x-4x for HIGGS, and by $\\sim$5x for PARITY" in text
    assert "only four classifiers receive more than 10k samples, with all of them within 1.5\\%" in text


def test_table_1_says_how_many_times_fewer_rows_and_how_many_times_as_fast() -> None:
    """The paper's text has 2 to 4 times for HIGGS and 5 for PARITY, and 25 and 15 times as fast."""
    one = made({"good": [0.7, 0.8, 0.85, 0.9, 0.92], "bad": [0.5] * 5})
    lines = [line.split(" | ") for line in table1.table_1([one]).splitlines() if line.startswith("|")]
    cells = {line[0].strip("| *"): [cell.strip(" |") for cell in line[1:]] for line in lines}
    assert cells["Times fewer rows than full, paper"] == ["1.0x", "2.7x", "4.2x", "1.0x", "5.0x", "5.5x"]
    assert cells["Times as fast as full, paper"] == ["1.0x", "2.9x", "24.9x", "1.0x", "9.6x", "15.0x"]
    assert cells["Times fewer rows than full, ours"][3:] == ["1.0x", f"{8000 / 6500:.1f}x", f"{8000 / 6500:.1f}x"]
    assert cells["Allocation in all, ours"][:4] == ["not measured"] * 3 + ["8k"]


def test_pictures_are_put_in_words() -> None:
    sizes = (500, 1_000, 1_500, 8_000, 12_000)
    curves = {
        "good": [0.6, 0.7, 0.8, 0.88, 0.9],
        "near": [0.5, 0.5, 0.5, 0.87, 0.89],
        "early": [0.8, 0.7, 0.65, 0.6, 0.6],
        "too": [0.71, 0.71, 0.65, 0.6, 0.55],
        **{f"flat{number}": [0.5, 0.5, 0.5, 0.5, 0.5] for number in range(6)},
    }
    one = of_sizes(sizes, curves)
    text = results.picture(one)
    assert "Best at N: good (0.9000). With fewer rows, 2 others score higher than it; with up to 1,000 rows" in text
    assert "DAUB selects good (0.9000). No sample of more than 2,500 rows for 9 of 10 learners" in text
    assert "More than 10,000 rows in one sample: 1, within 0.0 % of the best at N (four, within 1.5 %)" in text
    assert "in all samples after the bootstrap: 1, within 0.0 % of the best at N." in text
    assert "The eight learners with the highest scores at N get 100 % of these rows" in text
    many = {name: [0.7, *values[1:]] for name, values in curves.items()} | {"good": curves["good"]}
    assert "9 others score higher than it; with up to 1,000 rows: too " in results.picture(of_sizes(sizes, many))
    several = {name: values if name == "good" else [0.7, 0.5, 0.5, 0.5, 0.5] for name, values in curves.items()}
    assert "9 others score higher than it; with up to 500 rows: 9 of them " in results.picture(of_sizes(sizes, several))
    failed = {**one.table.outcomes, Allocation("good", 12_000): Failure("timeout", "too long", 9.0)}
    text = results.picture(replace(one, table=Table(failed)))
    assert "Best at N: near (0.8900)" in text
    assert "in one sample: 2, within 0.0 % of the best at N, 1 of them without a score at N" in text


def of_sizes(sizes: tuple[int, ...], curves: dict[str, list[float]]) -> Curves:
    """Return invented curves with these sizes."""
    outcomes = {
        Allocation(name, size): Measurement(1.0, score, 1.0)
        for name, scores in curves.items()
        for size, score in zip(sizes, scores, strict=True)
    }
    return Curves(made(curves).about, Table(outcomes))


def test_tables_are_named_by_their_seeds_where_these_differ() -> None:
    tables = [made({"a": [0.1] * 5}, seed) for seed in range(3)]
    for one, clock in zip(tables, ("cpu", "cpu", None), strict=True):
        one.about["clock"] = clock
    assert results.clocks(tables) == (
        "CPU seconds for PARITY (sklearn, seeds 0, 1); in all other tables they are wall-clock seconds"
    )
    assert results.clocks(tables[:2]).startswith("CPU seconds for PARITY (sklearn);")
    assert results.clocks(tables[2:]) == "wall-clock seconds"


@pytest.mark.slow("random")
@pytest.mark.parametrize("portfolios", [("sklearn",), ("sklearn", "weka")])
def test_the_page_of_a_small_version_is_written(portfolios: tuple[str, ...], tmp_path: Path) -> None:
    """Of tables that end at 4,000 rows, with and without WEKA."""
    for one in largest(TABLES):
        if one.about["data"] in {"parity", "higgs"} and one.about["portfolio"] in portfolios:
            path = tmp_path / Path(one.table.name).name
            head, *lines = Path(one.table.name).read_text().splitlines()
            kept = [line for line in lines if int(line.split(",")[1]) <= SIZES[-1]]
            path.write_text("\n".join([head, *kept]))
            about = {**one.about, "sizes": SIZES, "timeout": 20.0}
            path.with_suffix(".json").write_text(json.dumps(about))
    results.write(tmp_path, tmp_path / "page" / "results.md")
    text = (tmp_path / "page" / "results.md").read_text()
    assert "No table has 11,500 rows." in text
    assert ("(WEKA 3" in text, "(no WEKA, not measured here)" in text) == (len(portfolios) == 2, len(portfolios) == 1)
    assert ("No table of the paper's 41 learners was measured." in text) == (len(portfolios) == 1)
    pictures = re.findall(r"\((figures/.*?)\)", text)
    assert len(pictures) == 4 * len(portfolios)
    assert all((tmp_path / "page" / picture).exists() for picture in pictures)


def test_where_there_is_little_to_save_frugal_takes_as_long_as_the_documentation_says() -> None:
    replays = [one.replayed("frugal") for one in TABLES if one.full_size == 5_000]
    times, losses = [1 / each.speed_up for each in replays], sorted(each.loss for each in replays if each.loss)
    words = re.sub(r"\s+", " ", (ROOT / "docs" / "algorithm.md").read_text())
    lost = " and ".join(f"{100 * loss:.2f}" for loss in losses)
    assert (
        f"on the {len(replays)} measured tables with 5,000 rows (`experiments/measured/`) it takes between"
        f" {min(times):.1f} and {max(times):.1f} times as long as training everything, with a loss in {len(losses)} of"
        f" them ({lost} %)"
    ) in words


def test_tables_on_dividing_rows_are_put_in_words() -> None:
    run = ["a/usual", "x", "700", "300", "3", "200"]
    said = enough.said([[*run, "65 %", "0.11 %", "0.4 %"], [*run, "", "", ""]])
    assert said.startswith("Where a run has fewer validation rows than are enough, nothing can be drawn (1 of 2).")
    assert "loses 0.11 % on average at most, and more than delta in 0.4 % of the cases at most" in said
    assert said.endswith("the run's own choice in 65 % on a.")
    usual = ["a", "usual", "1,700", "300", "x", "0.8", "0.8000", "0.8110 (0.8000 to 0.8200)", "0.62 %"]
    for selected, score, words in (
        ("x", "0.8100", "selected in 1 of 1; its score is within the forecast range in 1 of 1."),
        ("x", "0.8300", "selected in 1 of 1; its score is within the forecast range in 0 of 1."),
        ("y", "0.8100", "selected in 0 of 1."),
    ):
        found = dividing.said([usual, ["a", "advised", "1,800", "200", selected, "0.8", score, "", "1.07 %"]])
        assert f"a +100 rows for training, {float(score) - 0.8:+.4f}" in found
        assert words in found


def test_which_bounds_are_better_is_put_in_words() -> None:
    paper, more = ["a", "b"], ["a"]
    found = {("slope", True): (2.0, 0.4, paper), ("line", True): (2.1, 0.3, more), ("spline", False): (2.2, 0.5, more),
             ("isotonic", True): (2.0, 0.4, paper)}  # fmt: skip
    assert bounds.compared(found) == (
        "Faster than the paper's bound (`slope` with f^T), with a smaller mean loss: `line` with f^T."
        " The same allocations on every table: `isotonic` with f^T."
    )
