"""Which learners of a family or a space have started."""

from __future__ import annotations

from pydaub.algorithm.strategies.groups import AT_ONCE, FIRST, MOST_DRAWN, Groups, drawn_name


def test_the_first_of_each_family_start_at_once_and_learners_without_one_always() -> None:
    names = [f"{family}{number}" for number in range(8) for family in "ab"]
    groups = Groups([*names, "alone"], {}, {name: name[0] for name in names})
    assert groups.started("a") == [f"a{number}" for number in range(FIRST)]
    assert groups.waiting == {"a6", "a7", "b6", "b7"}
    assert (groups.of("a7"), groups.of("alone")) == ("a", None)
    assert groups.open() == ["a", "b"]
    assert groups.start_more("a") == ["a6", "a7"]
    assert groups.open() == ["b"]
    groups.start("b7")
    groups.start("b7")
    groups.start("alone")
    assert groups.waiting == {"b6"}
    assert groups.started("b")[-1] == "b7"


def test_all_of_a_family_start_in_the_end_each_once() -> None:
    names = [f"x{number}" for number in range(23)]
    groups = Groups(names, {}, dict.fromkeys(names, "x"))
    found = [*groups.started("x")]
    while groups.open():
        more = groups.start_more("x")
        assert 1 <= len(more) <= AT_ONCE
        found += more
    assert found == names == groups.started("x")


def test_configurations_of_a_space_are_numbered_on_up_to_its_end() -> None:
    groups = Groups(["x 1", "x 2", "y 1", "x 4"], {"x": 5, "y": None}, {})
    assert groups.started("x") == ["x 1", "x 2"]
    assert groups.start_more("x") == ["x 3", "x 4", "x 5"]
    assert groups.open() == ["y"]
    while "y" in groups.open():
        groups.start_more("y")
    assert groups.started("y") == [drawn_name("y", number) for number in range(1, MOST_DRAWN + 1)]
    assert groups.of(drawn_name("y", 3)) == "y"
