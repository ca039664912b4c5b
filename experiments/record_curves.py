"""Record the learning curves that `pydaub recorded` replays.

Every learner is trained on every size, one after the other on one thread, and the table is written line by line. Needs
scikit-learn, pandas and pyarrow:

    pip install scikit-learn==1.9.1 pandas pyarrow
    python experiments/record_curves.py parity --full-size 21500 --out parity.csv
    python experiments/record_curves.py higgs.parquet --full-size 18179 --out higgs.csv

The label of a Parquet file is its column `target`. 30 % of its rows are used for validation, as in the paper.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from pydaub import Schedule

SEED = 2016


def scaled(estimator: Any) -> Any:  # noqa: ANN401  # any estimator
    """Return the estimator in a pipeline with a scaler."""
    return make_pipeline(StandardScaler(), estimator)


LEARNERS = {
    "dummy": DummyClassifier(),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=SEED),
    "tree-depth-5": DecisionTreeClassifier(max_depth=5, random_state=SEED),
    "tree-depth-10": DecisionTreeClassifier(max_depth=10, random_state=SEED),
    "tree": DecisionTreeClassifier(random_state=SEED),
    "naive-bayes-gaussian": GaussianNB(),
    "naive-bayes-bernoulli": BernoulliNB(),
    "logistic": scaled(LogisticRegression(max_iter=1000)),
    "sgd-hinge": scaled(SGDClassifier(random_state=SEED)),
    "svm-linear": scaled(LinearSVC(random_state=SEED)),
    "svm-rbf": scaled(SVC(kernel="rbf", random_state=SEED)),
    "svm-poly-2": scaled(SVC(kernel="poly", degree=2, random_state=SEED)),
    "knn-1": scaled(KNeighborsClassifier(1)),
    "knn-5": scaled(KNeighborsClassifier(5)),
    "knn-25": scaled(KNeighborsClassifier(25)),
    "lda": LinearDiscriminantAnalysis(),
    "qda": QuadraticDiscriminantAnalysis(reg_param=1e-4),
    "bagging-10": BaggingClassifier(n_estimators=10, random_state=SEED),
    "forest-10": RandomForestClassifier(n_estimators=10, random_state=SEED),
    "forest-100": RandomForestClassifier(n_estimators=100, random_state=SEED),
    "extra-trees-100": ExtraTreesClassifier(n_estimators=100, random_state=SEED),
    "adaboost": AdaBoostClassifier(random_state=SEED),
    "gradient-boosting": GradientBoostingClassifier(random_state=SEED),
    "hist-gradient-boosting": HistGradientBoostingClassifier(early_stopping=False, random_state=SEED),
    "mlp": scaled(MLPClassifier(max_iter=100, random_state=SEED)),
}


def parity() -> tuple[Any, Any, Any, Any]:
    """Return 5-bit parity with 11 distractors: 21,500 training and 21,500 validation rows of 65,535 distinct ones."""
    generator = np.random.default_rng(SEED)
    numbers = generator.permutation(65_535)
    rows = (numbers[:, None] >> np.arange(16)) & 1
    hidden = generator.choice(16, size=5, replace=False)
    labels = rows[:, hidden].sum(axis=1) % 2
    return rows[:21_500], rows[21_500:43_000], labels[:21_500], labels[21_500:43_000]


def from_parquet(path: str) -> Any:  # noqa: ANN401  # four arrays
    """Return the rows and labels of a file, split as in the paper."""
    frame = pd.read_parquet(path)
    labels = frame.pop("target").to_numpy()
    rows = frame.to_numpy(dtype=np.float32)
    return train_test_split(rows, labels, test_size=0.3, random_state=SEED, stratify=labels)


def main() -> None:
    """Record the curves."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", help="'parity', or a Parquet file")
    parser.add_argument("--full-size", type=int, required=True, help="last of the sizes 500, 750, 1125, ...")
    parser.add_argument("--out", required=True, help="CSV file to write")
    parser.add_argument(
        "--early-stopping", action="store_true", help="let hist-gradient-boosting stop early, as is its default"
    )
    arguments = parser.parse_args()
    if arguments.early_stopping:
        LEARNERS["hist-gradient-boosting"].set_params(early_stopping="auto")
    warnings.simplefilter("ignore")  # an MLP that has not converged is still measured
    train, valid, train_labels, valid_labels = parity() if arguments.data == "parity" else from_parquet(arguments.data)
    sizes = Schedule.geometric(arguments.full_size).sizes
    with Path(arguments.out).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["learner", "size", "train_score", "valid_score", "seconds"])
        for name, estimator in LEARNERS.items():
            for size in sizes:
                rows, labels = train[:size], train_labels[:size]
                start = time.perf_counter()
                estimator.fit(rows, labels)
                seconds = time.perf_counter() - start
                scores = (
                    estimator.score(rows, labels),
                    estimator.score(valid, valid_labels),
                )
                writer.writerow([name, size, *(f"{s:.6f}" for s in (*scores, seconds))])
                file.flush()
            print(name, size, *(f"{s:.4f}" for s in (*scores, seconds)), flush=True)


if __name__ == "__main__":
    main()
