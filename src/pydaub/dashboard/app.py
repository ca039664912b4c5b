"""The page's server: the page itself, a stream of changes, and an endpoint for commands. It serves nothing else.

Every request must name the host that the server listens on and carry the token of the printed address. Commands must
also come from the page itself: a cross-site request can neither set the header nor name the right origin.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from pydaub.dashboard.following import Following
from pydaub.dashboard.page import assembled
from pydaub.errors import InputError
from pydaub.records import COMMANDS
from pydaub.runs.journal import JOURNAL, is_held
from pydaub.runs.steering import STEERING, Mailbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from starlette.requests import Request

    Answer: TypeAlias = Callable[[Request], Awaitable[Response]]

LOOK_SECONDS: Final = 0.25  # how often the journal is read
IDLE_SHARE: Final = 10.0  # after reading it, wait at least this many times as long as that took
BEHIND: Final = 40  # unread messages after which a slow viewer gets a new snapshot instead
STILL_SECONDS: Final = 15.0  # between two comments that keep an idle stream open
PATIENCE: Final = 5.0  # seconds for the run to answer a command
LARGEST_BODY: Final = 4096
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Dashboard:
    """What the routes share: the account of one run and its viewers. `addable` names learners that can be added."""

    def __init__(self, folder: Path, addable: Callable[[], list[str]]) -> None:
        self.following, self.mailbox = Following(folder / JOURNAL), Mailbox(folder / STEERING)
        self.title, self.token = folder.resolve().name, secrets.token_urlsafe(24)
        self.addable = addable
        self.viewers: set[asyncio.Queue[str]] = set()
        self._generation = 0

    def app(self, hosts: list[str]) -> Starlette:
        """Return the application; `hosts` are the host names that requests may use."""

        @asynccontextmanager
        async def alive(_: Starlette) -> AsyncIterator[None]:
            following = asyncio.create_task(self._follow())
            yield
            following.cancel()

        routes = [
            Route("/", self._guarded(self.page)),
            Route("/events", self._guarded(self.events)),
            Route("/addable", self._guarded(self.names)),
            Route("/steer", self._guarded(self.steer), methods=["POST"]),
        ]
        guard = Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
        return Starlette(routes=routes, middleware=[guard], lifespan=alive)

    async def _follow(self) -> None:
        """Keep reading the journal and send what is new to all viewers."""
        while True:
            began = time.monotonic()
            if self.following.look() and self.viewers:
                self._send()
            await asyncio.sleep(max(LOOK_SECONDS, IDLE_SHARE * (time.monotonic() - began)))

    def _send(self) -> None:
        """Send what has changed; everything, where the account began anew or a viewer is too slow."""
        if self._generation != self.following.generation or any(viewer.full() for viewer in self.viewers):
            self._send_all(self.viewers)
            return
        changes = _message("changes", self.following.changes())
        for viewer in self.viewers:
            viewer.put_nowait(changes)

    def _send_all(self, viewers: Iterable[asyncio.Queue[str]]) -> None:
        snapshot = _message("snapshot", self.following.snapshot())
        self._generation = self.following.generation
        for viewer in viewers:
            while not viewer.empty():
                viewer.get_nowait()
            viewer.put_nowait(snapshot)

    def _guarded(self, answer: Answer) -> Answer:
        """Refuse requests without the token, and give every response the headers."""

        async def guarded(request: Request) -> Response:
            given = request.headers.get("x-token") or request.query_params.get("token") or ""
            if secrets.compare_digest(given.encode(), self.token.encode()):
                response = await answer(request)
            else:
                response = PlainTextResponse("The address must contain the token that was printed.\n", 403)
            response.headers.update(HEADERS)
            return response

        return guarded

    async def page(self, _: Request) -> Response:
        """Return the page with its style and script."""
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self';"
            " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return HTMLResponse(assembled(self.title, nonce), headers={"Content-Security-Policy": policy})

    async def events(self, _: Request) -> Response:
        """Stream a snapshot, and after it every change."""
        headers = {"X-Accel-Buffering": "no"}
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers=headers)

    async def _stream(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[str] = asyncio.Queue(BEHIND)
        self.following.look()
        self._send()  # the other viewers would miss what is new
        self._send_all([queue])
        self.viewers.add(queue)  # before the first yield, which may wait
        try:
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), STILL_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self.viewers.discard(queue)

    async def names(self, _: Request) -> Response:
        """Return the learners that could be added."""
        there = set(self.following.account.learners) if self.following.account else set()
        try:
            found = await run_in_threadpool(self.addable)
        except InputError as error:
            return _error(409, str(error))
        return JSONResponse([name for name in found if name not in there])

    async def steer(self, request: Request) -> Response:
        """Pass a command on to the run, and return its answer."""
        if _is_foreign(request):
            return PlainTextResponse("Commands must come from the page itself.\n", 403)
        try:
            fields = json.loads(await _body(request))
            command, learner = fields["command"], fields.get("learner")
            if command not in COMMANDS or not isinstance(learner, str | None):
                raise ValueError(command)  # noqa: TRY301  # reported with the others below
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return _error(400, f"A command must be one of {', '.join(COMMANDS)}.")
        if not is_held(self.following.path):
            return _error(409, "The run is not going on, so it cannot be steered.")
        try:
            key = self.mailbox.send(command, learner)
            answered = await run_in_threadpool(self.mailbox.answer_to, key, PATIENCE)
        except InputError as error:
            return _error(409, str(error))
        return JSONResponse({"obeyed": answered})


def _is_foreign(request: Request) -> bool:
    """Return whether a command does not come from the page itself."""
    origin = request.headers.get("origin")
    own = {f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https")}
    written = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    return "x-token" not in request.headers or not written or (origin is not None and origin not in own)


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise ValueError("too long")
    return body


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)


def _message(kind: str, fields: Mapping[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(fields, separators=(',', ':'), allow_nan=False)}\n\n"
