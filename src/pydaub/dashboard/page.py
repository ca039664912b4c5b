"""The page as one file: markup, style and script put together, optionally with the story of a run."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def assembled(title: str, nonce: str, story: Mapping[str, Any] | None = None, unscripted: str = "") -> str:
    """Return the page. With a story it shows that and needs no server. `unscripted` is shown where scripts are off."""
    static = files("pydaub.dashboard") / "static"
    parts = {
        "<!--STYLE-->": (static / "page.css").read_text(encoding="utf-8"),
        "<!--SCRIPT-->": (static / "page.js").read_text(encoding="utf-8"),
        "<!--STORY-->": "" if story is None else _embedded(story),
        "<!--UNSCRIPTED-->": unscripted or "This page needs JavaScript.",
        "__TITLE__": escape(title),
        "__NONCE__": nonce,
    }
    text = (static / "page.html").read_text(encoding="utf-8")
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def _embedded(story: Mapping[str, Any]) -> str:
    """Embed data so that a browser never reads it as markup, whatever names and messages it contains."""
    content = (
        json.dumps(story, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace("__", "\\u005f_")
    )
    return f'<script type="application/json" id="story">{content}</script>'
