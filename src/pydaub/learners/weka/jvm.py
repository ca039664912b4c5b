"""The JVM of this process: started once, when it is first needed, with the memory and the threads that it may use.

It writes nothing to the terminal, leaves signals to Python, and cannot follow this process through a fork.
"""

from __future__ import annotations

import os
import shlex
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydaub.errors import InputError
from pydaub.learners.weka.jar import jar, obstacle

try:
    import jpype
except ImportError:  # `start` says what to do
    jpype = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Java: TypeAlias = Any  # a class or an object of Java's: JPype has no types for them
T = TypeVar("T")

MEMORY_VARIABLE: Final = "PYDAUB_MEMORY"  # the bytes that a worker may use; `worker.py` sets it
HEAP: Final = 0.75  # the heap's share of them; the JVM itself and our arrays need the rest
LEAST_HEAP: Final = 8 << 20  # with less a JVM ends the process instead of saying so
SAID: Final = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
STACK: Final = 64 << 20  # some classes recurse once for each row or for each level of a tree
ARGUMENTS: Final = (
    "-Xrs",  # Ctrl-C and termination are Python's business
    "-XX:+UseParallelGC",  # gives up on a full heap where others go on collecting for minutes
    "-Djava.awt.headless=true",
    "-XX:-PrintWarnings",
    "-XX:-UsePerfData",  # files in /tmp, which a killed process would leave there
    "-XX:-CreateCoredumpOnCrash",
    f"-XX:ErrorFile={os.devnull}",  # else a file in the working directory
    "-Dweka.packageManager.offline=true",  # WEKA 3.7 and later would ask the network for packages
)

_starting = threading.Lock()
_started_in: list[int] = []  # the process that started it


def start(threads: int | None = None) -> None:
    """Start the JVM, unless it runs. `threads` is for the first start: how many the JVM may use at a time."""
    if reason := obstacle():
        raise InputError(f"WEKA must be usable here: {reason}")
    with _starting:
        if jpype.isJVMStarted():
            _check_ours()
            return
        memory = os.environ.get(MEMORY_VARIABLE, "")
        limits = [f"-Xmx{max(int(HEAP * int(memory)), LEAST_HEAP) >> 10}k"] if memory else []
        limits += [f"-XX:ActiveProcessorCount={threads}"] if threads is not None and threads > 0 else []
        with _said_by_nobody() as said:
            jpype.startJVM(*said, *ARGUMENTS, *limits, classpath=list(jar().paths), interrupt=False)
        _started_in.append(os.getpid())
        stream = java("java.io.PrintStream")(java("java.io.OutputStream").nullOutputStream())
        java("java.lang.System").setOut(stream)
        java("java.lang.System").setErr(stream)


@contextmanager
def _said_by_nobody() -> Iterator[list[str]]:
    """Give the arguments of the environment, and hide them from the JVM: it would print that it has seen them."""
    hidden = {name: os.environ.pop(name) for name in SAID if name in os.environ}
    try:
        yield [argument for said in hidden.values() for argument in shlex.split(said)]
    finally:
        os.environ.update(hidden)


def _check_ours() -> None:
    if _started_in and _started_in[0] != os.getpid():
        raise RuntimeError(
            "the JVM was started before this process was forked, and does not run here;"
            " use processes that are spawned, as joblib's are"
        )
    try:
        running = str(java("weka.core.Version").VERSION)
    except (TypeError, jpype.JException):
        paths = list(jar().paths)
        raise InputError(
            f"The JVM of this process must know WEKA, got one that was started without."
            f" Start it with jpype.startJVM(classpath={paths!r}), or leave it to pydaub."
        ) from None
    if running != jar().version:
        raise InputError(
            f"WEKA must be one and the same in a process, got {jar().version} where {running} runs."
            " Start another process."
        )


def java(name: str) -> Java:
    """Return a class of Java's."""
    return jpype.JClass(name)


def called(function: Callable[[], T]) -> T:
    """Return what a function that calls Java returns: run with a deep stack, its Java exceptions as Python's."""
    answer: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(function())
        except jpype.JException as error:
            raised.append(translated(error))
        except BaseException as error:  # noqa: BLE001  # raised again below
            raised.append(error)
        finally:
            java("java.lang.Thread").detach()

    with _starting:  # the size of stacks is the whole process's
        before = threading.stack_size(STACK)
        try:
            thread = threading.Thread(target=work, name="weka", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]
    return answer[0]


def translated(error: Java) -> Exception:
    """Return a Java exception as one of Python's."""
    if isinstance(error, java("java.lang.reflect.InvocationTargetException")):
        error = error.getCause()
    name, message = str(error.getClass().getName()), str(error.getMessage() or "")
    told = message.strip() or name
    text = told if name == "java.lang.Exception" else f"{name.rpartition('.')[2]}: {told}"
    if name == "java.lang.OutOfMemoryError":
        return MemoryError(f"{message} of the JVM, {java('java.lang.Runtime').getRuntime().maxMemory() >> 20:,} MB")
    if name == "java.lang.InstantiationException":
        return ValueError("this class is abstract: it is there for others to build on.")
    if name == "java.lang.StackOverflowError":
        return RecursionError("the JVM's stack is full: this class recurses too deeply")
    unexpected = isinstance(error, (java("java.lang.RuntimeException"), java("java.lang.Error")))
    if unexpected and not isinstance(error, java("java.lang.IllegalArgumentException")):
        return RuntimeError(text)
    return ValueError(text)
