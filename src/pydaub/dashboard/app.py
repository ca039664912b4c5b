"""The page's server: the page itself, a stream of changes, and an endpoint for commands. It serves nothing else.

The page is the same for everybody and says nothing about the run. Everything else needs the token of the printed
address, in a header: the script has it, and no browser adds it to a request of its own accord. Every request must name
the host that the server listens on, and whatever changes something must come from the page itself.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from pydaub.dashboard.following import Following
from pydaub.dashboard.page import assembled, list_page
from pydaub.errors import InputError, one_line
from pydaub.events import COMMANDS
from pydaub.runs import JOURNAL
from pydaub.runs.journal import is_held
from pydaub.runs.notes import LONGEST, keep_notes, notes
from pydaub.runs.steering import STEERING, Mailbox
from pydaub.views.overview import commands
from pydaub.views.story import waiting
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path
    from typing import TypeAlias

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from pydaub.dashboard.address import Names
    from pydaub.runs.account import Account

    Answer: TypeAlias = Callable[[Request], Awaitable[Response]]

LOOK_SECONDS: Final = 0.25  # how often the journal is read
IDLE_SHARE: Final = 10.0  # after reading it, wait this many times as long as that took,
REST_SECONDS: Final = 2.0  # but no longer, so that the end of a run is seen
BEHIND: Final = 40  # unread messages after which a slow viewer gets a new snapshot instead
BEAT_SECONDS: Final = 1.5  # between two signs of life; static/net.js says how long it waits for one
MOST_VIEWERS: Final = 50  # of one run
LINGER: Final = 30.0  # seconds that the page of an ended run waits for a viewer
HIDDEN_SECONDS: Final = 90.0  # in which a hidden tab looks again: browsers wake it once a minute
PATIENCE: Final = 5.0  # seconds for the run to answer a command
BODY_SECONDS: Final = 10.0  # for the rest of a request to arrive
MOST_AT_WORK: Final = 8  # requests of one page that wait for something else than the page
LARGEST_BODY: Final = 4096
LARGEST_NOTES: Final = 20 * LONGEST  # bytes: old and new text, escaped
BEAT: Final = "event: beat\ndata: {}\n\n"
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Answers only requests that name the right host, and lets through to the run only those with the token."""

    def __init__(self, token: str, names: Names) -> None:
        self._token, self._names = token.encode(), names

    def app(self, routes: list[Route]) -> Starlette:
        """Return the application with these routes."""
        return Starlette(routes=routes, middleware=[Middleware(_Called, names=self._names)])

    def open(self, path: str, answer: Answer) -> Route:
        """Return a route that needs no token."""

        async def answered(request: Request) -> Response:
            return _with_headers(await answer(request))

        return Route(path, answered)

    def reading(self, path: str, answer: Answer) -> Route:
        """Return a route that shows something."""
        return Route(path, self._guarded(answer))

    def changing(self, path: str, answer: Answer) -> Route:
        """Return a route that changes something."""

        async def own(request: Request) -> Response:
            if _is_foreign(request):
                return error(403, "Commands must come from the page itself.")
            return await answer(request)

        return Route(path, self._guarded(own), methods=["POST"])

    def _guarded(self, answer: Answer) -> Answer:
        async def guarded(request: Request) -> Response:
            given = request.headers.get("x-token", "").encode()
            if not secrets.compare_digest(given, self._token):
                return _with_headers(error(403, "The address must contain the token that was printed."))
            return _with_headers(await answer(request))

        return guarded


