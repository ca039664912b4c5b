from __future__ import annotations

import pickle

from pydaub import AllLearnersFailed, Failure, errors


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
    five = {
        name: failure for name, failure in failures.items() if name in ("svm-0", "svm-1", "svm-2", "svm-3", "svm-4")
    }
    assert errors.grouped(five) == ["5 x timeout (over 10 s): svm-0, svm-1, svm-2, svm-3, svm-4"], "all of them"
    assert str(AllLearnersFailed({"a": Failure("crash", ""), "b": Failure("crash", "")})) == (
        "All 2 learners failed: 2 x crash: a, b."
    )
    assert str(AllLearnersFailed({"bayes": failures["bayes"]})).startswith("The only learner failed: 1 x error")


def test_it_survives_the_way_to_another_process() -> None:
    error = AllLearnersFailed({"bayes": Failure("error", "negative values")})
    twin = pickle.loads(pickle.dumps(error))
    assert (str(twin), twin.failures) == (str(error), error.failures)


def test_the_drawing_shows_every_error() -> None:
    tree = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) == 9
    for kind in classes:
        assert kind.__name__ in tree
