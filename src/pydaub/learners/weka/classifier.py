"""Any WEKA classifier as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from pydaub.errors import InputError
from pydaub.learners.adapters import checked_labels
from pydaub.learners.weka import jvm
from pydaub.learners.weka.crossing import header
from pydaub.learners.weka.jar import jar
from pydaub.learners.weka.model import classifier_named, predicted, trained
from pydaub.learners.weka.rows import attributes, doubles, label_text, validated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pydaub.learners.base import Labels, RandomState, Rows
    from pydaub.learners.weka.rows import Attribute

LARGEST_SEED = (1 << 31) - 1  # a Java int


class WekaClassifier(ClassifierMixin, BaseEstimator):
    """WEKA classifier with scikit-learn's interface.

    WEKA runs in a JVM inside this process, which the first fit or prediction starts. Missing values are passed on to
    WEKA as missing, and so are categories that did not occur in training. A row that WEKA leaves unclassified gets
    the class shares of the training data as its probabilities.

    Parameters
    ----------
    class_name
        Full name of the Java class.
    options
        Options of the class, as on WEKA's command line or as a list.
    categorical_features
        Columns that are nominal to WEKA; all others are numeric. "from_dtype" means the columns of a data frame that
        hold categories, text or booleans. Otherwise None, or a list of positions, booleans or column names, as for
        scikit-learn's HistGradientBoostingClassifier.
    random_state
        Seed, for classes that have one. Ignored if `options` sets the seed. None means WEKA's default seed.
    n_jobs
        Number of threads that the JVM may use. Only the first fit or prediction in a process can set it.

    Attributes
    ----------
    classes_
        Labels, sorted.
    class_shares_
        Share of each class in the training data.
    columns_
        Name and categories of each column, as WEKA sees it.
    model_
        Trained Java object, serialized.
    weka_version_
        Version of WEKA that trained the model. Predictions need the same version.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> WekaClassifier("weka.classifiers.trees.J48", "-M 5").fit(X, y).score(X, y) > 0.9  # doctest: +SKIP
    True
    """

    runs_in_jvm = True  # engines reuse its worker, because starting a JVM takes time
    predicts_by_probability = True  # metrics derive labels from probabilities instead of predicting twice

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

    def fit(self, X: Rows, y: Labels, sample_weight: Any = None) -> WekaClassifier:  # noqa: ANN401  # an array or a list
        """Train the classifier."""
        self._check_parameters()
        X = validated(self, X, reset=True)
        if y is None:
            raise ValueError("This WekaClassifier estimator requires y to be passed, but the target y is None.")
        y = checked_labels(y)
        check_consistent_length(X, y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        classes, codes = np.unique(y, return_inverse=True)
        counts = np.bincount(codes, weights)
        if (counts > 0).sum() < 2:  # noqa: PLR2004  # WEKA's own minimum
            raise ValueError(f"{self.class_name} needs at least two classes, got one class.")
        columns = attributes(X, self.categorical_features)
        rows = np.column_stack([doubles(X, columns), codes])
        if not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        jvm.start(self.n_jobs)
        model = jvm.call(lambda: self._trained(columns, [label_text(label) for label in classes], rows, weights))
        self.classes_, self.class_shares_, self.columns_ = classes, counts / counts.sum(), columns
        self.model_, self.weka_version_ = model, jar().version
        return self

    def _check_parameters(self) -> None:
        if not isinstance(self.class_name, str) or not self.class_name:
            raise ValueError(f"`class_name` must be the name of a WEKA class, got {self.class_name!r}.")
        options = self.options
        if not isinstance(options, str) and not (
            isinstance(options, list | tuple) and all(isinstance(option, str) for option in options)
        ):
            raise ValueError(f"`options` must be text or a list of texts, got {options!r}.")
        if self.n_jobs is not None and not isinstance(self.n_jobs, int | np.integer):
            raise ValueError(f"`n_jobs` must be a number of threads or None, got {self.n_jobs!r}.")

    def _trained(
        self,
        columns: Sequence[Attribute],
        classes: Sequence[str],
        rows: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> bytes:
        seed = None
        if isinstance(self.random_state, int | np.integer):
            seed = int(self.random_state) & LARGEST_SEED
        elif self.random_state is not None:
            seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        classifier = classifier_named(self.class_name, self.options, seed)
        if np.ptp(weights) > 0 and not isinstance(classifier, jvm.java("weka.core.WeightedInstancesHandler")):
            raise ValueError(f"{self.class_name} does not support sample weights.")
        return trained(classifier, header(columns, classes), rows, weights)

    def predict_proba(self, X: Rows) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        found = self._distributions(X)
        return found / found.sum(axis=1, keepdims=True)

    def predict(self, X: Rows) -> NDArray[Any]:
        """Return a label for each row."""
        found = self._distributions(X)
        return self.classes_[np.argmax(found, axis=1)]

    def _distributions(self, X: Rows) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        X = validated(self, X, reset=False)
        if jar().version != self.weka_version_:
            raise InputError(
                f"WEKA must have the version that trained this learner, {self.weka_version_}, got {jar().version}."
                " Name its jar with `--weka-jar` or in PYDAUB_WEKA_JAR."
            )
        jvm.start(self.n_jobs)
        # From a fresh copy of the Java object each time, because IBk and others change while they predict.
        found = jvm.call(lambda: predicted(self.model_, doubles(X, self.columns_)))
        found = np.nan_to_num(found, posinf=0.0, neginf=0.0).clip(0.0)  # some classes return no proper probabilities
        found[found.sum(axis=1) <= 0] = self.class_shares_
        return found

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
