"""Transfer of rows to WEKA and of predictions back, each as one array and in one call.

The loops over rows are built from Java method handles and run inside the JVM, so that pydaub needs no compiled Java of
its own. WEKA 3.6 and later versions use different classes for lists and rows; both work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pydaub.learners.weka.jar import jar
from pydaub.learners.weka.jvm import java, jpype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pydaub.learners.weka.jvm import Java
    from pydaub.learners.weka.rows import Attribute


def is_old() -> bool:
    """Return whether this is WEKA 3.6, which uses its own classes for lists and rows."""
    return "weka.core.DenseInstance" not in jar().classes


def header(columns: Sequence[Attribute], classes: Sequence[str]) -> Java:
    """Return an empty data set with these columns, followed by the class."""
    attribute = java("weka.core.Attribute")
    made = [
        attribute(each.name) if each.categories is None else attribute(each.name, _list(each.labels or ["none"]))
        for each in columns
    ]
    target = "class"
    while target in {column.name for column in columns}:
        target += "_"
    empty = java("weka.core.Instances")("rows", _list([*made, attribute(target, _list(classes))]), 0)
    empty.setClassIndex(len(columns))
    return empty


def _list(items: Sequence[Java]) -> Java:
    made = java("weka.core.FastVector" if is_old() else "java.util.ArrayList")(len(items))
    add = made.addElement if is_old() else made.add
    for item in items:
        add(jpype.JString(item) if isinstance(item, str) else item)
    return made


def instances(head: Java, rows: NDArray[np.float64], weights: NDArray[np.float64]) -> Java:
    """Return rows as WEKA instances: `data.add(new Instance(weights[i], rows[i]))` for each i."""
    data = java("weka.core.Instances")(head, len(rows))
    instance, thing, number = java("weka.core.Instance").class_, java("java.lang.Object").class_, jpype.JInt.class_
    handles, lookup, typed = _handles()
    table = jpype.JArray.of(np.ascontiguousarray(rows))
    row = handles.arrayElementGetter(table.getClass()).bindTo(table)
    counts = jpype.JArray(jpype.JDouble)(weights)
    weight = handles.arrayElementGetter(counts.getClass()).bindTo(counts)
    kind = instance if is_old() else java("weka.core.DenseInstance").class_
    made = lookup.findConstructor(kind, typed(_void(), jpype.JDouble.class_, counts.getClass()))
    made = _same_index_twice(
        handles.filterArguments(made, 0, weight, row).asType(typed(instance, number, number)), instance
    )
    sign = typed(_void(), instance) if is_old() else typed(jpype.JBoolean.class_, thing)
    add = lookup.findVirtual(data.getClass(), "add", sign).bindTo(data).asType(typed(_void(), instance))
    _for_each(len(rows), handles.filterArguments(add, 0, made))
    return data


def distributions(classifier: Java, data: Java) -> NDArray[np.float64]:
    """Return `classifier.distributionForInstance(data.instance(i))` for each i, as one array."""
    count, classes = int(data.numInstances()), int(data.numClasses())
    found = jpype.JArray(jpype.JDouble)(count * classes)
    instance, thing, number = java("weka.core.Instance").class_, java("java.lang.Object").class_, jpype.JInt.class_
    many, boxed = found.getClass(), java("java.lang.Integer")
    handles, lookup, typed = _handles()
    get = lookup.findVirtual(data.getClass(), "instance", typed(instance, number)).bindTo(data)
    kind = java("weka.classifiers.Classifier").class_
    ask = lookup.findVirtual(kind, "distributionForInstance", typed(many, instance)).bindTo(classifier)
    system = java("java.lang.System").class_
    copy = lookup.findStatic(system, "arraycopy", typed(_void(), thing, number, thing, number, number))
    copy = handles.insertArguments(copy, 4, boxed(classes))  # copy(answer, 0, found, i * classes, classes)
    copy = handles.insertArguments(copy, 1, boxed(0), found).asType(typed(_void(), many, number))
    times = lookup.findStatic(java("java.lang.Math").class_, "multiplyExact", typed(number, number, number))
    place = handles.insertArguments(times, 0, boxed(classes))
    asked = handles.filterArguments(ask, 0, get)
    _for_each(count, _same_index_twice(handles.filterArguments(copy, 0, asked, place), _void()))
    return np.array(memoryview(found)).reshape(count, classes)


def _handles() -> tuple[Java, Java, Java]:
    handles = java("java.lang.invoke.MethodHandles")
    return handles, handles.publicLookup(), java("java.lang.invoke.MethodType").methodType


def _void() -> Java:
    return java("java.lang.Void").TYPE


def _same_index_twice(handle: Java, returned: Java) -> Java:
    """Turn a handle of two ints into a handle of one int that passes it twice."""
    handles, _, typed = _handles()
    return handles.permuteArguments(handle, typed(returned, jpype.JInt.class_), 0, 0)


def _for_each(count: int, body: Java) -> None:
    """Call a handle with 0, 1, ..., count - 1."""
    handles, _, _ = _handles()
    times = handles.constant(jpype.JInt.class_, java("java.lang.Integer")(count))
    handles.countedLoop(times, None, body).invokeWithArguments()
