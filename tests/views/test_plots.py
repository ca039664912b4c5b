"""Pictures of a run: what they show, and that they are pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from pydaub import Account, Allocation, Daub, Evaluated, Measurement, Schedule, Table, TableEngine
from pydaub.errors import InputError
from pydaub.runs.loop import Loop
from pydaub.views.plots import FORMATS, draw_run, leaders

SIZES = (10, 20, 40, 80)
CURVES = {"early": [0.6, 0.6, 0.6, 0.6], "never": [0.1, 0.1, 0.1, 0.1], "best": [0.3, 0.5, 0.7, 0.9]}


def finished() -> Account:
    table = Table({
        Allocation(name, size): Measurement(0.95, score, 1.0)
        for name, scores in CURVES.items()
        for size, score in zip(SIZES, scores, strict=True)
    })  # fmt: skip
    return Loop(Daub(table.learners, Schedule(SIZES)), TableEngine(table)).run()


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
    again = draw_run(account, tmp_path / "b")
    for path in made:
        content = path.read_bytes()
        assert content.startswith(starts[path.suffix[1:]])
        assert len(content) > 2000
    for path in again:
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
    assert "1 early leader -->" in (tmp_path / "a" / "figure1.svg").read_text()


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
