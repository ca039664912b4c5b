"""A classifier of WEKA's and the header of its rows: trained, asked and kept, with rows crossing as one array.

The loops over rows are method handles that Java puts together and compiles itself: one call from here, not one for
each row, and no compiled helper of ours. WEKA 3.6 and its successors name some classes otherwise; both work.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

import jpype
import numpy as np

from pydaub.learners.weka.jar import jar
from pydaub.learners.weka.jvm import java

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pydaub.learners.weka.rows import Attribute

AT_ONCE: Final = 1 << 16  # rows to predict: what is in Java's memory at a time
KNOWN_TYPES: Final = "weka.**;java.lang.**;java.util.**;java.text.**;java.math.**;!*"  # what a kept model may be made of


@dataclass(frozen=True, slots=True)
class Model:
    """A Java classifier, and the header (no rows) that tells it what the columns are. The class is the last."""

    classifier: Any
    header: Any

    def trained(self, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> Model:
        """Train the classifier on rows whose last column is the class."""
        self.classifier.buildClassifier(_instances(self.header, rows, weights))
        return self

    def distributions(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the classifier says of each class for rows without one, as it says it."""
        classes = int(self.header.numClasses())
        unknown = np.column_stack([rows, np.full(len(rows), np.nan)])
        parts = [
            _distributions(self.classifier, self.header, unknown[at : at + AT_ONCE], classes)
            for at in range(0, len(rows), AT_ONCE)
        ]
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
        return cls(read.invoke(stream), read.invoke(stream))


def weighs(classifier: Any) -> bool:
    """Whether a classifier heeds the weights of rows."""
    return isinstance(classifier, java("weka.core.WeightedInstancesHandler"))


def new_classifier(class_name: str, options: str | Sequence[str], seed: int | None) -> Any:
    """Return an untrained classifier with its options as a person would type them, and a seed where it takes one."""
    if class_name not in jar().classes:
        short = {name.rpartition(".")[2]: name for name in sorted(jar().classes) if name.startswith("weka.classifiers.")}
        near = [short[name] for name in get_close_matches(class_name.rpartition(".")[2], short, n=3)]
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"`class_name` must be a class of WEKA {jar().version}, got {class_name!r}.{hint}")
    utils, kind = java("weka.core.Utils"), java("weka.classifiers.Classifier")
    given = [str(part) for part in (utils.splitOptions(options) if isinstance(options, str) else options)]
    if seed is not None and (flag := _seed_flag(class_name)) and flag not in given[: _own(given)]:
        given = [flag, str(seed), *given]
    return utils.forName(kind.class_, class_name, jpype.JArray(jpype.JString)(given))


def _own(options: Sequence[str]) -> int:
    """Return how many options come before those of a classifier within."""
    return options.index("--") if "--" in options else len(options)


def _seed_flag(class_name: str) -> str | None:
    """Return the option that sets the class's seed, as its own list of options tells."""
    made = java(class_name)()
    if not isinstance(made, java("weka.core.OptionHandler")):
        return None
    listed = made.listOptions()
    while listed.hasMoreElements():
        option = listed.nextElement()
        if not str(option.name()):  # the heading of the options of a classifier within
            return None
        about = f"{option.synopsis()} {option.description()}".lower()
        if "seed" in about and int(option.numArguments()) == 1:
            return f"-{option.name()}"
    return None


def new_header(columns: Sequence[Attribute], classes: Sequence[str]) -> Any:
    """Return an empty data set with these columns and the class."""
    attribute = java("weka.core.Attribute")
    made = [
        attribute(column.name) if column.values is None else attribute(column.name, _list(column.labels or ["none"]))
        for column in columns
    ]
    name = "class"
    while name in {column.name for column in columns}:
        name += "_"
    header = java("weka.core.Instances")("rows", _list([*made, attribute(name, _list(classes))]), 0)
    header.setClassIndex(len(columns))
    return header


