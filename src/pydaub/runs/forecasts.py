"""Forecasts of all learners of a run."""

from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pydaub.algorithm.forecast import Forecast
    from pydaub.runs.account import Account


def forecasts_of(account: Account) -> Mapping[str, Forecast]:
    return account.strategy.forecasts
