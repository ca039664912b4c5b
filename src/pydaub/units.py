"""Parse times, amounts of memory, lists of names and column=kind pairs as people write them."""

from __future__ import annotations

import re
from typing import Final

from pydaub.errors import InputError

SECONDS: Final = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
DECIMAL: Final = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY: Final = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
BYTES: Final = {**DECIMAL, **BINARY, **{unit[0]: size for unit, size in DECIMAL.items()}}  # K is short for KB


def seconds(text: str | None, option: str) -> float | None:
    """Parse a time such as 90, 90s, 1.5m or 2h into seconds.

    >>> seconds("1.5m", "--time-limit")
    90.0
    """
    return None if text is None else _amount(text, SECONDS, option, "a time such as 90s, 10m or 2h")


def memory(text: str | None, option: str) -> int | None:
    """Parse an amount of memory such as 500MB or 2GB into bytes.

    >>> memory("2GB", "--learner-memory")
    2000000000
    """
    return None if text is None else int(_amount(text, BYTES, option, "an amount with a unit, such as 500MB or 2GB"))


def names(text: str | None) -> tuple[str, ...]:
    """Parse names separated by commas.

    >>> names("a, b")
    ('a', 'b')
    """
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def pairs(texts: list[str]) -> dict[str, str]:
    """Parse column=kind pairs; a column name may contain an equals sign.

    >>> pairs(["zip=categorical"])
    {'zip': 'categorical'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise InputError(f"`--kind` must be written as column=kind, got {text!r}.")
        found[name] = value
    return found


def _amount(text: str, units: dict[str, int], option: str, form: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*", text)
    unit = match and next((unit for unit in units if unit.lower() == match[2].lower()), None)
    if not match or unit is None:
        raise InputError(f"`{option}` must be {form}, got {text!r}.")
    amount = float(match[1]) * units[unit]
    if not 0 < amount < float("inf"):
        raise InputError(f"`{option}` must be more than 0, got {text!r}. Leave it out for the default.")
    return amount
