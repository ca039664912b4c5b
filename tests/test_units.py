from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import InputError
from pydaub.units import BYTES, SECONDS, memory, pairs, seconds

AMOUNTS = st.integers(min_value=1, max_value=10**6)


@given(amount=AMOUNTS, unit=st.sampled_from(sorted(SECONDS)), gap=st.sampled_from(["", " "]))
def test_times(amount: int, unit: str, gap: str) -> None:
    assert seconds(f" {amount}{gap}{unit.upper()} ", "--time-limit") == amount * SECONDS[unit]


@given(amount=AMOUNTS, unit=st.sampled_from(sorted(BYTES)))
def test_amounts_of_memory(amount: int, unit: str) -> None:
    assert memory(f"{amount}{unit.lower()}", "--learner-memory") == amount * BYTES[unit]


def test_fractions_abbreviations_and_none() -> None:
    assert seconds(".5h", "--time-limit") == 1800
    assert seconds("1.5", "--time-limit") == 1.5
    assert seconds("2min", "--time-limit") == seconds("2.m", "--time-limit") == 120
    assert memory("1.5GiB", "--learner-memory") == 3 * 2**29
    assert memory("2g", "--learner-memory") == memory("2GB", "--learner-memory") == 2 * 10**9
    assert seconds(None, "--time-limit") is None
    assert memory(None, "--learner-memory") is None


@pytest.mark.parametrize(
    "text", ["", "s", "5x", "-5", "+5", "1e3", "inf", "nan", "1_000", "5 5s", "1,5m", "five", "5s5", "\n", "5\0s"]
)
def test_bad_times_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="`--time-limit` must be a time such as 90s, 10m or 2h, got "):
        seconds(text, "--time-limit")


@pytest.mark.parametrize("text", ["", "500", "5XB", "-1GB", "GB", "infGB", "1e3MB", "5 M B"])
def test_bad_amounts_of_memory_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="`--learner-memory` must be an amount with a unit, such as 500MB or 2GB, got"):
        memory(text, "--learner-memory")


@pytest.mark.parametrize("text", ["0", "0s", "0.0h", "." + "0" * 400 + "1", "9" * 400])
def test_times_must_be_positive_and_finite(text: str) -> None:
    with pytest.raises(
        InputError, match=r"`--learner-timeout` must be more than 0, got .*Leave it out for the default"
    ):
        seconds(text, "--learner-timeout")


def test_memory_must_be_positive() -> None:
    with pytest.raises(InputError, match="`--learner-memory` must be more than 0, got '0MB'"):
        memory("0MB", "--learner-memory")


@given(st.dictionaries(st.text(min_size=1), st.text().filter(lambda kind: "=" not in kind)))
def test_pairs_are_split_at_the_last_equals_sign(kinds: dict[str, str]) -> None:
    assert pairs([f"{name}={kind}" for name, kind in kinds.items()]) == kinds


@pytest.mark.parametrize("text", ["zip", "", "=numeric"])
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(InputError, match="`--kind` must be written as column=kind, got "):
        pairs(["a=numeric", text])
