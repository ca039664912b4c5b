from __future__ import annotations

import pickle

import pytest

from pydaub import AllLearnersFailed, Failure, NothingMeasured, PydaubError, Result, errors


def test_failures_are_grouped_and_counted() -> None:
    failures = {f"svm-{i}": Failure("timeout", "over 10 s") for i in range(7)}
    failures["bayes"] = Failure("error", "negative values")
    assert errors.grouped(failures) == [
        "7 x timeout (over 10 s): svm-0, svm-1, svm-2, svm-3, svm-4 and 2 more",
        "1 x error (negative values): bayes",
    ]
    assert str(AllLearnersFailed(failures)) == (
        "All 8 learners failed: 7 x timeout (over 10 s): svm-0, svm-1, svm-2, svm-3, svm-4 and 2 more;"
        " 1 x error (negative values): bayes."
    )
    drawn = {f"x {i}": Failure("error", f"must be at least 1. Got {-i / 7} instead.") for i in range(1, 4)}
    assert errors.grouped(drawn) == [f"3 x error (must be at least 1. Got {-1 / 7} instead.): x 1, x 2, x 3"]
    rows = {f"{i}": Failure("error", f"needs {1200 - 400 * i:,} rows at 0x7f{i}a") for i in range(2)}
    assert len(errors.grouped(rows)) == 1
    five = {
        name: failure for name, failure in failures.items() if name in ("svm-0", "svm-1", "svm-2", "svm-3", "svm-4")
    }
    assert errors.grouped(five) == ["5 x timeout (over 10 s): svm-0, svm-1, svm-2, svm-3, svm-4"], "all of them"
    assert str(AllLearnersFailed({"a": Failure("crash", ""), "b": Failure("crash", "")})) == (
        "All 2 learners failed: 2 x crash: a, b."
    )
    assert str(AllLearnersFailed({"bayes": failures["bayes"]})).startswith("The only learner failed: 1 x error")


def test_text_and_missing_values_that_no_learner_can_take_come_with_advice() -> None:
    text = Failure("error", "ValueError: could not convert string to float: 'Private'")
    missing = Failure("error", "ValueError: Input X contains NaN.")
    assert str(AllLearnersFailed({"a": text, "b": text})).endswith(
        ": a, b. Text needs an encoder, such as OrdinalEncoder, in a pipeline before such a learner."
    )
    assert str(AllLearnersFailed({"a": text, "b": missing})).count(" in a pipeline before such a learner.") == 2
    assert "pipeline" not in str(AllLearnersFailed({"a": Failure("crash", "")}))


def test_it_survives_the_way_to_another_process() -> None:
    error = AllLearnersFailed({"bayes": Failure("error", "negative values")})
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.failures) == (str(error), error.failures)


def test_nothing_measured_says_what_to_do_and_keeps_what_was_done() -> None:
    done = Result(None, 100, (), {}, 1.5, abandoned=1, stopped="time limit")
    error = NothingMeasured("time limit", done)
    assert str(error) == ("`time_limit` must leave time for at least one measurement. Give a longer one.")
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.result) == (str(error), done)
    assert NothingMeasured().result is None
    by_hand = NothingMeasured("stopped by hand", done)
    assert str(by_hand) == "The run ended before anything was measured: stopped by hand."
    assert pickle.loads(pickle.dumps(by_hand)).reason == "stopped by hand"


class Unspeakable(Exception):
    """What it says of itself fails."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("one\ntwo"), "ValueError: one"),
        (ValueError("  \n one \n"), "ValueError: one"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (Unspeakable(), "Unspeakable: (its message cannot be shown)"),
        (RuntimeError("x" * 10_000), "RuntimeError: " + "x" * 486),
    ],
)
def test_an_error_of_foreign_code_is_one_line(error: BaseException, line: str) -> None:
    assert errors.one_line(error) == line


def test_the_drawing_shows_every_error() -> None:
    tree = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) == 14
    for kind in classes:
        assert kind.__name__ in tree
        assert issubclass(kind, PydaubError)
