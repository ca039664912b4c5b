"""The life of a child: settle in within its limits, run a call, tell what came of it, and leave or wait for another."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pydaub.errors import one_line
from pydaub.isolation.proc import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl, status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What is reserved is more than what is used, and OpenBLAS tries for ever where it is refused: the limit proper is what
# the server sees in use; the system refuses only what is far beyond it.
SLACK, SLACK_BYTES = 1.25, 128 << 20
MEMORY_VARIABLE: Final = "PYDAUB_MEMORY"  # the limit in bytes, where there is one: a JVM must be told


def live(function: Callable[..., Any], request: Mapping[str, Any], result: int, output: int, more: int) -> NoReturn:
    """Run a call, and then those that come from `more`, without a way back into the server's code."""
    try:
        content = _answer(function, request, output)
        with os.fdopen(more, "rb") as requests:
            while True:
                while content:
                    content = content[os.write(result, content) :]
                gc.collect()
                line = requests.readline() if request["again"] else b""
                if not line:
                    break
                content = _answer(function, json.loads(line))
    finally:
        os._exit(0)  # nothing of the server's is flushed or closed a second time


def _answer(function: Callable[..., Any], request: Mapping[str, Any], output: int | None = None) -> bytes:
    """Settle in, if that is still to be done, run the call and return a line on it."""
    try:
        if output is not None:
            _settle(request["memory"], output)
        answer = {"value": function(**request["arguments"])}
        return json.dumps(answer).encode() + b"\n"
    except MemoryError as error:
        return json.dumps({"memory": one_line(error)}).encode() + b"\n"
    except BaseException as error:  # noqa: BLE001  # also SystemExit: a child has no other way to tell
        return json.dumps({"error": one_line(error)}).encode() + b"\n"


def _settle(memory: int | None, output: int) -> None:
    os.setpgid(0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # what this one has started stays with it, and is counted with it
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, standard)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # if the system must kill somebody: this one
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is None:
        return
    os.environ[MEMORY_VARIABLE] = str(memory)
    if data := status("self", "VmData"):
        limit = data + int(SLACK * memory) + SLACK_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))  # RLIMIT_AS would count mapped files
