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

from pydaub.dashboard.page import assembled
from pydaub.errors import InputError
from pydaub.records import COMMANDS
from pydaub.runs.journal import is_held

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from pathlib import Path

    from starlette.requests import Request

    from pydaub.dashboard.following import Following
    from pydaub.runs.steering import Mailbox

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
    """What the routes share: the account of one run and its viewers."""

    def __init__(
        self,
        following: Following,
        mailbox: Mailbox,
        token: str,
        *,
        title: str = "run",
        addable: Callable[[], list[str]] = list,
    ) -> None:
        self.following, self.mailbox, self.token, self.title = following, mailbox, token, title
        self.addable = addable
        self.viewers: set[asyncio.Queue[str]] = set()
        self._decisions = 0
        self._generation = 0

    def app(self, hosts: list[str]) -> Starlette:
        """Return the application; `hosts` are the host names that requests may use."""

        @asynccontextmanager
        async def alive(_: Starlette) -> AsyncIterator[None]:
            following = asyncio.create_task(self._follow())
            yield
            following.cancel()

        routes = [
            Route("/", self.page),
            Route("/events", self.events),
            Route("/addable", self.names),
            Route("/steer", self.steer, methods=["POST"]),
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
        changes = _message("changes", self.following.changes(self._decisions))
        self._decisions = self.following.log_length
        for viewer in self.viewers:
            viewer.put_nowait(changes)

    def _send_all(self, viewers: Iterable[asyncio.Queue[str]]) -> None:
        snapshot = _message("snapshot", self.following.snapshot())
        self._decisions, self._generation = self.following.log_length, self.following.generation
        for viewer in viewers:
            while not viewer.empty():
                viewer.get_nowait()
            viewer.put_nowait(snapshot)

    def _forbidden(self, request: Request) -> Response | None:
        given = request.headers.get("x-token") or request.query_params.get("token") or ""
        if secrets.compare_digest(given.encode(), self.token.encode()):
            return None
        return PlainTextResponse("The address must contain the token that was printed.\n", 403, headers=HEADERS)

    async def page(self, request: Request) -> Response:
        """Return the page with its style and script."""
        if refused := self._forbidden(request):
            return refused
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self';"
            " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return HTMLResponse(assembled(self.title, nonce), headers={**HEADERS, "Content-Security-Policy": policy})

    async def events(self, request: Request) -> Response:
        """Stream a snapshot, and after it every change."""
        if refused := self._forbidden(request):
            return refused
        headers = {**HEADERS, "X-Accel-Buffering": "no"}
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

    async def names(self, request: Request) -> Response:
        """Return the learners that could be added."""
        if refused := self._forbidden(request):
            return refused
        there = set(self.following.account.learners) if self.following.account else set()
        try:
            found = await run_in_threadpool(self.addable)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 409, headers=HEADERS)
        return JSONResponse([name for name in found if name not in there], headers=HEADERS)

    async def steer(self, request: Request) -> Response:
        """Pass a command on to the run, and return its answer."""
        if refused := self._foreign(request) or self._forbidden(request):
            return refused
        try:
            body = await _body(request)
            fields = json.loads(body)
            command, learner = fields["command"], fields.get("learner")
            if command not in COMMANDS or not isinstance(learner, str | None):
                raise ValueError(command)  # noqa: TRY301  # reported with the others below
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return JSONResponse({"error": f"A command must be one of {', '.join(COMMANDS)}."}, 400, headers=HEADERS)
        if not is_held(self.following.path):
            return JSONResponse({"error": "The run is not going on, so it cannot be steered."}, 409, headers=HEADERS)
        try:
            key = self.mailbox.send(command, learner)
            answered = await run_in_threadpool(self.mailbox.answer_to, key, PATIENCE)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 409, headers=HEADERS)
        return JSONResponse({"obeyed": answered}, headers=HEADERS)

    def _foreign(self, request: Request) -> Response | None:
        """Refuse a request that does not come from the page itself."""
        origin = request.headers.get("origin")
        own = {f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https")}
        written = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
        if "x-token" in request.headers and written and (origin is None or origin in own):
            return None
        return PlainTextResponse("Commands must come from the page itself.\n", 403, headers=HEADERS)


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise ValueError("too long")
    return body


def _message(kind: str, fields: Mapping[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(fields, separators=(',', ':'), allow_nan=False)}\n\n"


def run_title(folder: Path) -> str:
    """Return the page's title for a run."""
    return folder.resolve().name
