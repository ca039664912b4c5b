"""Servers of nurseries that are forked from one process, which has imported already what they need.

To import scikit-learn takes longer than most tests that train a few learners. A server that is started so is as real
as any: a process of its own, in a session of its own, with the environment and the folder that it would have had.
How servers are started otherwise is tested in `isolation` and wherever a command has its own process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from pydaub.engines.registry import PRELOAD
from pydaub.isolation import nursery
from pydaub.isolation.server import serve

MODULES = (*(name for name in PRELOAD if ":" not in name), "pydaub.runs.predicting", "pydaub.runs.saving", "skops.io")
LONGEST = 1 << 20  # bytes of a request


class Forked:
    """A server, as `Popen` would be: what a nursery uses of it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._descriptor = os.pidfd_open(pid)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._descriptor], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(["server"], timeout or 0.0)
            os.close(self._descriptor)
            self.returncode = 0
        return self.returncode


class Forking:
    """The process from which servers are forked. It ends with this one, when its socket closes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", f"import forking; forking.fork_servers({theirs.fileno()})"],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **nursery.ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
            )

    def popen(self, command: list[str], *, pass_fds: list[int], env: dict[str, str], **_: object) -> Forked:
        """Start a server, in the place of `subprocess.Popen`."""
        assert "isolation.server" in command[-1]
        if self._process is None:
            self._start()
        request = json.dumps({"env": env, "cwd": str(Path.cwd())})
        socket.send_fds(self._socket, [request.encode()], [*pass_fds, 2])
        return Forked(int(self._socket.recv(LONGEST)))

    def close(self) -> None:
        if self._process is not None:
            self._socket.close()
            self._process.wait()

    def used(self) -> AbstractContextManager[object]:
        """Let nurseries start their servers here."""
        known = {"DEVNULL": subprocess.DEVNULL, "TimeoutExpired": subprocess.TimeoutExpired}
        return patch.object(nursery, "subprocess", SimpleNamespace(Popen=self.popen, **known))


def fork_servers(descriptor: int) -> None:
    """Fork a server for each request, until the owner is gone."""
    for name in MODULES:
        __import__(name)
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(fileno=descriptor) as owner:
        while True:
            request, descriptors, *_ = socket.recv_fds(owner, LONGEST, 2)
            if not request:
                return
            pid = os.fork()
            if pid == 0:
                owner.close()
                _be_a_server(json.loads(request), *descriptors)
            for each in descriptors:
                os.close(each)
            owner.send(str(pid).encode())


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _be_a_server(request: dict[str, Any], connection: int, stderr: int) -> None:
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(stderr, 2)
        os.dup2(stderr, 1)
        os.close(stderr)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        serve(connection)
    except SystemExit:
        pass
    except BaseException:  # noqa: BLE001  # this process must not go on with what its parent does
        traceback.print_exc()
    finally:
        os._exit(0)
