"""Figures of a run: what they show, and that they are readable with any number of learners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.text import Text

from pydaub import Account, Allocation, Daub, Evaluated, Failure, Measurement, Schedule, Table, TableEngine
from pydaub.errors import InputError
from pydaub.events import Started
from pydaub.records import Scores
from pydaub.runs.loop import Loop
from pydaub.views.plots import DPI, FONT, FORMATS, curves_of_leaders, draw_run, figures, leaders, rows_allocated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (10, 20, 40, 80)
CURVES = {"early": [0.6, 0.6, 0.6, 0.6], "never": [0.1, 0.1, 0.1, 0.1], "best": [0.3, 0.5, 0.7, 0.9]}
ACCURACY = Scores("accuracy", 100)


def finished(curves: dict[str, list[float]] = CURVES, train: float | None = 0.95, scores: Scores = ACCURACY) -> Account:
    table = Table({
        Allocation(name, size): Measurement(train, score, 1.0)
        for name, curve in curves.items()
        for size, score in zip(SIZES, curve, strict=True)
    })  # fmt: skip
    strategy = Daub(table.learners, Schedule(SIZES))
    started = Started({**strategy.settings, "scores": scores.to_json()})
    return Loop(strategy, TableEngine(table), started=started).run()


def many(count: int) -> dict[str, list[float]]:
    return {f"learner {i}": [0.5 + 0.4 * i / count * (1 - 5 / size) for size in SIZES] for i in range(count)}


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]


def test_leaders_are_those_that_were_ahead_of_the_best() -> None:
    curves = {name: list(zip(SIZES, scores, strict=True)) for name, scores in CURVES.items()}
    assert leaders(curves, "best") == ["early"]
    assert leaders(curves, "early") == ["best"]
    assert leaders({"best": curves["best"]}, "best") == []
    assert leaders({**curves, "short": [(10, 0.9)]}, "best") == ["short", "early"]


def test_a_run_is_drawn_in_every_format_and_always_alike(tmp_path: Path) -> None:
    account = finished()
    made = draw_run(account, tmp_path / "a")
    assert sorted(path.name for path in made) == sorted(
        f"{name}.{end}" for name in ("figure1", "figure2", "curves") for end in FORMATS
    )
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    again = draw_run(account, tmp_path / "b", FORMATS[::-1])  # saving one format does not move what the next one shows
    for path in made:
        content = path.read_bytes()
        assert content.startswith(starts[path.suffix[1:]])
        assert len(content) > 2000
    for path in again:
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
    assert "Selected: best; 1 other led with fewer rows" in (tmp_path / "a" / "figure1.svg").read_text()


@pytest.mark.parametrize("count", [2, 52, 600])
def test_figures_stay_readable_and_say_what_they_leave_out(count: int) -> None:
    found = figures(finished(many(count)))
    for figure in found.values():
        width, height = (DPI * inches for inches in figure.get_size_inches())
        assert 600 < width < 1600
        assert 150 < height < 2400
    assert f"Rows for {count} learners, with the last accuracy of each" in texts(found["figure2"])
    shown = sum(axes.axison for axes in found["curves"].axes)
    title = f"Learning curves of {count} learners"
    if count == 600:
        title = "Learning curves of 60 of 600 learners: those with the most rows"
        assert any("541 other learners" in text for text in texts(found["figure2"]))
    assert shown == min(count, 60)
    assert title in texts(found["curves"])
    assert len([line for line in found["figure1"].axes[0].lines if len(line.get_xdata())]) == count  # type: ignore[arg-type]


def test_no_axis_has_ticks_beyond_the_best_possible_score() -> None:
    found = figures(finished({"perfect": [0.9, 1.0, 1.0, 1.0], "other": [0.5, 0.6, 0.7, 0.8]}))
    for name in ("figure1", "curves"):
        for axes in found[name].axes:
            assert max(axes.get_yticks()) <= 1.0
    losses = figures(
        finished({"a": [-3.0, -1.0, 0.0, 0.0], "b": [-5.0] * 4}, -1.0, Scores("neg_log_loss", 9, 0.0, False))
    )
    assert max(losses["figure1"].axes[0].get_yticks()) <= 0.0


@pytest.mark.parametrize(
    ("unit", "words"),
    [(1e-6, {"-6.0e-07", "a: -4e-07"}), (1e6, {"-600,000", "a: -400,000"}), (1.0, {"-0.6", "a: -0.4000"})],
)
def test_scores_of_any_size_can_be_read(unit: float, words: set[str]) -> None:
    curves = {"a": [-0.8 * unit, -0.6 * unit, -0.5 * unit, -0.4 * unit], "b": [-0.7 * unit, -0.9 * unit, -unit, -unit]}
    found = figures(finished(curves, 0.0, Scores("neg_mean_absolute_error", 100, 0.0, proportion=False)))
    found["figure1"].draw_without_rendering()
    assert words <= set(texts(found["figure1"]))


def test_a_learner_with_one_point_can_be_seen_with_its_training_score() -> None:
    account = Account(Daub(["a"], Schedule(SIZES)), held=True)
    account.ask()
    account.take(Evaluated(Allocation("a", 10), Measurement(1.0, 0.5, 1.0), 1.0))
    figure = figures(account)["curves"]
    assert {line.get_label(): line.get_marker() for line in figure.axes[0].lines} == {
        "on training rows": ".",
        "on validation rows": ".",
        "at best (95 % quantile)": "None",
    }
    assert {"a\n0.5000 with 10 rows, next"} < {*texts(figure)}
    assert "Best so far with 10 of 80 rows: a; the only learner" in texts(figures(account)["figure1"])


def axes() -> Axes:
    return Figure(layout="constrained").subplots()


def test_long_names_are_shortened_in_the_middle_and_others_shown_as_they_are() -> None:
    long = [f"boosting(rate=0.1, {'x' * 100}, depth={depth})" for depth in (3, 5)]
    names = [*long, "مصنف", "_hidden", "a$b_c$"]
    plotted = axes()
    curves_of_leaders(plotted, {name: [(1, 0.1), (2, 0.2)] for name in names}, names, "Title", Scores())
    shown = texts(plotted.figure)  # type: ignore[arg-type]  # a figure
    assert "boosting(rate=0.1,…xxxxxxx, depth=3): 0.2000" in shown
    assert "boosting(rate=0.1,…xxxxxxx, depth=5): 0.2000" in shown
    bars = axes()
    rows_allocated(bars, dict.fromkeys(names, 5), dict.fromkeys(names, "note"), "Title", selected=None, failed=set())
    assert {"مصنف", "_hidden", r"a\$b_c\$"} < {*texts(bars.figure)}  # type: ignore[arg-type]  # a figure


def test_failed_learners_and_unfinished_runs_are_told_from_others() -> None:
    outcomes = {Allocation("a", size): Measurement(0.9, 0.5, 1.0) for size in SIZES}
    table = Table({**outcomes, **{Allocation("b", size): Failure("error", "no luck", 1.0) for size in SIZES}})
    figure = figures(Loop(Daub(["a", "b"], Schedule(SIZES)), TableEngine(table)).run())["figure2"]
    assert [bool(bar.get_hatch()) for bar in figure.axes[0].patches] == [False, True]
    assert "failed" in texts(figure)
    account = Account(Daub(["a", "b"], Schedule(SIZES)), held=True)
    account.ask()
    account.take(Evaluated(Allocation("a", 10), Measurement(0.9, 0.5, 1.0), 1.0))
    assert any(text.startswith("Best so far with 10 of 80 rows: a;") for text in texts(figures(account)["figure1"]))
    assert "Learning curves of 1 of 2 learners: the others have not been measured" in texts(figures(account)["curves"])


def test_nonsense_is_refused(tmp_path: Path) -> None:
    account = finished()
    with pytest.raises(InputError, match="must be some of png, svg, pdf, got 'bmp'"):
        draw_run(account, tmp_path / "a", ["png", "bmp"])
    empty = Account(Daub(["a"], Schedule(SIZES)))
    with pytest.raises(InputError, match="Nothing has been measured in this run yet"):
        draw_run(empty, tmp_path / "a")
    assert not (tmp_path / "a").exists()
    empty.take(Evaluated(Allocation("a", 10), Measurement(1.0, 0.5, 1.0), 1.0))
    with pytest.raises(InputError, match="Nothing has been measured in this run yet"):
        draw_run(empty, tmp_path / "a")  # an outcome that nobody has asked for yet


def test_letters_that_the_usual_font_lacks_come_from_another_one_or_are_boxes(tmp_path: Path) -> None:
    usual, other = (get_font(findfont(name)).get_charmap().keys() for name in (FONT, "STIXGeneral"))
    letter = chr(min(code for code in other - usual if chr(code).isprintable()))
    assert draw_run(finished({letter: CURVES["best"], "\u5b66": CURVES["early"]}), tmp_path, ["pdf"])
    assert b"STIXGeneral" in (tmp_path / "figure2.pdf").read_bytes()
