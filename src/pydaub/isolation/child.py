"""The child process: apply the limits, run a call, report the result, then exit or wait for the next call."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pydaub.errors import one_line
from pydaub.isolation.proc import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl, status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MEMORY_VARIABLE: Final = "PYDAUB_MEMORY"  # set in a limited child to its limit in bytes; the JVM's heap size needs it
# How libraries report that they ran into it.
MEMORY_WORDS: Final = (
    "bad_alloc",
    "bad_malloc",
    "Cannot allocate memory",
    "MemoryError",
    "Memory allocation",
    "out of memory",
    "insufficient memory",  # the JVM
    "Could not reserve enough space",  # the JVM
    "can't start new thread",  # no memory for the thread's stack
)
# The server enforces the limit on the memory in use. RLIMIT_DATA limits the memory that is reserved, which is always
# more, and OpenBLAS retries forever when it is refused memory. So the kernel's limit lies well above the real one.
SLACK, SLACK_BYTES = 1.25, 128 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """A return value of a call that also says whether its child may run another call.

    A call that returns any other value leaves its child reusable; a call that raises does not.
    """

    value: Any
    reusable: bool


def mentions_memory(text: str) -> bool:
    """Return whether a message contains the words of a library that could not allocate memory."""
    return any(word in text for word in MEMORY_WORDS)


def is_of_memory(error: BaseException) -> bool:
    """Return whether an error is lack of memory: libraries in C++ raise exceptions of their own below a limit."""
    return isinstance(error, MemoryError) or (MEMORY_VARIABLE in os.environ and mentions_memory(one_line(error)))


def live(function: Callable[..., Any], request: Mapping[str, Any], result: int, output: int, requests: int) -> NoReturn:
    """Run the requested call and then those that arrive on the pipe `requests`; never return to the server's code."""
    try:
        content = _answer(function, request, output)
        with os.fdopen(requests, "rb") as following:
            while True:
                while content:
                    content = content[os.write(result, content) :]
                gc.collect()
                line = following.readline() if request["reusable"] else b""
                if not line:
                    break
                content = _answer(function, json.loads(line))
    finally:
        os._exit(0)  # skip exit handlers and buffers, which are copies of the server's


def _answer(function: Callable[..., Any], request: Mapping[str, Any], output: int | None = None) -> bytes:
    """Run a call and return its answer as a line of JSON; apply the limits first if `output` is given."""
    try:
        if output is not None:
            _settle(None if request["program"] else request["memory"], output)
        value = function(**request["arguments"])
        answer = value if isinstance(value, Answer) else Answer(value, reusable=True)
        return json.dumps({"value": answer.value, "reusable": answer.reusable}).encode() + b"\n"
    except BaseException as error:  # noqa: BLE001  # even SystemExit: the answer is the only way to report it
        kind = "memory" if is_of_memory(error) else "error"
        return json.dumps({kind: one_line(error)}).encode() + b"\n"


def _settle(memory: int | None, output: int) -> None:
    """Set up a fresh child: its own process group, its output pipe, and the kernel's memory limit."""
    os.setpgid(0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # processes that the call starts stay below this one and count towards its memory
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, standard)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # let the kernel's OOM killer choose this process first
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is None:
        return
    os.environ[MEMORY_VARIABLE] = str(memory)
    if data := status("self", "VmData"):
        limits = (data + int(SLACK * memory) + SLACK_BYTES, *resource.getrlimit(resource.RLIMIT_DATA))
        limit = min(each for each in limits if each != resource.RLIM_INFINITY)  # the user's own may be lower
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # RLIMIT_AS would count memory-mapped files
