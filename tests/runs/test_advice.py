"""How many validation rows are enough."""

from __future__ import annotations

import numpy as np
import pytest

from pydaub import Account, Allocation, Asked, Daub, Evaluated, InputError, Measurement, Schedule, Scores, Selected
from pydaub.runs.advice import LEAST, SURENESS, advise
from pydaub.views.summary import summary

FULL, ROWS, BLOCKS = 4000, 10_000, 100
ACCURACY = Scores("accuracy", ROWS)


def run_of(parts: dict[str, tuple[float, ...]], scores: Scores = ACCURACY, *, keep: bool = True) -> Account:
    """Return a run in which each learner has three sizes; `keep` says whether it has the blocks of its scores."""
    strategy = Daub(list(parts), Schedule((1000, 2000, FULL)), train_bound=False)
    account = Account(strategy, {**strategy.settings, "scores": scores.to_json()}, held=True)
    for name, blocks in parts.items():
        for size in (1000, 2000, FULL):
            score = float(np.mean(blocks)) - 0.02 * (FULL / size - 1) / 3
            kept = blocks if keep and size == FULL else ()
            account.take(Asked(Allocation(name, size), None))
            account.take(Evaluated(Allocation(name, size), Measurement(1.0, score, 1.0, {}, kept), 1.0))
    return account


def drawn(right: float, differ: float) -> dict[str, tuple[float, ...]]:
    """Return two learners' scores in blocks: rows on which they differ are right for one of them, at random."""
    rng = np.random.default_rng(0)
    both, coin, apart = (rng.random(ROWS) < share for share in (right, 0.5, differ))
    pair = {"first": np.where(apart, coin, both), "second": np.where(apart, ~coin, both)}
    return {name: tuple(each.reshape(BLOCKS, -1).mean(axis=1).tolist()) for name, each in pair.items()}


def test_the_rows_that_are_enough_tell_the_difference_in_eight_of_ten_cases() -> None:
    """By drawing so many rows again and again from two learners that truly differ by delta."""
    delta, differ = 0.02, 0.2
    advice = advise(run_of(drawn(0.8, differ)), delta)
    assert LEAST < advice.needed < ROWS
    rng = np.random.default_rng(1)
    up, down = (differ + delta) / 2, (differ - delta) / 2
    counts = rng.multinomial(advice.needed, [up, down, 1 - up - down], size=4000)
    means = (counts[:, 0] - counts[:, 1]) / advice.needed
    errors = np.sqrt(((counts[:, 0] + counts[:, 1]) / advice.needed - means**2) / advice.needed)
    assert np.mean(means > 1.96 * errors) == pytest.approx(0.8, abs=0.1)


def test_what_is_detectable_shrinks_with_delta_alone() -> None:
    account = run_of(drawn(0.8, 0.2))
    wide, narrow = advise(account, 0.02), advise(account, 0.01)
    assert wide.detectable == narrow.detectable
    assert narrow.needed == pytest.approx(4 * wide.needed, rel=0.01)
    assert wide.needed == pytest.approx(ROWS * (wide.detectable / 0.02) ** 2, abs=1)
    assert wide.prospect is not None
    assert wide.prospect.rows == FULL + ROWS - wide.needed
    assert wide.prospect.low <= wide.prospect.score <= wide.prospect.high
    assert wide.sentences[1] == (
        f"For a difference of 0.0200, {wide.needed:,} validation rows are enough"
        f" (--validation-fraction {wide.fraction:.2g})."
    )


def test_learners_that_are_far_behind_need_few_rows_although_their_errors_are_others() -> None:
    """A dummy disagrees with the best learner on half of the rows; that must not call for more validation rows."""
    close, bad = drawn(0.8, 0.05), drawn(0.5, 0.0)["first"]
    without, with_bad = (advise(run_of(parts), 0.01) for parts in (close, {**close, "bad": bad}))
    assert with_bad.needed == without.needed
    assert (with_bad.compared, with_bad.detectable) == (1, without.detectable)
    assert "the closest other learner" in with_bad.sentences[0]


def test_the_noise_of_a_learner_that_is_far_behind_does_not_stand_for_that_of_a_close_one() -> None:
    """Here only a dummy has all rows besides the best learner."""
    first, bad = drawn(0.9, 0.0)["first"], drawn(0.5, 0.0)["second"]
    alone, with_bad = (advise(run_of(parts), 0.01) for parts in ({"first": first}, {"first": first, "bad": bad[::-1]}))
    assert (with_bad.compared, with_bad.needed) == (0, alone.needed)
    assert "one that shares half of its errors" in with_bad.sentences[0]
    nearly = tuple(part - 0.02 for part in first)  # it is behind, and makes the same errors
    with_nearly = advise(run_of({"first": first, "nearly": nearly}), 0.01)
    assert with_nearly.compared == 1
    assert with_nearly.detectable == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("gap", [0.009, 0.015, 0.03])
def test_who_is_told_from_the_winner_now_is_told_from_it_with_the_advised_rows_too(gap: float) -> None:
    """This one makes many other errors than the winner; a twin of the winner alone would need few rows."""
    twins = drawn(0.9, 0.01)
    noise = np.random.default_rng(3).normal(size=BLOCKS)
    noise = 0.02 * (noise - noise.mean()) / noise.std(ddof=1)
    other = np.asarray(twins["first"]) - gap + noise
    told = SURENESS * 0.02 / np.sqrt(BLOCKS)
    assert told < gap
    without, found = (advise(run_of(parts), 0.01) for parts in (twins, {**twins, "other": tuple(other.tolist())}))
    assert found.compared == without.compared + (gap < 0.01)
    assert found.needed == pytest.approx(max(without.needed, ROWS * (told / max(gap, 0.01)) ** 2), abs=1)
    assert found.needed > without.needed or gap == 0.03


