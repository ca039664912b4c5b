"""What the tests of several commands look at."""

from __future__ import annotations

import pytest

from cli.commands import CHEAP, Finished, call, numbers, written


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run of four learners on four columns of numbers; not to be changed."""
    place = tmp_path_factory.mktemp("finished")
    data = written(numbers(), place / "numbers.csv")
    done = call("run", data, "--target", "label", "--learners", CHEAP, "--out", place / "run", "--json")
    assert done.code == 0, done.err
    return Finished(place / "run", data, done)
