"""How a run stands at any moment: noise, ties, chances, failures, and the next step."""

from __future__ import annotations

import math

import pytest

from pydaub import Account, Allocation, Asked, Evaluated, Failure, Full, Measurement, Schedule, Scores, Selected
from pydaub.events import Event, Steered, Stopped
from pydaub.runs.certificate import certificate_of
from pydaub.runs.result import Step
from pydaub.runs.standing import standing
from pydaub.views.verdict import verdict

FULL = 400


def account(scores: dict[str, Measurement], *more: Event, kind: Scores | None = None) -> Account:
    """Return the account of a run that gave every learner all rows, as far as it got."""
    strategy = Full(("first", "second", "third"), Schedule((100, FULL)))
    about = kind or Scores("accuracy", 1000)
    made = Account(strategy, {**strategy.settings, "scores": about.to_json()}, held=True)
    for name, measured in scores.items():
        made.take(Asked(Allocation(name, FULL), None))
        made.take(Evaluated(Allocation(name, FULL), measured, 1.0))
    for event in more:
        made.take(event)
    return made


def measured(score: float, parts: tuple[float, ...] = ()) -> Measurement:
    return Measurement(None, score, 1.0, {}, parts)


def test_nobody_leads_before_anything_is_measured() -> None:
    assert standing(account({})).leader is None


def test_a_proportion_has_a_standard_error_and_ties_lie_within_twice_that() -> None:
    found = standing(account({"first": measured(0.8), "second": measured(0.79), "third": measured(0.7)}))
    assert found.error == pytest.approx(math.sqrt(0.8 * 0.2 / 1000))
    assert (found.rows, found.ties) == (1000, ("second",))
    assert found.behind == pytest.approx({"second": 0.01, "third": 0.1})
    assert not found.chances, "all have all rows"


def test_the_blocks_of_a_few_rows_do_not_tell_how_noisy_a_score_is() -> None:
    """With two rows of the rarest class, an AUC may be the same in all blocks by chance."""
    parts = tuple(0.7 + 0.001 * (place % 2) for place in range(100))
    for counting, error in ((0.004, math.sqrt(0.7 * 0.3 / 4)), (0.5, 5e-5)):
        kind = Scores("roc_auc", 1000, counting=counting)
        found = standing(account({"first": measured(0.7, parts), "second": measured(0.5)}, kind=kind))
        assert found.error == pytest.approx(error, rel=0.02)


def test_equal_and_perfect_learners_are_tied() -> None:
    found = standing(account({"first": measured(1.0), "second": measured(1.0), "third": measured(0.9)}))
    assert found.ties == ("second",)


def test_scores_in_any_unit_take_their_noise_from_their_blocks() -> None:
    """They need not be proportions; two learners are then compared block by block, as in the certificate."""
    noisy = tuple(-1e6 + 1e4 * (-1) ** place for place in range(100))
    better = tuple(part + 5e3 for part in noisy)
    near = tuple(part + (2e4 if place == 3 else 0.0) for place, part in enumerate(noisy))
    kind = Scores("neg_mean_squared_error", 500, 0.0, proportion=False)
    scores = {
        "first": measured(-1e6, noisy),
        "second": measured(sum(near) / 100, near),
        "third": measured(sum(better) / 100, better),
    }
    found = standing(account(scores, Selected("third", 3.0), kind=kind))
    assert (found.leader and found.leader.learner, found.ties, found.rows) == ("third", (), None)
    assert found.error == pytest.approx(1e3, rel=0.02)
    scores.pop("third")
    found = standing(account(scores, kind=kind))
    assert (found.leader and found.leader.learner, found.ties) == ("second", ("first",))
    claim = certificate_of(account({**scores, "third": measured(-2e6)}, Selected("second", 3.0), kind=kind))
    assert claim is not None
    assert list(claim.ties) == ["first"]


def test_an_unmeasured_learner_is_counted() -> None:
    found = standing(account({"first": measured(0.8)}))
    assert (found.unmeasured, found.behind, found.possible) == (2, {}, [])


def failing(kind: str, *more: Event) -> Account:
    """Return the account of a run in which the learner that was ahead failed with all rows."""
    strategy = Full(("first", "second"), Schedule((100, FULL)))
    made = Account(strategy, {**strategy.settings, "scores": Scores("accuracy", 1000).to_json()}, held=True)
    made.steps.append(Step(Allocation("second", 100), measured(0.85), None))
    outcomes: list[tuple[str, Measurement | Failure]] = [
        ("first", measured(0.8)),
        ("second", Failure(kind, "longer than 8 s", 8.0)),
    ]
    for name, outcome in outcomes:
        made.take(Asked(Allocation(name, FULL), None))
        made.take(Evaluated(Allocation(name, FULL), outcome, 1.0))
    for event in more:
        made.take(event)
    return made


@pytest.mark.parametrize(
    ("kind", "option"), [("timeout", "learner_timeout"), ("memory", "learner_memory"), ("error", None)]
)
def test_a_learner_that_failed_and_was_ahead_matters_and_has_a_remedy(kind: str, option: str | None) -> None:
    account = failing(kind)
    account.take(Stopped("time limit", 2.0))
    found = standing(account)
    assert [(each.learner, each.kind, each.score, each.size) for each in found.failed] == [("second", kind, 0.85, 100)]
    assert found.missed == list(found.failed)
    assert found.missed[0].option == option
    assert "second" not in found.chances
    assert found.change == 0.0
    said = verdict(account).line
    assert "1 of 2 learners failed." in said
    assert f"second failed ({kind}) but had a " in said
    assert ("--learner-" in said) == (option is not None)


def test_what_comes_next_depends_on_the_state() -> None:
    done = [Selected("first", 3.0)]
    assert standing(account({})).next == "wait"
    assert standing(account({"first": measured(0.8)}, Steered("pause", None, 1.0))).next == "resume"
    assert standing(account({"first": measured(0.8)}, Stopped("time limit", 1.0))).next == "continue"
    finished = {"first": measured(0.8), "second": measured(0.7), "third": measured(0.7)}
    assert standing(account(finished, *done)).next == "predict"
    assert standing(failing("timeout", *done)).next == "retry"
    assert standing(failing("timeout", *done)).left is None
