"""What a run came to, in two lines: what Python and notebooks show of a result and of a certificate."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Final

from pydaub.records import score_text
from pydaub.runs.certificate import Certificate
from pydaub.views.summary import plain, shortened

if TYPE_CHECKING:
    from pydaub.runs.account import Account

NAMED: Final = 3  # tied learners
LONGEST: Final = 48  # characters of a name


class Claims(Certificate):
    """A certificate that shows itself in two lines."""

    __slots__ = ()

    @classmethod
    def of(cls, certificate: Certificate | None) -> Claims | None:
        """Return the same certificate; None where there is none."""
        if certificate is None:
            return None
        return cls(**{field.name: getattr(certificate, field.name) for field in fields(certificate)})

    def __repr__(self) -> str:
        tied = [shortened(name, LONGEST) for name in self.ties]
        more = f" and {len(tied) - NAMED} more" if len(tied) > NAMED else ""
        same = f"As good within chance: {', '.join(tied[:NAMED])}{more}. " if tied else ""
        who = "" if self.selected in self.choice else f"{self.selected} has {score_text(self.score)}. "
        return f"{plain(who + self.choice)}\n{plain(same)}`sentences` says all that is known."

    def _repr_html_(self) -> str:
        return as_html(repr(self))


def result_line(account: Account) -> str:
    """Return who was selected with which score, and on how many rows."""
    result = account.result
    if result.selected is None or result.valid_score is None or result.selected_size is None:
        return f"Nothing was selected: {result.stopped or 'every learner failed'}."
    does = "is selected" if result.stopped is None else f"was the best so far ({result.stopped})"
    rows = f"{'all ' * (result.selected_size == result.full_size)}{result.selected_size:,}"
    name = shortened(result.selected, LONGEST)
    return plain(f"{name} {does}: {account.scores.name} {score_text(result.valid_score)} with {rows} rows.")


def as_html(lines: str) -> str:
    """Return lines of text as a paragraph."""
    return f"<p>{'<br>'.join(map(escape, lines.splitlines()))}</p>"
