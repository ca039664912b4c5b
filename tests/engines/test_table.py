"""Tables of recorded curves, and the engine that replays them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pydaub import Allocation, Failure, InputError, Measurement, Postponed, RefusedAllocation, Table, TableEngine
from tables import collected

HEADER = "learner,size,train_score,valid_score,seconds\n"


def read(tmp_path: Path, text: str | bytes) -> Table:
    path = tmp_path / "curves.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Table.read(path)


def test_learners_are_in_the_order_in_which_they_first_appear(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER + "zebra,20,1,0.5,3\nant,10,1,0.6,1\nzebra,10,1,0.4,2\n")
    assert table.learners == ("zebra", "ant")
    assert table.sizes == (10, 20)
    assert table[Allocation("ant", 10)] == Measurement(1.0, 0.6, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        "seconds,valid_score,extra,size,learner,train_score\n3,0.5,?,20,a,1\n",
        "\ufefflearner,size,train_score,valid_score,seconds\r\na,20,1,0.5,3\r\n",
        " learner , size,train_score,valid_score,seconds,failure\n\na, 20 ,1e0,.5,3.0,\n\n",
        'learner,size,train_score,valid_score,seconds\n"a",20,1,0.5,3',
    ],
    ids=[
        "other columns, another order",
        "byte order mark, Windows lines",
        "blanks, empty lines",
        "quotes, no last newline",
    ],
)
def test_common_variants_of_csv_files_are_read(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text).outcomes == {Allocation("a", 20): Measurement(1.0, 0.5, 3.0)}


def test_recorded_failures_are_read(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER.strip() + ",failure\nsvm,10,,,60,timeout: over 60 s\nsvm2,10,,,1.5,crash\n")
    assert table[Allocation("svm", 10)] == Failure("timeout", "over 60 s", 60.0)
    assert table[Allocation("svm2", 10)] == Failure("crash", "", 1.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"curves.csv must have the columns learner,size,.* got ''. Add `learner`"),
        (
            "learner,size,train_score,valid,seconds\n",
            r"got 'learner,size,train_score,valid,seconds'. Add `valid_score`",
        ),
        ("a;b\n", r"must have the columns"),
        (HEADER, r"curves.csv must hold at least one learner, got none"),
        (HEADER.replace("\n", ",size\n") + "a,1,1,1,1,1\n", r"must have each column once, got learner,size,"),
        (
            HEADER + "a,10,1,0.5,1\na,10,1,0.5,1\n",
            r"Line 3 of .*curves.csv: .* must not repeat, got 'a' with 10, a duplicate of line 2",
        ),
        (
            HEADER + "a,10,1,zero,1\n",
            r"Line 2 of .*curves.csv: `valid_score` must be a finite number, got 'zero'. Correct",
        ),
        (HEADER + "a,10,nan,0.5,1\n", r"Line 2 .*: `train_score` must be a finite number, got 'nan'"),
        (HEADER + "a,10,1,inf,1\n", r"`valid_score` must be a finite number, got 'inf'"),
        (HEADER + "a,10,1,,1\n", r"`valid_score` must be a finite number, got ''"),
        (HEADER + "a,10,1,0.5,-1\n", r"`seconds` must not be negative, got -1.0"),
        (HEADER + "a,10,1,0.5,\n", r"`seconds` must be a finite number, got ''"),
        (HEADER + "a,ten,1,0.5,1\n", r"`size` must be a whole number, got 'ten'"),
        (HEADER + "a,10.5,1,0.5,1\n", r"`size` must be a whole number, got '10.5'"),
        (HEADER + "a,1_0,1,0.5,1\n", r"`size` must be a whole number, got '1_0'"),
        (HEADER + "a,10,1,0_5,1\n", r"`valid_score` must be a finite number, got '0_5'"),
        (HEADER + "a,10,1,1e300,1\n", r"`valid_score` must be finite, at most 1e\+100 in size"),
        (HEADER + "a,0,1,0.5,1\n", r"`size` must be at least 1, got 0"),
        (HEADER + " ,10,1,0.5,1\n", r"`learner` must be a name, got ''"),
        (HEADER + "a,10,1,0.5\n", r"Line 2 .*: a line must have 5 values, got 4"),
        (HEADER + "a,10,1,0.5,1,7\n", r"a line must have 5 values, got 6"),
        (HEADER + '"a,10,1,0.5,1\n', r"Line 2 of .*curves.csv must be comma-separated text, got: unexpected end"),
        (HEADER.encode() + b"\xe9t\xe9,10,1,0.5,1\n", r"curves.csv must be UTF-8 text, got .* Save it as UTF-8"),
        (
            HEADER.strip() + ",failure\na,10,1,0.5,1,error: x\n",
            r"a line with a `failure` must leave its scores empty, got 1,0.5",
        ),
        (HEADER.strip() + ",failure\na,10,,,1,oops: x\n", r"Line 2 .*: `kind` must be one of error, timeout"),
    ],
)
def test_the_error_for_a_bad_file_names_line_and_reason(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        read(tmp_path, text)
    assert "\n" not in str(raised.value), "one line"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.csv must be a readable file, got No such file or directory"):
        Table.read(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"must hold CSV files with curves, got none"):
        Table.read(tmp_path)


def test_a_table_of_anything_else_is_refused() -> None:
    for nonsense in ({}, {"a": 1}, {Allocation("a", 1): 0.5}, [1], None):
        outcomes: Any = nonsense
        with pytest.raises(InputError, match=r"`outcomes` must hold|must hold at least one learner"):
            Table(outcomes)
    for nonsense_path in (None, 5):
        path: Any = nonsense_path
        with pytest.raises(InputError, match=r"`path` must be the path of a CSV file"):
            Table.read(path)
    with pytest.raises(InputError, match=r"must be a readable file, got embedded null"):
        Table.read("a\0b")


def table_of(seconds: dict[str, float]) -> Table:
    return Table({Allocation(name, 10): Measurement(1.0, 0.5, spent) for name, spent in seconds.items()})


def test_the_virtual_clock() -> None:
    """With two workers, c starts when b, the first to end, has ended."""
    engine = TableEngine(table_of({"a": 5.0, "b": 2.0, "c": 2.0, "d": 1.0}), workers=2)
    engine.submit(Allocation("a", 10))
    engine.submit(Allocation("b", 10))
    assert (engine.free, engine.clock) == (0, 0.0)
    assert collected(engine)[0].learner == "b"
    assert (engine.free, engine.clock) == (1, 2.0)
    engine.submit(Allocation("c", 10))
    assert collected(engine)[0].learner == "c"
    assert engine.clock == 4.0
    engine.submit(Allocation("d", 10))
    assert [collected(engine)[0].learner for _ in range(2)] == ["a", "d"], "both end at 5 s: in the order of submission"
    assert (engine.free, engine.clock) == (2, 5.0)


def test_an_allocation_that_was_not_recorded_is_refused_without_effect() -> None:
    engine = TableEngine(table_of({"a": 1.0}))
    with pytest.raises(
        RefusedAllocation, match=r"the table must hold size 20 of learner 'a', .* got only 10. Record it"
    ):
        engine.submit(Allocation("a", 20))
    with pytest.raises(RefusedAllocation, match=r"must hold size 10 of learner 'b', .* got no line for this learner"):
        engine.submit(Allocation("b", 10))
    assert engine.free == 1


@pytest.mark.parametrize("workers", [0, -1, 1.5, None, "2"])
def test_workers_must_be_at_least_one(workers: Any) -> None:
    with pytest.raises(InputError, match=r"`workers` must be"):
        TableEngine(table_of({"a": 1.0}), workers)


def test_what_has_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/zero")):
        with pytest.raises(InputError, match="must be a readable file, got a pipe or a device"):
            Table.read(path)


def test_an_evaluation_ends_at_its_limit_where_the_engine_keeps_limits() -> None:
    long, short = Allocation("long", 10, limit=2.0), Allocation("short", 10, limit=2.0)
    table = Table({long: Measurement(1.0, 0.5, 5.0), short: Measurement(1.0, 0.6, 1.0)})
    engine = TableEngine(table, 2, limits=True)
    engine.submit(long)
    engine.submit(short)
    assert engine.collect() == (short, table[short])
    assert (engine.collect(), engine.clock) == ((long, Postponed(2.0)), 2.0)
    recorded = TableEngine(table)
    recorded.submit(long)
    assert (recorded.collect(), recorded.clock) == ((long, table[long]), 5.0)
