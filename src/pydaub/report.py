"""A story -> one HTML file that needs nothing else: the live page as it stands, and how the run was made."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from pydaub.dashboard.page import assembled
from pydaub.errors import grouped
from pydaub.story import Story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.certificate import Certificate
    from pydaub.records import Event

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
        failures = {str(number): way for number, way in enumerate(grouped(story.strategy.failures), start=1)}
        settings = {name: value for name, value in story.settings.items() if name not in HIDDEN}
        parts = {"Failures": failures, "Settings": settings, **(self.about or {})}
        return {
            title: {name: _words(value) for name, value in facts.items()} for title, facts in parts.items() if facts
        }


def _words(value: Any) -> str:  # noqa: ANN401  # whatever a setting is
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _unscripted(story: Story, claim: Certificate | None) -> str:
    """Return the ranking and the certificate for who runs no scripts."""
    lines = [f"<p>{escape(words)}</p>" for words in (claim.sentences if claim else [])]
    rows = []
    for name, one in story.told().items():
        last = one["points"][-1] if one["points"] else None
        cells = [name, f"{last[0]:,}", f"{last[1]:.4f}", f"{last[2]:.4f}"] if last else [name, "", "", ""]
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in [*cells, one["status"], one["why"]]))
    head = "".join(f"<th>{each}</th>" for each in ("Learner", "Size", "Training", "Validation", "Status", "Reason"))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"{''.join(lines)}<table><tr>{head}</tr>{table}</table>"
