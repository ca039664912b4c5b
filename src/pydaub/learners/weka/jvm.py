"""The JVM of this process, which starts on first use with limits on memory and threads.

It prints nothing, leaves signals to Python, and does not survive a fork.
"""

from __future__ import annotations

import os
import shlex
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydaub.errors import InputError
from pydaub.isolation.child import MEMORY_VARIABLE
from pydaub.learners.weka.jar import jar, obstacle

try:
    import jpype
except ImportError:  # `start` reports it
    jpype = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Java", "call", "java", "jpype", "start", "translated"]

Java: TypeAlias = Any  # a Java class or object, for which JPype has no types
T = TypeVar("T")

HEAP: Final = 0.75  # the heap's share of the limit; the JVM itself and numpy's arrays need the rest
LEAST_HEAP: Final = 8 << 20  # with a smaller heap, the JVM kills the process instead of raising an error
OPTION_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
STACK: Final = 64 << 20  # bytes; some classes recurse for each row or for each level of a tree
ARGUMENTS: Final = (
    "-Xrs",  # Python handles signals
    "-XX:+UseParallelGC",  # fails soon on a full heap; other collectors try for minutes
    "-Djava.awt.headless=true",
    "-XX:-PrintWarnings",
    "-XX:-UsePerfData",  # a killed process would leave its files in /tmp
    "-XX:-CreateCoredumpOnCrash",
    f"-XX:ErrorFile={os.devnull}",  # the default is the working directory
    "-Dweka.packageManager.offline=true",  # WEKA 3.7 and later look for packages on the network
)

_starting = threading.Lock()
_started_in: list[int] = []  # process id


def start(threads: int | None = None) -> None:
    """Start the JVM unless it is running. `threads` limits its threads and counts only on the first start."""
    if reason := obstacle():
        raise InputError(f"WEKA cannot be used: {reason}")
    with _starting:
        if jpype.isJVMStarted():
            _check_ours()
            return
        memory = os.environ.get(MEMORY_VARIABLE, "")
        limits = [f"-Xmx{max(int(HEAP * int(memory)), LEAST_HEAP) >> 10}k"] if memory else []
        limits += [f"-XX:ActiveProcessorCount={threads}"] if threads is not None and threads > 0 else []
        with _options_of_environment() as options:
            jpype.startJVM(*options, *ARGUMENTS, *limits, classpath=list(jar().paths), interrupt=False)
        _started_in.append(os.getpid())
        stream = java("java.io.PrintStream")(java("java.io.OutputStream").nullOutputStream())
        java("java.lang.System").setOut(stream)
        java("java.lang.System").setErr(stream)


@contextmanager
def _options_of_environment() -> Iterator[list[str]]:
    """Yield the JVM options of the environment and hide them meanwhile: the JVM would print that it found them."""
    hidden = {name: os.environ.pop(name) for name in OPTION_VARIABLES if name in os.environ}
    try:
        yield [option for options in hidden.values() for option in shlex.split(options)]
    finally:
        os.environ.update(hidden)


def _check_ours() -> None:
    if _started_in and _started_in[0] != os.getpid():
        raise RuntimeError(
            "the JVM was started before this process was forked and does not run here;"
            " use spawned processes, as joblib does"
        )
    try:
        running = str(java("weka.core.Version").VERSION)
    except (TypeError, jpype.JException):
        paths = list(jar().paths)
        raise InputError(
            "The JVM of this process was started without WEKA."
            f" Start it with jpype.startJVM(classpath={paths!r}), or leave it to pydaub."
        ) from None
    if running != jar().version:
        raise InputError(
            f"A process can use only one WEKA: {running} is running, and {jar().version} was asked for."
            " Start another process."
        )


def java(name: str) -> Java:
    """Return a Java class."""
    return jpype.JClass(name)


def call(function: Callable[[], T]) -> T:
    """Call a function that uses Java, on a thread with a deep stack, and raise Java exceptions as Python exceptions."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(function())
        except jpype.JException as error:
            answer.set_exception(translated(error))
        except BaseException as error:  # noqa: BLE001  # raised again below
            answer.set_exception(error)
        finally:
            java("java.lang.Thread").detach()

    with _starting:  # the stack size is a setting of the whole process
        before = threading.stack_size(STACK)
        try:
            thread = threading.Thread(target=work, name="weka", daemon=True)
            thread.start()
        finally:
            threading.stack_size(before)
    thread.join()
    return answer.result()


def translated(error: Java) -> Exception:
    """Return the Python exception that corresponds to a Java exception."""
    if isinstance(error, java("java.lang.reflect.InvocationTargetException")):
        error = error.getCause()
    name, message = str(error.getClass().getName()), str(error.getMessage() or "")
    text = message.strip() or name
    text = text if name == "java.lang.Exception" else f"{name.rpartition('.')[2]}: {text}"
    if name == "java.lang.OutOfMemoryError":
        return MemoryError(f"{message} of the JVM, {java('java.lang.Runtime').getRuntime().maxMemory() >> 20:,} MB")
    if name == "java.lang.InstantiationException":
        return ValueError("this class is abstract.")
    if name == "java.lang.StackOverflowError":
        return RecursionError("the JVM's stack is full: the class recurses too deeply")
    unexpected = isinstance(error, (java("java.lang.RuntimeException"), java("java.lang.Error")))
    if unexpected and not isinstance(error, java("java.lang.IllegalArgumentException")):
        return RuntimeError(text)
    return ValueError(text)
