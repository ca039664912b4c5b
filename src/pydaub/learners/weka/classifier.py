"""WekaClassifier: any classifier of WEKA's as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from pydaub.errors import InputError
from pydaub.learners.weka import jvm
from pydaub.learners.weka.jar import jar
from pydaub.learners.weka.rows import attributes, doubles, taken, with_last, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pydaub.learners.base import Labels, RandomState, Rows
    from pydaub.learners.weka.rows import Attribute

LARGEST_SEED = (1 << 31) - 1  # a Java int


class WekaClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of WEKA's, by the name of its class, with the options that one would type for it.

    Columns of a data frame that are categories, text or truth values are nominal to WEKA, others numeric;
    `categorical_features` says otherwise, as with scikit-learn's HistGradientBoosting. Missing values stay missing, and
    so does a category that was not there in training. Rows to which WEKA gives no class at all ("unclassified") get
    the shares of the classes in training.

    `random_state` sets the seed of classes that take one, unless `options` does; with None WEKA's own default counts.
    `n_jobs` is how many threads the JVM may use; the first fit or prediction of a process, which starts it, decides.
    """

    runs_in_jvm = True  # so that its process is used again (engines/processes.py)
    predicts_by_probability = True  # so that it is asked once, not twice (metrics.py)

    def __init__(
        self,
        class_name: str = "weka.classifiers.trees.J48",
        options: str | Sequence[str] = "",
        *,
        categorical_features: Any = "from_dtype",  # noqa: ANN401  # text, None or a list
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.class_name = class_name
        self.options = options
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Rows, y: Labels, sample_weight: Any = None) -> WekaClassifier:  # noqa: ANN401  # numbers
        """Train it."""
        self._check_parameters()
        X = taken(self, X, reset=True)
        if y is None:
            raise ValueError("This WekaClassifier estimator requires y to be passed, but the target y is None.")
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None)
        check_classification_targets(y)
        check_consistent_length(X, y)
        weights = np.ones(len(y)) if sample_weight is None else self._weights(sample_weight, X)
        classes, codes = np.unique(y, return_inverse=True)
        counts = np.bincount(codes, weights)
        if (counts > 0).sum() < 2:  # noqa: PLR2004  # WEKA wants a choice
            raise ValueError(f"{self.class_name} needs at least two classes to choose from, got one class.")
        columns = attributes(X, self.categorical_features)
        rows = with_last(doubles(X, columns), codes)
        if not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        jvm.start(self.n_jobs)
        kept = jvm.called(lambda: self._trained(columns, [written(label) for label in classes], rows, weights))
        self.classes_, self.shares_, self.columns_ = classes, counts / counts.sum(), columns
        self.kept_, self.weka_version_ = kept, jar().version
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.class_name, str) or not self.class_name:
            raise ValueError(f"`class_name` must be the name of a class of WEKA's, got {self.class_name!r}.")
        options = self.options
        if not isinstance(options, str) and not (
            isinstance(options, list | tuple) and all(isinstance(option, str) for option in options)
        ):
            raise ValueError(f"`options` must be text, or a list of it, got {options!r}.")
        if self.n_jobs is not None and not isinstance(self.n_jobs, int | np.integer):
            raise ValueError(f"`n_jobs` must be a number of threads or None, got {self.n_jobs!r}.")

    def _weights(self, sample_weight: Any, X: Rows) -> NDArray[np.float64]:  # noqa: ANN401  # the same
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            raise ValueError("`sample_weight` must not be negative.")
        return weights

    def _trained(
        self,
        columns: Sequence[Attribute],
        classes: Sequence[str],
        rows: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> bytes:
        from pydaub.learners.weka.crossing import header  # noqa: PLC0415  # needs JPype
        from pydaub.learners.weka.model import Model, classifier_named, weighs  # noqa: PLC0415  # the same

        seed = None
        if isinstance(self.random_state, int | np.integer):
            seed = int(self.random_state) & LARGEST_SEED
        elif self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        classifier = classifier_named(self.class_name, self.options, seed)
        if np.ptp(weights) > 0 and not weighs(classifier):
            raise ValueError(f"{self.class_name} does not heed sample weights.")
        return Model(classifier, header(columns, classes)).trained(rows, weights).to_bytes()

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:  # scikit-learn's signature
        """Return the probability of each class, in the order of `classes_`."""
        found = self._distributions(X)
        return found / found.sum(axis=1, keepdims=True)

    def predict(self, X: Rows) -> NDArray[Any]:  # scikit-learn's signature
        """Return a label for each row."""
        found = self._distributions(X)
        return self.classes_[np.argmax(found, axis=1)]

    def _distributions(self, X: Rows) -> NDArray[np.float64]:
        check_is_fitted(self, "kept_")
        X = taken(self, X, reset=False)
        if jar().version != self.weka_version_:
            raise InputError(
                f"WEKA must be the one that this learner was trained with, {self.weka_version_}, got {jar().version}."
                " Name its jar with `--weka-jar` or in PYDAUB_WEKA_JAR."
            )
        jvm.start(self.n_jobs)
        found = jvm.called(lambda: self._asked(doubles(X, self.columns_)))
        found = np.nan_to_num(found, posinf=0.0, neginf=0.0).clip(0.0)  # some are not quite probabilities
        found[found.sum(axis=1) <= 0] = self.shares_
        return found

    def _asked(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ask the Java object, made anew each time: IBk and others learn from the rows that they are asked about."""
        from pydaub.learners.weka.model import Model  # noqa: PLC0415  # needs JPype

        return Model.from_bytes(self.kept_).distributions(rows)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own type
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