class _Called:
    """Refuses requests that call this machine by another name."""

    def __init__(self, app: ASGIApp, names: Names) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            called = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if not self._names.accept(called):
                await PlainTextResponse("This host name is not that of the page.\n", 400)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Dashboard:
    """The page of one run: its account and its viewers.

    `addable` names learners that can be added. With `home`, it is a page of several, and leads back to their list.
    """

    def __init__(self, folder: Path, addable: Callable[[], list[str]], *, home: bool = False) -> None:
        self.folder, self.home = folder, home
        self.following, self.mailbox = Following(folder / JOURNAL), Mailbox(folder / STEERING)
        self.title, self.addable = folder.resolve().name, addable
        self.viewers: dict[asyncio.Queue[str], bool] = {}  # and whether each has its snapshot
        self._arrived = asyncio.Event()
        self._at_work = asyncio.Semaphore(MOST_AT_WORK)
        self._task: asyncio.Task[None] | None = None
        self._generation = 0
        self.left_at = -math.inf  # when a viewer last went

    def app(self, token: str, names: Names) -> Starlette:
        """Return the application."""
        guard = Guard(token, names)
        routes = [
            guard.open("/", shell("run")),
            guard.reading("/events", self.events),
            guard.reading("/addable", self.names),
            guard.reading("/about", self.about),
            guard.changing("/steer", self.steer),
            guard.changing("/notes", self.note),
        ]
        return guard.app(routes)

    def patience(self) -> float:
        """Return how many seconds the page should wait for a viewer; infinite while somebody needs it."""
        if self.is_watched or is_held(self.following.path):
            return math.inf
        return LINGER if self.following.path.exists() else 10 * LINGER

    @property
    def is_watched(self) -> bool:
        """Whether there are viewers, or were a moment ago: a hidden tab only looks now and then."""
        return bool(self.viewers) or time.monotonic() - self.left_at < HIDDEN_SECONDS

    def _leave(self, viewer: asyncio.Queue[str]) -> None:
        del self.viewers[viewer]
        self.left_at = time.monotonic()

    async def events(self, _: Request) -> Response:
        """Stream a snapshot, and after it every change, with signs of life in between."""
        if len(self.viewers) >= MOST_VIEWERS:
            return error(503, f"This page is open {MOST_VIEWERS} times already. Close one of the others.")
        queue: asyncio.Queue[str] = asyncio.Queue(BEHIND)
        self.viewers[queue] = False
        self._arrived.set()
        if self._task is None:
            self._task = asyncio.create_task(self._follow())
        return _Stream(queue, lambda: self._leave(queue))

    async def _follow(self) -> None:
        """Keep reading the journal and send what is new, as long as somebody is watching.

        The work is done in a thread, so that viewers hear from the server meanwhile.
        """
        while self.viewers:
            self._arrived.clear()
            began = time.monotonic()
            old = [viewer for viewer, greeted in self.viewers.items() if greeted]
            new = [viewer for viewer, greeted in self.viewers.items() if not greeted]
            behind = any(viewer.full() for viewer in old)
            news, whole = await run_in_threadpool(self._news, old=bool(old), new=bool(new), behind=behind)
            for viewer in self.viewers:
                if viewer in new or (viewer in old and news and news == whole):
                    _replace(viewer, whole)
                    self.viewers[viewer] = True
                elif viewer in old and news:
                    viewer.put_nowait(news)
            with suppress(TimeoutError):
                took = time.monotonic() - began
                await asyncio.wait_for(self._arrived.wait(), max(LOOK_SECONDS, min(IDLE_SHARE * took, REST_SECONDS)))
        self._task = None

    def _news(self, *, old: bool, new: bool, behind: bool) -> tuple[str, str]:
        """Read the journal; return what has changed for `old` viewers, and everything for `new` ones.

        Old viewers get everything, too, where the account began anew or one of them is too slow.
        """
        try:
            changed, again = self.following.look(), self._generation != self.following.generation
            self._generation = self.following.generation
            afresh = changed and old and (behind or again)
            news = self._message("changes", self.following.changes()) if changed and old and not afresh else ""
            whole = self._message("snapshot", self.following.snapshot()) if new or afresh else ""
        except Exception as fault:  # noqa: BLE001  # a page must not go on showing what was
            news = whole = self._message("snapshot", waiting(f"The page cannot show this run: {one_line(fault)}"))
            return news, whole
        return (whole if afresh else news), whole

    def _message(self, kind: str, fields: dict[str, Any]) -> str:
        fields["header"] |= {"run": self.title, "home": self.home}
        return f"event: {kind}\ndata: {json.dumps(fields, separators=(',', ':'), allow_nan=False)}\n\n"

    async def names(self, _: Request) -> Response:
        """Return the learners that could be added."""
        try:
            async with self._at_work:
                account, found = await run_in_threadpool(lambda: (self._account(), self.addable()))
        except InputError as refused:
            return error(409, str(refused))
        there = set(account.learners) if account else set()
        return JSONResponse([name for name in found if name not in there])

    async def steer(self, request: Request) -> Response:
        """Pass a command on to the run, and return its answer."""
        try:
            fields = await body(request)
            command, learner = fields["command"], fields.get("learner")
            if command not in COMMANDS or not isinstance(learner, str | None):
                raise ValueError(command)  # noqa: TRY301  # reported with the others below
        except (ValueError, KeyError, TypeError):
            return error(400, f"A command must be one of {', '.join(COMMANDS)}.")
        if not is_held(self.following.path):
            return error(409, "The run is not going on, so it cannot be steered.")
        try:
            async with self._at_work:
                key = self.mailbox.send(command, learner)
                answered = await run_in_threadpool(self.mailbox.answer_to, key, PATIENCE)
        except InputError as refused:
            return error(409, str(refused))
        return JSONResponse({"obeyed": answered})

    async def about(self, _: Request) -> Response:
        """Return the notes on the run, and commands for it."""
        return JSONResponse(await run_in_threadpool(self._about))

    def _about(self) -> dict[str, Any]:
        from pydaub.runs.saving import PICKLE, SAFE  # noqa: PLC0415  # imports numpy

        account = self._account()
        state = "damaged" if self.following.trouble else account.state if account else "waiting"
        model = next((name for name in (SAFE, PICKLE) if Folder(self.folder).has(name)), None)
        return {
            "run": self.title,
            "notes": notes(self.folder),
            "longest": LONGEST,
            "commands": commands(self.folder, state, model, account.strategy.failures if account else {}),
        }

    def _account(self) -> Account | None:
        """Return what is known of the run; read it if nobody has looked at the page yet."""
        if self.following.account is None:
            self.following.look()
        return self.following.account

    async def note(self, request: Request) -> Response:
        """Keep notes on the run."""
        try:
            fields = await body(request, LARGEST_NOTES)
            text, before = fields["text"], fields["before"]
            if not isinstance(text, str) or not isinstance(before, str):
                raise TypeError(text)  # noqa: TRY301  # reported with the others below
            text = text.encode(errors="replace").decode()  # half a pair of surrogates is no text
        except (ValueError, KeyError, TypeError):
            return error(400, "Notes must be text, and not too long.")
        try:
            await run_in_threadpool(keep_notes, self.folder, text, before)
        except InputError as refused:
            return error(409, str(refused))
        return JSONResponse({"notes": text})