@pytest.mark.parametrize("others", [{}, {"other": 0.9}])
def test_a_perfect_learner_is_told_from_one_that_is_worse_by_delta(others: dict[str, float]) -> None:
    """With 10,000 rows and a delta of 0.01, the worse one has 100 errors, and their number varies by 10."""
    blocks = {name: drawn(right, 0.0)["first"] for name, right in others.items()}
    found = advise(run_of({"perfect": (1.0,) * BLOCKS, **blocks}), 0.01)
    assert found.detectable == pytest.approx(SURENESS * 0.001, rel=0.01)
    assert found.needed == LEAST


def test_a_perfect_score_of_few_of_the_rows_is_as_noisy_as_these() -> None:
    runs = [run_of({"perfect": (1.0,) * BLOCKS}, Scores("f1", ROWS, counting=share)) for share in (1.0, 0.1)]
    all_rows, few_rows = (advise(each, 0.01) for each in runs)
    assert few_rows.detectable == pytest.approx(all_rows.detectable * np.sqrt(10))


def test_a_run_with_one_finalist_has_the_noise_of_its_score() -> None:
    first = drawn(0.8, 0.2)["first"]
    advice = advise(run_of({"first": first}))
    score = np.mean(first)
    assert advice.compared == 0
    assert advice.delta == 0.01
    assert advice.detectable == pytest.approx(SURENESS * np.sqrt(score * (1 - score) / ROWS))


def test_what_rows_cost_that_are_taken_from_training() -> None:
    """The score with fewer training rows lies between those that were measured."""
    account = run_of(drawn(0.8, 0.2))
    advice = advise(account, 0.0115)
    assert ROWS < advice.needed < ROWS + 3000
    assert advice.prospect is not None
    assert advice.prospect.rows == FULL + ROWS - advice.needed
    measured = {step.allocation.size: step.outcome.valid_score for step in account.result.steps}  # type: ignore[union-attr]
    assert measured[1000] < advice.prospect.score < measured[2000] < advice.score
    assert advice.prospect.low < advice.prospect.score < advice.prospect.high
    assert f"leaves {advice.prospect.rows:,} for training" in advice.sentences[1]
    assert advice.sentences[2] == "Better have more rows than take them from training."


def test_fewer_than_a_thousand_rows_can_be_enough() -> None:
    small = Scores("accuracy", 900)
    advice = advise(run_of(drawn(0.8, 0.2), small), 0.4)
    assert advice.needed == 900
    assert advice.prospect is None
    assert len(advice.sentences) == 2


@pytest.mark.parametrize("delta", [1e-3, 1e-160, 5e-324])
def test_more_rows_than_there_are(delta: float) -> None:
    advice = advise(run_of(drawn(0.8, 0.2)), delta)
    assert advice.prospect is None
    assert advice.fraction > 1
    assert "all 14,000 rows would not be enough" in advice.sentences[1]


@pytest.mark.parametrize(
    ("scores", "parts", "delta", "message"),
    [
        (Scores("accuracy", 900, cross_validated=True), BLOCKS, 0.01, "it cross-validated"),
        (Scores("r2", 900, proportion=False), 0, 0.01, "is not known for r2"),
        (
            Scores("neg_mean_squared_error", 900, 0.0, proportion=False),
            BLOCKS,
            None,
            "`delta` must be given for neg_mean",
        ),
        (ACCURACY, BLOCKS, 0.0, "`delta` must be greater than 0 and less than 1, got 0.0"),
        (ACCURACY, BLOCKS, 5.0, "less than 1, got 5.0"),
        (ACCURACY, BLOCKS, float("nan"), "less than 1, got nan"),
        (Scores("r2", 900, proportion=False), BLOCKS, float("inf"), "less than inf, got inf"),
        (ACCURACY, 3, 0.01, "3 are too few"),
    ],
)
def test_what_cannot_be_advised(scores: Scores, parts: int, delta: float | None, message: str) -> None:
    learners = {name: blocks[: parts or BLOCKS] for name, blocks in drawn(0.8, 0.2).items()}
    with pytest.raises(InputError, match=message):
        advise(run_of(learners, scores, keep=parts > 0), delta)


def test_a_run_that_is_not_finished_gives_no_advice() -> None:
    strategy = Daub(["first"], Schedule((1000, 2000, FULL)), train_bound=False)
    account = Account(strategy, {**strategy.settings, "scores": ACCURACY.to_json()}, held=True)
    with pytest.raises(InputError, match="Let the run finish first"):
        advise(account)


def test_the_summary_of_a_finished_run_says_if_far_fewer_rows_are_enough() -> None:
    few, many = run_of(drawn(0.8, 0.05)), run_of(drawn(0.8, 0.2))
    for account in (few, many):
        account.take(Selected("first", 2.0))
    assert " ".join(advise(few).sentences[1:]) == summary(few)[-1]
    assert not any("are enough" in line for line in summary(many)), "the rows are as many as are needed"
