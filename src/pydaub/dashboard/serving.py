"""The page's process: it takes a port, says where the page is, opens a browser, and ends when nobody needs it."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pydaub.dashboard.address import HIGHEST_PORT, LOOPBACK, Names, Record, tunnel, url
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

BROWSER_SECONDS: Final = 30.0  # for a browser to read the file that leads to the page
HEADER_SECONDS: Final = 10.0  # for a request to arrive; more than uvicorn's wait for the next one on a connection
MOST_CONNECTIONS: Final = 400


class Site(Protocol):
    """What is served: the page of one run, or of all runs in a folder."""

    def app(self, token: str, names: Names) -> Starlette:
        """Return the application, for requests with this token under these names."""

    def patience(self) -> float:
        """Return how many seconds it should wait for a viewer before it ends; infinite while somebody needs it."""


class Punctual(H11Protocol):
    """HTTP as uvicorn speaks it, but a connection whose request does not arrive in time is closed."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._wait()

    def handle_events(self) -> None:
        """Stop waiting once a request is there."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def serve(  # noqa: PLR0913  # everything that a person may choose
    site: Site,
    record: Record,
    *,
    host: str | None = None,
    port: int | None = None,
    browse: bool = True,
    linger: bool = True,
) -> None:
    """Serve the page until interrupted; without `linger`, until the run has ended and no viewer is left.

    Without a port, take the one that the page had last, or a free one. Where another process serves this page already,
    only say where.
    """
    if record.served and host is None and port is None:
        _say(f"The page: {record.served}")
        _open(record.served, browse=browse, wait=True)
        return
    host = LOOPBACK if host is None else host
    with _listening(host, port, record.port) as listening:
        bound, taken = listening.getsockname()[:2]
        names = Names(host, bound)
        address = url(names.shown, taken, record.token)
        config = uvicorn.Config(
            site.app(record.token, names),
            http=Punctual,
            ws="none",
            log_level="error",
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=1,
        )

        def announce() -> None:
            record.keep(address, taken)
            _say(f"The page: {address}")
            if others := names.others():
                reach = ", ".join(url(each, taken, record.token) for each in others)
                _say(f"From other machines: {reach}. The token is sent unencrypted.")
            elif (command := tunnel(names.shown, taken)) is not None:
                _say(f"To see it over ssh, run this on your own machine first: {command}")
            _open(address, browse=browse)

        with suppress(KeyboardInterrupt):
            asyncio.run(_served(uvicorn.Server(config), listening, site, announce, linger=linger))
    record.close()


async def _served(
    server: uvicorn.Server, listening: socket.socket, site: Site, announce: Callable[[], None], *, linger: bool
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():  # noqa: ASYNC110  # uvicorn has no event for it
        await asyncio.sleep(0.01)
    announce()
    alone = 0.0
    while not serving.done():
        await asyncio.wait([serving], timeout=1.0)
        patience = site.patience()
        alone = alone + 1.0 if math.isfinite(patience) else 0.0
        if not linger and alone >= patience:
            server.should_exit = True
    await serving


def _listening(host: str, port: int | None, before: int) -> socket.socket:
    """Return a listening socket; without a port, on the one that the page had before if that is free."""
    if not host.strip():  # to the system, it would mean all interfaces
        raise InputError(f"`--host` must be an address, got {host!r}. Leave it out for this machine only.")
    if port is not None and not 0 <= port <= HIGHEST_PORT:
        raise InputError(f"`--port` must be from 0 to {HIGHEST_PORT}, got {port}.")
    if port is None and before:
        with suppress(OSError):
            return _bound(host, before)
    try:
        return _bound(host, port or 0)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"Cannot listen on {host}, port {port or 0}: {reason}. Choose another `--host` or `--port`."
        ) from None


def _bound(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listening.family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # :: also means 0.0.0.0
        listening.bind((host, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _say(words: str) -> None:
    with suppress(OSError):  # the process that started it has ended
        print(words, file=sys.stderr, flush=True)  # noqa: T201  # people need the address


def _open(address: str, *, browse: bool, wait: bool = False) -> None:
    """Open a browser, if there is one where this person sits. In a thread: a text browser would block."""
    remote = "SSH_CONNECTION" in os.environ and not {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & {*os.environ}
    if not browse or remote:
        return
    thread = threading.Thread(target=_browse, args=(address,), daemon=True)
    thread.start()
    if wait:
        thread.join()


def _browse(address: str) -> None:
    """Open the page through a file that only its owner can read, to keep the token off every command line."""
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}"><a href="{address}">pydaub</a>'
    with suppress(OSError), tempfile.NamedTemporaryFile("w", suffix=".html", prefix="pydaub-") as file:
        file.write(page)
        file.flush()
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(f"file://{file.name}")
        time.sleep(BROWSER_SECONDS)
