"""The page as one file: markup, style and scripts put together, optionally with the story of a run."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# In this order: constants must exist before main.js runs.
SCRIPTS: Final = (
    "format.js",
    "run.js",
    "address.js",
    "net.js",
    "tab.js",
    "about.js",
    "menus.js",
    "failures.js",
    "head.js",
    "scales.js",
    "lanes.js",
    "keyboard.js",
    "columns.js",
    "rows.js",
    "ranking.js",
    "curves.js",
    "overview.js",
    "names.js",
    "pointing.js",
    "picture.js",
    "allocation.js",
    "log.js",
    "detail.js",
    "steering.js",
    "main.js",
)
STYLES: Final = (
    "colours.css",
    "page.css",
    "controls.css",
    "glance.css",
    "table.css",
    "charts.css",
    "overview.css",
    "runs.css",
    "media.css",
)
MARKUP: Final = "page.html"
# The list of several runs.
LIST_SCRIPTS: Final = ("format.js", "net.js", "keyboard.js", "about.js", "menus.js", "runs.js")
LIST_STYLES: Final = ("colours.css", "page.css", "controls.css", "table.css", "runs.css", "media.css")
LIST_MARKUP: Final = "runs.html"


def assembled(title: str, nonce: str, story: Mapping[str, Any] | None = None, unscripted: str = "") -> str:
    """Return the page. With a story it shows that and needs no server. `unscripted` is shown where scripts are off."""
    parts = {
        **_parts(STYLES, SCRIPTS),
        "<!--STORY-->": "" if story is None else _embedded(story),
        "<!--UNSCRIPTED-->": unscripted or "This page needs JavaScript.",
        "__TITLE__": escape(title),
        "__NONCE__": nonce,
    }
    return _filled(MARKUP, parts)


def list_page(nonce: str) -> str:
    """Return the page that lists several runs."""
    return _filled(LIST_MARKUP, {**_parts(LIST_STYLES, LIST_SCRIPTS), "__NONCE__": nonce})


def _parts(styles: Iterable[str], scripts: Iterable[str]) -> dict[str, str]:
    return {"/*STYLE*/": "\n".join(map(_content, styles)), "/*SCRIPT*/": _script(scripts)}


def _filled(markup: str, parts: Mapping[str, str]) -> str:
    text = _content(markup)
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def _content(name: str) -> str:
    return (files("pydaub.dashboard") / "static" / name).read_text(encoding="utf-8")


def _script(scripts: Iterable[str]) -> str:
    """Return scripts in one scope of their own, so that they share names with each other and with nothing else."""
    joined = "\n".join(map(_content, scripts))
    return f'"use strict";\n{{\n{joined}}}\n'


def _embedded(story: Mapping[str, Any]) -> str:
    """Embed data so that a browser never reads it as markup, whatever names and messages it contains."""
    content = (
        json.dumps(story, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace("__", "\\u005f_")
    )
    return f'<script type="application/json" id="story">{content}</script>'
