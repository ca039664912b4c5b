"""The index finds the learner that is worth most, as if the worth of all had been worked out."""

from __future__ import annotations

import random

import pytest

from cases import seeds
from pydaub.algorithm.experience import NORMAL
from pydaub.algorithm.forecast import Forecast, Price, Scale
from pydaub.algorithm.strategies.index import Index

SCALE = Scale(1.0, logarithmic=True)


def drawn(rng: random.Random) -> Forecast:
    steps = tuple((rng.uniform(1, 3), rng.uniform(0.1, 100.0)) for _ in range(rng.randint(1, 3)))
    slope = rng.choice([None, rng.gauss(0.05, 0.1)])
    return Forecast(SCALE, rng.uniform(0.05, 1.0), slope, 0.0, steps, (NORMAL,) * len(steps))


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_it_finds_what_a_look_at_all_would_find(seed: int) -> None:
    rng = random.Random(seed)
    names = tuple(f"learner {number}" for number in range(rng.randint(1, 30)))
    index, spent = Index({name: place for place, name in enumerate(names)}), 1.0
    for name in names:
        index.put(name, drawn(rng))
    for _ in range(20):
        price, out = Price(rng.uniform(0.005, 0.01), spent), set(rng.sample(names, len(names) // 5))
        assert all(fall >= 0 for fall in index.rank(price, out))
        for name in out:
            index.hold(name)
        least = rng.choice([-1.0, 0.3, 0.7])
        worths = {name: index.forecasts[name].worth(price) for name in names if name not in out}
        best = max(worths.values(), default=-2.0)
        found = index.highest(price, least, names)
        assert (found is not None) == (best > least)
        if found is not None:
            assert found[1] == best
            assert worths[found[0]] == best
        for name in {*out, rng.choice(names)}:
            index.put(name, drawn(rng))
        spent *= rng.uniform(1.0, 1.2)
