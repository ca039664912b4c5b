"""What a command may be, and how its placeholders are filled."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from pydaub import DaubSearch, InputError
from pydaub.learners.commands import PLACES, Command, divided


def test_a_value_with_spaces_stays_one_argument_and_other_braces_stay() -> None:
    command = Command("run --data={rows} '{print $1}' ${home} {{size}} {size}")
    values = {**dict.fromkeys(PLACES, ""), "rows": "a b; rm -rf /", "size": 7}
    assert command.filled(values) == ["run", "--data=a b; rm -rf /", "{print $1}", "${home}", "{size}", "7"]


def test_what_defines_a_command_is_not_where_it_lies() -> None:
    one, other = (Command("true {size}", folder=folder) for folder in ("a", "b"))
    assert one.get_params() == other.get_params()
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.set_params(score="minimize").sign == -one.sign == -1.0


def test_a_command_cannot_be_fitted_in_this_process() -> None:
    with pytest.raises(TypeError, match="engine processes"):
        Command("true").fit([[1]], [1])


@pytest.mark.parametrize("more", [{}, {"n_jobs": 2}])
def test_a_search_of_estimators_refuses_a_command(more: Any) -> None:
    with pytest.raises(InputError, match="DaubSearch must get estimators"):
        DaubSearch([("a", Command("true"))], **more).fit([[number] for number in range(40)], [0, 1] * 20)


def test_words_are_divided_as_a_shell_would() -> None:
    assert divided("a 'b c' \"d\" e\\ f") == ("a", "b c", "d", "e f")
    assert divided(["a b", "c"]) == ("a b", "c")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"command": ""}, "must name a program"),
        ({"command": "a 'b"}, "quotes closed"),
        ({"command": "a | b"}, "not given to a shell, so '|'"),
        ({"command": "a > b"}, "sh -c"),
        ({"command": "a {rowz}"}, r"Did you mean \{rows\}"),
        ({"command": "a", "score": "loss"}, '"minimize" or "maximize"'),
        ({"command": "a", "floor": "low"}, "`floor` must be a number"),
        ({"command": "a", "cost": -1}, "`cost` must be more than 0"),
        ({"command": "a", "gpu": 0.5}, "given to one training at a time"),
        ({"command": "a", "gpu": -1}, "whole number from 0"),
    ],
)
def test_nonsense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Command(**given)
