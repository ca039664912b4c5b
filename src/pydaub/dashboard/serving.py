"""The page's process: it takes a port and a token, opens a browser, and ends when nobody needs it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import uvicorn

from pydaub.dashboard.app import Dashboard
from pydaub.errors import InputError
from pydaub.runs.journal import is_held

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HIGHEST_PORT: Final = 65_535
LOOPBACK: Final = "127.0.0.1"
LINGER: Final = 30.0  # seconds that the page of an ended run waits for a viewer


def serve(  # noqa: PLR0913  # everything that a person may choose
    folder: Path,
    *,
    addable: Callable[[], list[str]] = list,
    host: str = LOOPBACK,
    port: int = 0,
    browse: bool = True,
    linger: bool = True,
) -> None:
    """Serve the page until interrupted; without `linger`, until the run has ended and no viewer is left."""
    listening = _bound(host, port)
    port = listening.getsockname()[1]
    dashboard = Dashboard(folder, addable)
    name = LOOPBACK if _is_any(host) else host
    shown = f"[{name}]" if ":" in name else name
    address = f"http://{shown}:{port}/?token={dashboard.token}"
    hosts = [LOOPBACK, "localhost", shown, *(_own_names() if _is_any(host) else [])]
    config = uvicorn.Config(
        dashboard.app(hosts), log_level="error", lifespan="on", server_header=False, timeout_graceful_shutdown=1
    )

    def announce() -> None:
        with suppress(OSError):  # the process that started it has ended
            print(f"The page: {address}", file=sys.stderr, flush=True)  # noqa: T201  # people need the address
            if name != LOOPBACK or _is_any(host):
                words = f"Other machines can reach it on {', '.join(hosts[2:])}. The token is sent unencrypted."
                print(words, file=sys.stderr, flush=True)  # noqa: T201
        if browse:  # in a thread: a text browser would block
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
    while not server.started and not serving.done():  # noqa: ASYNC110  # uvicorn has no event for it
        await asyncio.sleep(0.01)
    announce()
    alone = 0.0
    while not serving.done():
        await asyncio.wait([serving], timeout=1.0)
        over = not is_held(dashboard.following.path) and not dashboard.viewers
        alone = alone + 1.0 if over else 0.0
        if not linger and alone >= (LINGER if dashboard.following.account else 10 * LINGER):
            server.should_exit = True
    await serving


def _bound(host: str, port: int) -> socket.socket:
    if not host.strip():  # to the system, it would mean all interfaces
        raise InputError(f"`--host` must be an address, got {host!r}. Leave it out for this machine only.")
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
        raise InputError(
            f"Cannot listen on {host}, port {port}: {reason}. Choose another `--host` or `--port`."
        ) from None
    return listening


def _browse(address: str) -> None:
    """Open the page through a file that only its owner can read, to keep the token off every command line."""
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">pydaub</a>'
    with suppress(OSError), tempfile.NamedTemporaryFile("w", suffix=".html", prefix="pydaub-") as file:
        file.write(page)
        file.flush()
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(f"file://{file.name}")
        time.sleep(LINGER)


def _own_names() -> list[str]:
    """Return the names and addresses of this machine."""
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
