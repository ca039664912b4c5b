"""A WEKA classifier, with the header of its data: created from options, trained, serialized, asked for predictions."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import numpy as np

from pydaub.learners.weka.crossing import distributions, instances
from pydaub.learners.weka.jar import jar
from pydaub.learners.weka.jvm import java, jpype, translated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pydaub.learners.weka.jvm import Java

AT_ONCE: Final = 1 << 16  # rows per call of a prediction, to bound Java's memory
SEED_SETTERS: Final = ("setSeed", "setRandomSeed", "setClusteringSeed")  # those that a class has are called
KNOWN_TYPES: Final = "weka.**;java.lang.**;java.util.**;java.text.**;java.math.**;!*"  # allowed in serialized models


def trained(classifier: Java, head: Java, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> bytes:
    """Train a classifier on rows whose last column is the class, and serialize it as in WEKA's .model files.

    `head` is an empty data set that describes the columns.
    """
    classifier.buildClassifier(instances(head, rows, weights))
    buffer = java("java.io.ByteArrayOutputStream")()
    stream = java("java.io.ObjectOutputStream")(buffer)
    stream.writeObject(classifier)
    stream.writeObject(head)
    stream.close()
    return bytes(memoryview(buffer.toByteArray()))


def predicted(model: bytes, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the raw score of each class for rows without a class, by what `trained` returned."""
    classifier, head = _deserialized(model)
    parts = []
    for at in range(0, len(rows), AT_ONCE):
        some = rows[at : at + AT_ONCE]
        unknown = instances(head, np.column_stack([some, np.full(len(some), np.nan)]), np.ones(len(some)))
        parts.append(distributions(classifier, unknown))
    return np.vstack(parts)


def _deserialized(model: bytes) -> tuple[Java, Java]:
    """Return classifier and header. Other classes are refused, because deserializing them may run code."""
    stream = java("java.io.ObjectInputStream")(java("java.io.ByteArrayInputStream")(model))
    stream.setObjectInputFilter(java("java.io.ObjectInputFilter").Config.createFilter(KNOWN_TYPES))
    # Java looks for classes in the class loader of its caller. Through reflection the caller is JPype, which shares
    # WEKA's class loader; a direct call has no caller.
    read = stream.getClass().getMethod("readObject")
    try:
        return read.invoke(stream), read.invoke(stream)
    except jpype.JException as error:
        if "filter status: REJECTED" in str(error.getCause()):
            raise ValueError(
                "a serialized model must contain only objects of WEKA and of the Java standard library, got others."
                " They are refused, because reading them could run code."
            ) from None
        raise


def classifier_named(class_name: str, options: str | Sequence[str], seed: int | None) -> Java:
    """Create an untrained classifier with options as on WEKA's command line, and set the seed if the class has one."""
    if class_name not in jar().classes:
        known = sorted(name for name in jar().classes if name.startswith("weka.classifiers."))
        short = {name.rpartition(".")[2]: name for name in known}
        near = [short[name] for name in get_close_matches(class_name.rpartition(".")[2], short, n=3)]
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"`class_name` must be a class of WEKA {jar().version}, got {class_name!r}.{hint}")
    utils, kind = java("weka.core.Utils"), java("weka.classifiers.Classifier")
    try:
        given = [str(part) for part in (utils.splitOptions(options) if isinstance(options, str) else options)]
        made = utils.forName(kind.class_, class_name, jpype.JArray(jpype.JString)(given))
    except jpype.JException as error:
        raise ValueError(
            f"`options` must be valid for the classifier {class_name}, got {options!r}: {translated(error)}"
        ) from None
    own = given[: given.index("--")] if "--" in given else given  # later options belong to a nested classifier
    if seed is not None and not _seed_flags(made) & set(own):
        # J48 and PART use a seed only for reduced-error pruning, and newer versions refuse it otherwise.
        use = not hasattr(made, "getReducedErrorPruning") or made.getReducedErrorPruning()
        for setter in SEED_SETTERS:
            if use and hasattr(made, setter):
                getattr(made, setter)(seed)
    return made


def _seed_flags(classifier: Java) -> set[str]:
    """Return the options of a class that set a seed; the user's own choice is kept."""
    found = set()
    listed = classifier.listOptions() if hasattr(classifier, "listOptions") else None
    while listed is not None and listed.hasMoreElements():
        option = listed.nextElement()
        if "seed" in f"{option.synopsis()} {option.description()}".lower():
            found.add(f"-{option.name()}")
    return found
