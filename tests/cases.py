"""Random cases: a few of them run with `make test`, the others with `make test-slow`."""

from __future__ import annotations

from typing import Any

import pytest


def seeds(quick: int, thorough: int) -> list[Any]:
    """Return `thorough` seeds to parametrize a test with, of which all but the first `quick` are marked slow."""
    rest = (pytest.param(seed, marks=pytest.mark.slow("random")) for seed in range(quick, thorough))
    return [*range(quick), *rest]
