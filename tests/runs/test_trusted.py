"""The list of trusted types is what the learners of the portfolios are made of, no more and no less.

    python tests/runs/test_trusted.py

writes it anew.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
import skops.io

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.commands import mixed
from learners.samples import made, quick
from pydaub import Allocation
from pydaub.data import prepare
from pydaub.evaluation.evaluate import Task, evaluate
from pydaub.learners import Learner, portfolio
from pydaub.learners.adjusted import adjusted
from pydaub.learners.ensemble import EnsembleClassifier, EnsembleRegressor
from pydaub.learners.families import strong
from pydaub.runs.saving import TRUSTED, pairs_in, trusted_pairs, zipped_schema
from weka_here import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydaub.data.schema import Task as Kind

WEKA = "pydaub.learners.weka."


def needed() -> set[tuple[str, str]]:
    """Return all pairs of loader and type that skops does not trust by itself, of every learner that fits here."""
    some: list[tuple[Kind, str]] = [("classification", form) for form in ("matrix", "sparse", "every kind")]
    return {
        pair
        for kind, form in [*some, ("regression", "every kind"), ("regression", "matrix")]
        for pair in _of(kind, form)
    }


def _of(kind: Kind, form: str) -> Iterator[tuple[str, str]]:
    if form == "every kind":  # of column: text and dates among them
        frame = mixed(100).drop(columns="id")
        frame["day"] = pd.to_datetime(frame["day"])
        target = "label" if kind == "classification" else "price"
        data = prepare(frame.drop(columns=target), frame[target].to_numpy(), task=kind)
    else:
        rows = made(form, kind, rows=80)
        data = prepare(rows.X, rows.y, task=kind)
    streaming, weka = ",streaming" * (form != "sparse"), ",weka-j48" * (_has_weka(kind) and form != "sparse")
    families = {recipe.name.rpartition("-")[0] for recipe in strong(kind)} - {"realmlp"}  # which is pickled
    of_each = "".join(f",{family}-1" for family in sorted(families)) * (form != "sparse")
    learners = portfolio(f"sklearn{of_each}{streaming}{weka}", data.schema)
    last = None
    for name, learner in learners.items():
        task = Task(data, {name: Learner(name, quick(learner.estimator))})
        fitted = evaluate(task, Allocation(name, 50)).fitted
        if fitted is not None:
            last = fitted
            yield from _in(fitted)
    if kind == "classification":
        yield from _in(adjusted(last, {"temperature": 2.0}))
    together = EnsembleClassifier if kind == "classification" else EnsembleRegressor
    yield from _in(together.of({"last": last}, {"last": 1.0}, data.schema.classes or None))


def _in(fitted: object) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.skops"
        skops.io.dump(fitted, path)
        foreign = {*skops.io.get_untrusted_types(file=path)}
        yield from (pair for pair in pairs_in(zipped_schema(path)) if pair[1] in foreign)


def _has_weka(kind: Kind) -> bool:
    return kind == "classification" and not MISSING


@pytest.mark.slow("versions")
def test_the_list_is_what_the_portfolios_need() -> None:
    found = needed()
    assert found - trusted_pairs() == set()
    extra = {pair for pair in trusted_pairs() - found if not pair[1].startswith(WEKA)}
    assert extra == set()


def test_every_type_is_named_by_the_module_that_defines_it() -> None:
    for loader, name in trusted_pairs():
        module, _, short = name.rpartition(".")
        try:
            kind = getattr(importlib.import_module(module), short)
        except ImportError:
            continue  # of an extra that is not installed
        assert loader != "ConstructorFromReduceNode", name
        if isinstance(kind, type):
            assert (kind.__module__, kind.__qualname__) in ((module, short), ("numpy", short)), name


if __name__ == "__main__":
    TRUSTED.write_text("".join(f"{loader} {kind}\n" for loader, kind in sorted(needed())))
