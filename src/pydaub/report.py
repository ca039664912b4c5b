"""A story -> one HTML file that needs nothing else: the live page as it stands, and how the run was made."""

from __future__ import annotations

import json
import secrets
from html import escape
from typing import TYPE_CHECKING, Any

from pydaub.dashboard.page import assembled
from pydaub.errors import grouped
from pydaub.journal import is_held

if TYPE_CHECKING:
    from pydaub.runfolder import RunFolder
    from pydaub.story import Story


def written(story: Story, folder: RunFolder, title: str) -> str:
    """Return the report of a run as HTML."""
    names = story.strategy.learners
    claim = story.certificate
    told = {
        "header": {**story.header(held=is_held(folder.journal)), "trouble": ""},
        "learners": [story.learner(name) for name in names],
        "decisions": story.decisions,
        "certificate": claim.sentences if claim else [],
        "misbehaved": dict(claim.misbehaved) if claim else {},
        "about": _about(story, folder),
    }
    nonce = secrets.token_urlsafe(16)
    page = assembled(title, nonce, told, _unscripted(story))
    policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:"
    return page.replace(
        "<meta charset", f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta charset', 1
    )


def _about(story: Story, folder: RunFolder) -> dict[str, dict[str, str]]:
    settings = {
        name: value for name, value in story.settings.items() if name not in {"learners", "definitions", "data"}
    }
    request = {name: value for name, value in vars(folder.request).items() if value not in (None, (), {}, "")}
    failures = {f"{number}": way for number, way in enumerate(grouped(story.strategy.failures), start=1)}
    parts = {"Failures": failures, "Asked for": request, "Settings": settings, "Versions": folder.versions}
    return {title: {name: _words(value) for name, value in facts.items()} for title, facts in parts.items() if facts}


def _words(value: Any) -> str:  # noqa: ANN401  # whatever a setting is
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _unscripted(story: Story) -> str:
    """Return the ranking and the certificate for who runs no scripts."""
    claim = story.certificate
    lines = [f"<p>{escape(words)}</p>" for words in (claim.sentences if claim else [])]
    rows = []
    for name in story.strategy.learners:
        one = story.learner(name)
        last = one["points"][-1] if one["points"] else None
        cells = [name, f"{last[0]:,}", f"{last[1]:.4f}", f"{last[2]:.4f}"] if last else [name, "", "", ""]
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in [*cells, one["status"], one["why"]]))
    head = "".join(f"<th>{each}</th>" for each in ("Learner", "Size", "Training", "Validation", "Status", "Reason"))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"{''.join(lines)}<table><tr>{head}</tr>{table}</table>"
