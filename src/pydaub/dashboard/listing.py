"""The page of a folder of runs: a list that stays up to date, two runs compared, and the page of each run."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from pydaub.dashboard.app import LINGER, Dashboard, Guard, error, shell
from pydaub.dashboard.following import Following
from pydaub.errors import PydaubError
from pydaub.runs import ABOUT, JOURNAL
from pydaub.runs.folder import RunFolder
from pydaub.runs.journal import is_held
from pydaub.runs.notes import NOTES, notes
from pydaub.views.overview import comparison, ended_line, line
from pydaub.within import Folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from pydaub.dashboard.address import Names

SCAN_SECONDS: Final = 1.0  # between two looks at the folder
WATCHED_SECONDS: Final = 10.0  # after the last request, nobody is looking
MOST_RUNS: Final = 2000
MOST_OPEN: Final = 20  # pages of runs that are kept ready
FIRST_LINE: Final = 120  # characters of the notes in the list


def runs_in(folder: Path) -> list[str]:
    """Return the names of the runs in a folder."""
    try:
        return sorted(entry.name for entry in folder.iterdir() if Folder(entry).has(ABOUT))
    except OSError:
        return []


class Listing:
    """All runs of a folder. `addable` names learners that can be added to one of them."""

    def __init__(self, folder: Path, addable: Callable[[Path], list[str]]) -> None:
        self.folder, self.addable = folder, addable
        self._lines: dict[str, dict[str, Any]] = {}
        self._version = 0
        self._seen: dict[str, tuple[Any, ...]] = {}  # what each line was made from
        self._followed: dict[str, Following] = {}  # runs that are going on
        self._pages: dict[str, Dashboard] = {}
        self._asked = -math.inf
        self._scanning: asyncio.Task[None] | None = None
        self._comparing = asyncio.Semaphore(2)
        self._lock = threading.Lock()

    def app(self, token: str, names: Names) -> Starlette:
        """Return the application."""
        guard = Guard(token, names)
        of = self._of
        return guard.app(
            [
                guard.open("/", shell("runs")),
                guard.reading("/runs", self.runs),
                guard.reading("/compare", self.compare),
                guard.open("/run/{name}/", shell("run")),
                guard.reading("/run/{name}/events", of(Dashboard.events)),
                guard.reading("/run/{name}/addable", of(Dashboard.names)),
                guard.reading("/run/{name}/about", of(Dashboard.about)),
                guard.changing("/run/{name}/steer", of(Dashboard.steer)),
                guard.changing("/run/{name}/notes", of(Dashboard.note)),
            ]
        )

    def patience(self) -> float:
        """Return how many seconds the page should wait for a viewer; infinite while somebody needs it."""
        watched = time.monotonic() - self._asked < WATCHED_SECONDS or any(
            page.is_watched for page in self._pages.values()
        )
        return math.inf if watched else LINGER

    def _of(
        self, answer: Callable[[Dashboard, Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the answer of the page of the run that the request names."""

        async def answered(request: Request) -> Response:
            name = request.path_params["name"]
            if name not in self._lines and name not in await run_in_threadpool(runs_in, self.folder):
                return error(404, "There is no such run in the folder any more.")
            return await answer(self._page(name), request)

        return answered

    def _page(self, name: str) -> Dashboard:
        page = self._pages.pop(name, None)
        if page is None:
            folder = self.folder / name
            page = Dashboard(folder, lambda: self.addable(folder), home=True)
        self._pages[name] = page  # the latest is the last
        for other in [each for each, page in self._pages.items() if not page.viewers][: -MOST_OPEN or None]:
            del self._pages[other]
        return page

    async def runs(self, request: Request) -> Response:
        """Return the list, unless the page has it already."""
        self._asked = time.monotonic()
        if self._scanning is None:
            self._scanning = asyncio.create_task(self._scan())
        with self._lock:
            version, lines = self._version, list(self._lines.values())
        if request.query_params.get("version") == str(version):
            return JSONResponse({"version": version})
        return JSONResponse({"version": version, "folder": self.folder.resolve().name, "runs": lines})

    async def compare(self, request: Request) -> Response:
        """Return two runs side by side."""
        chosen = request.query_params.getlist("run")
        if len(set(chosen)) != 2 or not set(chosen) <= self._lines.keys():  # noqa: PLR2004  # a pair
            return error(400, "Choose two runs of the list.")
        try:
            async with self._comparing:
                found = await run_in_threadpool(
                    lambda: comparison({name: RunFolder(self.folder / name).account() for name in chosen})
                )
        except PydaubError as refused:
            return error(409, str(refused))
        return JSONResponse(found)

    async def _scan(self) -> None:
        """Keep the list up to date as long as somebody is looking."""
        while time.monotonic() - self._asked < WATCHED_SECONDS:
            await run_in_threadpool(self._look)
            await asyncio.sleep(SCAN_SECONDS)
        self._scanning = None

    def _look(self) -> None:
        """Read what has changed, newest runs first; put what is not read yet into the list without details."""
        found = {name: self._state_of(name) for name in runs_in(self.folder)[:MOST_RUNS]}
        with self._lock:
            self._version = self._version or 1  # until then, the page says that it looks for runs
            for name in self._lines.keys() - found.keys():
                self._version += 1
                for kept in (self._lines, self._seen, self._followed):
                    kept.pop(name, None)
            for name, (started, *_) in found.items():
                if name not in self._lines:
                    self._version += 1
                    self._lines[name] = {"name": name, "state": "reading", "started": started, "notes": ""}
        for name in sorted(found, key=lambda name: -found[name][0]):
            if self._seen.get(name) != found[name]:
                made = self._line(name, found[name])
                with self._lock:
                    self._lines[name] = made
                    self._version += 1
                self._seen[name] = found[name]

    def _state_of(self, name: str) -> tuple[Any, ...]:
        """Return when a run was started, whether it is going on, and what changes when its line does."""
        folder = self.folder / name
        stats: list[Any] = []
        for file in (JOURNAL, NOTES):
            about = Folder(folder).status(file)
            stats.append(about and (about.st_mtime_ns, about.st_size, about.st_ino))
        described = Folder(folder).status(ABOUT)
        started = described.st_mtime if described else 0.0
        return started, is_held(folder / JOURNAL), *stats

    def _line(self, name: str, state: tuple[Any, ...]) -> dict[str, Any]:
        folder, (started, held, *_) = self.folder / name, state
        written = notes(folder).strip()
        first = written.partition("\n")[0]
        about = {"name": name, "started": started, "notes": first[:FIRST_LINE], "noted": bool(written)}
        if not held:
            self._followed.pop(name, None)
            if (ended := ended_line(folder)) is not None:
                return {**ended, **about}
        following = self._followed.get(name) or Following(folder / JOURNAL)
        following.look()
        if held:
            self._followed[name] = following
        if following.account is None:
            trouble = following.trouble or following.unreadable
            return {"state": "waiting", "trouble": trouble, **about}
        return {**line(following.account), "trouble": following.trouble, **about}
