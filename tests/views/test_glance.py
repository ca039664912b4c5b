"""What Python prints of a result, a certificate and a report is two lines that a person understands."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from pydaub import Account
from pydaub.dashboard.report import Report
from pydaub.records import score_text
from pydaub.runs.certificate import certificate_of
from pydaub.runs.journal import read
from pydaub.views.glance import Claims

JOURNALS = sorted((Path(__file__).parents[1] / "runs" / "journals").glob("*.jsonl"))


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_two_lines_name_who_is_selected_and_how_good_it_is(journal: Path, share: float) -> None:
    events = read(journal)
    account = Account.of(events[: max(1, int(share * len(events)))])
    claims = Claims.of(certificate_of(account))
    shown: list[Any] = [account.result, Report(account), *([claims] if claims else [])]
    for each in shown:
        lines = repr(each).splitlines()
        assert len(lines) == 2
        assert "object at" not in repr(each)
    for each in shown[::2]:  # the report shows its page
        assert each._repr_html_().count("<br>") == 1
    for each in (account.result, Report(account)):
        if account.leader is None:
            assert repr(each).startswith("Nothing ")
        else:
            assert account.leader.learner in repr(each)
            assert score_text(account.result.valid_score or 0.0) in repr(each)


def test_a_certificate_that_shows_itself_is_the_same_certificate() -> None:
    account = Account.of(read(JOURNALS[0]))
    known = certificate_of(account)
    claims = Claims.of(known)
    assert known is not None
    assert claims is not None
    assert (claims.sentences, claims.to_json()) == (known.sentences, known.to_json())
    assert pickle.loads(pickle.dumps(claims)) == claims
    assert Claims.of(None) is None


def test_names_are_no_markup() -> None:
    account = Account.of(read(JOURNALS[0]))
    claims = Claims.of(certificate_of(account))
    assert claims is not None
    object.__setattr__(claims, "ties", {"<b>": 0.0})
    assert "&lt;b&gt;" in claims._repr_html_()