class _Stream(StreamingResponse):
    """What comes into a queue, with signs of life in between. `ended` is called in any case."""

    def __init__(self, queue: asyncio.Queue[str], ended: Callable[[], object]) -> None:
        super().__init__(_lively(queue), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


async def _lively(queue: asyncio.Queue[str]) -> AsyncIterator[str]:
    yield BEAT
    while True:
        try:
            yield await asyncio.wait_for(queue.get(), BEAT_SECONDS)
        except TimeoutError:
            yield BEAT


def _replace(viewer: asyncio.Queue[str], message: str) -> None:
    while not viewer.empty():
        viewer.get_nowait()
    viewer.put_nowait(message)


def shell(kind: str) -> Answer:
    """Return what serves a page with its style and script: that of a `run`, or of several `runs`."""

    async def page(_: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self';"
            " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        content = assembled("", nonce) if kind == "run" else list_page(nonce)
        return HTMLResponse(content, headers={"Content-Security-Policy": policy})

    return page


def _is_foreign(request: Request) -> bool:
    """Return whether a command does not come from the page itself."""
    origin = request.headers.get("origin")
    own = {f"{scheme}://{request.headers.get('host', '')}" for scheme in ("http", "https")}
    written = request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    return not written or (origin is not None and origin not in own)


async def body(request: Request, largest: int = LARGEST_BODY) -> dict[str, Any]:
    """Return the JSON object that came with a request; raise ValueError if it is none, or takes too long."""
    content = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                content += part
                if len(content) > largest:
                    raise ValueError("too long")
        fields = json.loads(content)
    except (TimeoutError, RecursionError) as fault:
        raise ValueError("not read") from fault
    if not isinstance(fields, dict):
        raise ValueError("no object")  # noqa: TRY004  # as all others
    return fields


def error(status: int, message: str) -> Response:
    """Return an answer that the page shows."""
    return JSONResponse({"error": message}, status)


def _with_headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response
