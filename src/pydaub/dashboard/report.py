"""A story -> one HTML file that needs nothing else: the live page as it stands, and how the run was made."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from pydaub.dashboard.page import assembled
from pydaub.errors import grouped
from pydaub.views.story import Story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.records import Event
    from pydaub.runs.certificate import Certificate

HIDDEN: Final = {"learners", "definitions", "data"}  # settings that say nothing to a person
TALL: Final = 820  # pixels in a notebook


@dataclass(frozen=True)
class Report:
    """A run to show: in a notebook it is the page; `html` is that page as a file of its own.

    `about` holds further facts by title, such as versions.
    """

    events: tuple[Event, ...]
    valid_size: int = 0
    title: str = "run"
    about: Mapping[str, Mapping[str, Any]] | None = None
    held: bool = False  # whether the run is going on
    certificate: Certificate | None = None  # if it is known from elsewhere

    @property
    def html(self) -> str:
        """The page as one file that needs nothing else."""
        story = Story(self.valid_size, held=self.held).take_all(self.events)
        claim = self.certificate or story.certificate
        told = {
            "header": {**story.header(), "elapsed": story.clock, "trouble": ""},
            "learners": list(story.told().values()),
            "decisions": story.decisions,
            "summary": story.summary,
            "certificate": claim.sentences if claim else [],
            "misbehaved": dict(claim.misbehaved) if claim else {},
            "about": self._facts(story),
        }
        nonce = secrets.token_urlsafe(16)
        page = assembled(self.title, nonce, told, _unscripted(story, claim))
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:"
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        return page.replace("<meta charset", f"{meta}\n<meta charset", 1)

    def _repr_html_(self) -> str:
        frame = f'style="width: 100%; height: {TALL}px; border: 0" sandbox="allow-scripts"'
        return f'<iframe {frame} title="{escape(self.title)}" srcdoc="{escape(self.html)}"></iframe>'

    def _facts(self, story: Story) -> dict[str, dict[str, str]]:
        failures = {f"{number}.": way for number, way in enumerate(grouped(story.strategy.failures), start=1)}
        settings = {name: value for name, value in story.settings.items() if name not in HIDDEN}
        parts = {"Failures": failures, "Settings": settings, **(self.about or {})}
        return {
            title: {name: _words(value) for name, value in facts.items()} for title, facts in parts.items() if facts
        }


def _words(value: Any) -> str:  # noqa: ANN401  # whatever a setting is
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _unscripted(story: Story, claim: Certificate | None) -> str:
    """Return result, ranking and decisions for who runs no scripts."""
    sentences = [*story.summary, *(claim.sentences if claim else [])]
    told = sorted(story.told().values(), key=lambda one: one["points"][-1][:3:2] if one["points"] else [], reverse=True)
    rows = []
    for one in told:
        size, train, valid, _ = one["points"][-1] if one["points"] else ("", "", "", "")
        cells = [size, train, valid, one["bound"], one["rows"], one["seconds"], one["status"], one["why"]]
        rows.append("".join(f"<td>{escape(_cell(cell))}</td>" for cell in [one["name"], *cells]))
    titles = ("Learner", "Size", "Training", "Validation", "Bound", "Rows", "Seconds", "Status", "Remark")
    head = "".join(f"<th>{title}</th>" for title in titles)
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    log = "".join(f"<li>{escape(one['words'])}</li>" for one in story.decisions)
    lines = "".join(f"<p>{escape(words)}</p>" for words in sentences)
    return f'{lines}<div class="scroll all"><table><tr>{head}</tr>{table}</table></div><ol>{log}</ol>'


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else value if isinstance(value, str) else f"{value:,}"
