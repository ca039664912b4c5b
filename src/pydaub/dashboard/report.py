"""A run as one HTML file that needs nothing else: the live page in its present state, with settings and versions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.dashboard.page import assembled
from pydaub.data.writing import write_output
from pydaub.errors import grouped
from pydaub.views.glance import result_line
from pydaub.views.story import story
from pydaub.views.summary import shown

if TYPE_CHECKING:
    from pydaub.runs.account import Account

HIDDEN: Final = {"learners", "definitions", "data"}  # settings that mean nothing to a person
# The table for browsers without scripts.
COLUMNS: Final = {
    "learner": "Learner",
    "interval": "With all rows (90 %)",
    "valid": "Measured",
    "size": "Size",
    "time": "Time",
    "status": "Status",
    "remark": "Remark",
    "why": "Why",
}
TALL: Final = 820  # pixels in a notebook


@dataclass(frozen=True, repr=False)
class Report:
    """A run to show: in a notebook it displays the page.

    Parameters
    ----------
    account
        The account of the run.
    title
        The heading.
    about
        Further facts by title.
    notes
        A person's notes on the run.
    """

    account: Account
    title: str = "run"
    about: Mapping[str, Mapping[str, Any]] | None = None
    notes: str = ""

    @property
    def html(self) -> str:
        """The page as one file that needs nothing else."""
        content = {**story(self.account), "notes": self.notes, "about": self._facts()}
        nonce = secrets.token_urlsafe(16)
        page = assembled(self.title, nonce, content, _unscripted(content))
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:"
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        return page.replace("<meta charset", f"{meta}\n<meta charset", 1)

    def save(self, path: str | Path, *, named: bool = True) -> Path:
        """Write the page to a file and return its path. A link is followed only if a person has `named` the file."""
        path = Path(path)
        write_output(path, self.html.encode(errors="backslashreplace"), named=named)
        return path

    def __repr__(self) -> str:
        return f'{result_line(self.account)}\nA notebook shows its page, and save("report.html") writes it to a file.'

    def _repr_html_(self) -> str:
        frame = f'style="width: 100%; height: {TALL}px; border: 0" sandbox="allow-scripts allow-downloads"'
        return f'<iframe {frame} title="{escape(self.title)}" srcdoc="{escape(self.html)}"></iframe>'

    def _facts(self) -> dict[str, dict[str, str]]:
        account = self.account
        failures = {f"{number}.": way for number, way in enumerate(grouped(account.strategy.failures), start=1)}
        settings = {name: value for name, value in account.settings.items() if name not in HIDDEN and value != {}}
        parts = {"Failures": failures, "Settings": settings, "Versions": account.versions, **(self.about or {})}
        return {
            title: {name: _words(value) for name, value in facts.items()} for title, facts in parts.items() if facts
        }


def _words(value: Any) -> str:  # noqa: ANN401  # a setting may be any JSON value
    """Return a setting for people.

    >>> _words({"name": "accuracy", "rows": 6000, "cross_validated": False})
    'name accuracy, rows 6,000, cross validated no'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{str(name).replace('_', ' ')} {_words(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return "none" if value is None else str(value)


def _unscripted(content: Mapping[str, Any]) -> str:
    """Return result, ranking and decisions for browsers without scripts."""
    claim = content["certificate"]
    verdict = content["header"]["verdict"]["line"]
    notes = content["notes"].splitlines()
    sentences = [verdict, *content["summary"], *([claim["text"]] if claim else []), *notes]
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    head = "".join(f"<th>{title}</th>" for title in COLUMNS.values())
    cells = [[escape(shown(one[name])) for name in COLUMNS] for one in content["learners"]]
    table = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    log = "".join(f"<li>{escape(decision['words'])}</li>" for decision in content["decisions"])
    return f'{words}<div class="scroll all"><table><tr>{head}</tr>{table}</table></div><ol>{log}</ol>'
