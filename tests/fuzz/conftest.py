"""A run that has ended, for all that only look at it or at a copy."""

from __future__ import annotations

import pytest

from cli.commands import Finished, call, numbers, written


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    place = tmp_path_factory.mktemp("finished")
    data = written(numbers(60), place / "numbers.csv")
    asked = ("--target", "label", "--learners", "tree,naive-bayes-gaussian", "--jobs", 1, "--strategy", "daub")
    done = call("run", data, *asked, "--first-size", 10, "--out", place / "run", "--json", "--quiet")
    assert done.code == 0, done.err
    return Finished(place / "run", data, done)