def _list(items: Sequence[Any]) -> Any:
    """Return a list as this WEKA takes it."""
    old = "weka.core.DenseInstance" not in jar().classes
    made = java("weka.core.FastVector" if old else "java.util.ArrayList")(len(items))
    for item in items:
        (made.addElement if old else made.add)(jpype.JString(item) if isinstance(item, str) else item)
    return made


def _instances(header: Any, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> Any:
    """Return rows as WEKA's Instances: for each i, `data.add(new Instance(weights[i], rows[i]))`."""
    handles, lookup, typed = _handles()
    data = java("weka.core.Instances")(header, len(rows))
    old = "weka.core.DenseInstance" not in jar().classes
    instance, double, void = java("weka.core.Instance").class_, jpype.JDouble.class_, jpype.JClass("java.lang.Void").TYPE
    many, table = jpype.JArray(jpype.JDouble).class_, jpype.JArray(jpype.JDouble, 2).class_
    maker = instance if old else java("weka.core.DenseInstance").class_
    make = lookup.findConstructor(maker, typed(void, double, many)).asType(typed(instance, double, many))
    row = handles.arrayElementGetter(table).bindTo(jpype.JArray.of(np.ascontiguousarray(rows)))
    weight = handles.arrayElementGetter(many).bindTo(jpype.JArray(jpype.JDouble)(weights))
    returned = void if old else jpype.JBoolean.class_
    add = lookup.findVirtual(data.getClass(), "add", typed(returned, instance if old else java("java.lang.Object").class_))
    add = add.bindTo(data).asType(typed(void, instance))
    _each(len(rows), handles.filterArguments(add, 0, _of_one(handles.filterArguments(make, 0, weight, row), instance)))
    return data


def _distributions(classifier: Any, header: Any, rows: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """Return for each i `classifier.distributionForInstance(data.instance(i))`, copied into one array."""
    handles, lookup, typed = _handles()
    data = _instances(header, rows, np.ones(len(rows)))
    number, void, thing = jpype.JInt.class_, jpype.JClass("java.lang.Void").TYPE, java("java.lang.Object").class_
    many, instance = jpype.JArray(jpype.JDouble).class_, java("weka.core.Instance").class_
    boxed = java("java.lang.Integer")
    found = jpype.JArray(jpype.JDouble)(len(rows) * classes)
    get = lookup.findVirtual(data.getClass(), "instance", typed(instance, number)).bindTo(data)
    kind = java("weka.classifiers.Classifier").class_
    ask = lookup.findVirtual(kind, "distributionForInstance", typed(many, instance)).bindTo(classifier)
    copy = lookup.findStatic(java("java.lang.System").class_, "arraycopy", typed(void, thing, number, thing, number, number))
    copy = handles.insertArguments(handles.insertArguments(copy, 4, boxed(classes)), 1, boxed(0), found)
    times = lookup.findStatic(java("java.lang.Math").class_, "multiplyExact", typed(number, number, number))
    place = handles.insertArguments(times, 0, boxed(classes))
    copy = copy.asType(typed(void, many, number))
    _each(len(rows), _of_one(handles.filterArguments(copy, 0, handles.filterArguments(ask, 0, get), place), void))
    return np.array(memoryview(found)).reshape(len(rows), classes)


def _handles() -> tuple[Any, Any, Any]:
    handles = java("java.lang.invoke.MethodHandles")
    return handles, handles.publicLookup(), java("java.lang.invoke.MethodType").methodType


def _of_one(handle: Any, returned: Any) -> Any:
    """Return a handle of two ints as one of a single int, which is given for both."""
    typed = java("java.lang.invoke.MethodType").methodType
    return java("java.lang.invoke.MethodHandles").permuteArguments(handle, typed(returned, jpype.JInt.class_), 0, 0)


def _each(count: int, body: Any) -> None:
    """Call a handle with 0, 1, ... count - 1."""
    handles = java("java.lang.invoke.MethodHandles")
    times = handles.constant(jpype.JInt.class_, java("java.lang.Integer")(count))
    handles.countedLoop(times, None, body).invokeWithArguments()
