"""What it costs to compute a score a second time, or in another process than the learner's.

    python benchmarks/confirming.py

Prints milliseconds of processor time: to confirm the accuracy in the learner's process, as every evaluation does; and
to write predictions, read them, and compute each score elsewhere. With W workers, whoever does that does it for all W.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from pydaub.evaluation.metrics import Predictions, check_score

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ((4_000, 2), (60_000, 2), (100_000, 2), (100_000, 7))
TIMES = 7


def quickest(function: Callable[[], object]) -> float:
    """Return the milliseconds of the quickest of some calls."""
    found = []
    for _ in range(TIMES):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return 1e3 * min(found)


def main() -> None:
    """Print a line for each number of validation rows and of classes."""
    rng = np.random.default_rng(0)
    print("rows classes confirm | write read accuracy log_loss auc")
    for rows, count in SIZES:
        names = np.array([f"class {number}" for number in range(count)])
        features, y = np.zeros((rows, 1)), names[rng.integers(0, count, rows)]
        predictions = Predictions(DummyClassifier().fit(features, y))
        score = accuracy_score(y, predictions.predict(features))
        probabilities = rng.dirichlet(np.ones(count), rows)
        codes = rng.integers(0, count, rows)
        seen = probabilities[:, 1] if count == 2 else probabilities  # noqa: PLR2004  # two classes share one curve
        labels = probabilities.argmax(axis=1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "predictions.npy"
            costs = [
                quickest(lambda: check_score(predictions, features, y, "accuracy", score)),  # noqa: B023  # called at once
                quickest(lambda: np.save(path, probabilities)),  # noqa: B023
                quickest(lambda: np.load(path)),  # noqa: B023
                quickest(lambda: accuracy_score(codes, labels)),  # noqa: B023
                quickest(lambda: log_loss(codes, probabilities)),  # noqa: B023
                quickest(lambda: roc_auc_score(codes, seen, multi_class="ovr")),  # noqa: B023
            ]
        print(f"{rows:,} {count} {costs[0]:.1f} | {' '.join(f'{each:.1f}' for each in costs[1:])}", flush=True)


if __name__ == "__main__":
    main()
