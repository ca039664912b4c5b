"""The page's process: a free port, a token, a browser, and an end."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import uvicorn

from pydaub.dashboard.app import Dashboard, run_title
from pydaub.dashboard.following import Following
from pydaub.errors import InputError
from pydaub.runs.journal import is_held

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydaub.runs.steering import Mailbox

HIGHEST_PORT: Final = 65_535
LOOPBACK: Final = "127.0.0.1"
LINGER: Final = 30.0  # seconds that a page of an ended run is kept without anybody looking


def serve(  # noqa: PLR0913  # what a person may choose
    folder: Path,
    journal: Path,
    mailbox: Mailbox,
    *,
    valid_size: int = 0,
    addable: Callable[[], list[str]] = list,
    host: str = LOOPBACK,
    port: int = 0,
    browse: bool = True,
    linger: bool = True,
) -> None:
    """Serve the page until it is interrupted; unless `linger`, until the run has ended and nobody looks any more."""
    listening = _bound(host, port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    dashboard = Dashboard(Following(journal, valid_size), mailbox, token, title=run_title(folder), addable=addable)
    name = LOOPBACK if _is_any(host) else host
    shown = f"[{name}]" if ":" in name else name
    address = f"http://{shown}:{port}/?token={token}"
    hosts = [LOOPBACK, "localhost", shown, *(_own_names() if _is_any(host) else [])]
    config = uvicorn.Config(
        dashboard.app(hosts), log_level="error", lifespan="on", server_header=False, timeout_graceful_shutdown=1
    )

    def announce() -> None:
        with suppress(OSError):  # whoever started it has gone
            print(f"The page: {address}", file=sys.stderr, flush=True)  # noqa: T201  # the address is what it is for
            if name != LOOPBACK or _is_any(host):
                words = f"Others can reach it on {', '.join(hosts[2:])}; the token travels in clear."
                print(words, file=sys.stderr, flush=True)  # noqa: T201
        if browse:  # in a thread: a browser of the terminal is waited for
            threading.Thread(target=_browse, args=(address,), daemon=True).start()

    with suppress(KeyboardInterrupt):
        asyncio.run(_served(uvicorn.Server(config), listening, dashboard, announce, linger=linger))


async def _served(
    server: uvicorn.Server,
    listening: socket.socket,
    dashboard: Dashboard,
    announce: Callable[[], None],
    *,
    linger: bool,
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():  # noqa: ASYNC110  # it has no event for it
        await asyncio.sleep(0.01)
    announce()
    alone = 0.0
    while not serving.done():
        await asyncio.wait([serving], timeout=1.0)
        over = not is_held(dashboard.following.path) and not dashboard.viewers
        alone = alone + 1.0 if over else 0.0
        if not linger and alone >= (LINGER if dashboard.following.story.begun else 10 * LINGER):
            server.should_exit = True
    await serving


def _bound(host: str, port: int) -> socket.socket:
    if not 0 <= port <= HIGHEST_PORT:
        raise InputError(f"`--port` must be from 0 to {HIGHEST_PORT}, got {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise InputError(f"`--host` and `--port` must be free to listen on, got {host} and {port}: {reason}.") from None
    return listening


def _browse(address: str) -> None:
    """Open the page by way of a file that only this person can read: the token is not on any command line."""
    descriptor, path = tempfile.mkstemp(suffix=".html", prefix="pydaub-")
    with os.fdopen(descriptor, "w") as file:
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">pydaub</a>'
        )
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(f"file://{path}")
    time.sleep(LINGER)
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def _own_names() -> list[str]:
    """Return the names and addresses by which others reach this machine."""
    name = socket.gethostname()
    found = {name, socket.getfqdn()}
    with suppress(OSError):
        found |= {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)}
    return sorted(f"[{each}]" if ":" in each else each for each in found)


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
