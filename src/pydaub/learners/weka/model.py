"""A classifier of WEKA's with the header of its rows: made from options, trained, asked, kept."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import jpype
import numpy as np

from pydaub.learners.weka.crossing import distributions, instances
from pydaub.learners.weka.jar import jar
from pydaub.learners.weka.jvm import java, translated
from pydaub.learners.weka.rows import with_last

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pydaub.learners.weka.jvm import Java

AT_ONCE: Final = 1 << 16  # rows to predict: what is in Java's memory at a time
SEED_SETTERS: Final = ("setSeed", "setRandomSeed", "setClusteringSeed")  # whichever a class has
KNOWN_TYPES: Final = "weka.**;java.lang.**;java.util.**;java.text.**;java.math.**;!*"  # what a kept model is made of


@dataclass(frozen=True, slots=True)
class Model:
    """A Java classifier, and the header (no rows) that tells it what the columns are. The class is the last."""

    classifier: Java
    header: Java

    def trained(self, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> Model:
        """Train the classifier on rows whose last column is the class."""
        self.classifier.buildClassifier(instances(self.header, rows, weights))
        return self

    def distributions(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the classifier says of each class for rows without one, as it says it."""
        parts = []
        for at in range(0, len(rows), AT_ONCE):
            some = rows[at : at + AT_ONCE]
            unknown = instances(self.header, with_last(some, np.full(len(some), np.nan)), np.ones(len(some)))
            parts.append(distributions(self.classifier, unknown))
        return np.vstack(parts)

    def to_bytes(self) -> bytes:
        """Return both as Java writes them: what WEKA itself keeps in a .model file."""
        buffer = java("java.io.ByteArrayOutputStream")()
        stream = java("java.io.ObjectOutputStream")(buffer)
        stream.writeObject(self.classifier)
        stream.writeObject(self.header)
        stream.close()
        return bytes(memoryview(buffer.toByteArray()))

    @classmethod
    def from_bytes(cls, content: bytes) -> Model:
        """Return what `to_bytes` wrote; objects of foreign types are refused, since reading them may run code."""
        stream = java("java.io.ObjectInputStream")(java("java.io.ByteArrayInputStream")(content))
        stream.setObjectInputFilter(java("java.io.ObjectInputFilter").Config.createFilter(KNOWN_TYPES))
        # Java looks for classes where its caller comes from. Through reflection that is JPype, which stands where WEKA
        # does; called directly it would be nobody.
        read = stream.getClass().getMethod("readObject")
        try:
            return cls(read.invoke(stream), read.invoke(stream))
        except jpype.JException as error:
            if "filter status: REJECTED" in str(error.getCause()):
                raise ValueError(
                    "it must be made of objects of WEKA and of plain Java alone to be kept, got others: they are not"
                    " read back, since that could run code."
                ) from None
            raise


def weighs(classifier: Java) -> bool:
    """Whether a classifier heeds the weights of rows."""
    return isinstance(classifier, java("weka.core.WeightedInstancesHandler"))


def classifier_named(class_name: str, options: str | Sequence[str], seed: int | None) -> Java:
    """Return an untrained classifier with its options as a person would type them, and a seed where it takes one."""
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
            f"`options` must be such as {class_name} takes, and that a classifier, got {options!r}: {translated(error)}"
        ) from None
    if seed is not None and not _seed_flags(made) & set(given[: _own(given)]):
        # J48 and PART have a use for one with that option only, and newer ones refuse it otherwise.
        use = not hasattr(made, "getReducedErrorPruning") or made.getReducedErrorPruning()
        for setter in SEED_SETTERS:
            if use and hasattr(made, setter):
                getattr(made, setter)(seed)
    return made


def _own(options: Sequence[str]) -> int:
    """Return how many options come before those of a classifier within."""
    return options.index("--") if "--" in options else len(options)


def _seed_flags(classifier: Java) -> set[str]:
    """Return the options of a class that speak of a seed; a person who typed one has chosen."""
    found = set()
    listed = classifier.listOptions() if hasattr(classifier, "listOptions") else None
    while listed is not None and listed.hasMoreElements():
        option = listed.nextElement()
        if "seed" in f"{option.synopsis()} {option.description()}".lower():
            found.add(f"-{option.name()}")
    return found
