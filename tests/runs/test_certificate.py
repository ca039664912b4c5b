"""Every claim of a certificate is checked against the curves."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydaub import (
    STRATEGIES,
    AllLearnersFailed,
    Allocation,
    Daub,
    Failure,
    Full,
    Measurement,
    Outcome,
    Result,
    Schedule,
    Scores,
    Step,
    Subset,
    Table,
    TableEngine,
    run,
)
from pydaub.algorithm.seconds import LARGEST_SHIFT, USUAL_GROWTH, Growth
from pydaub.errors import NothingMeasured
from pydaub.records import score_text
from pydaub.runs.certificate import LONG_ENOUGH, NAMED, Certificate, certificate, noise
from pydaub.runs.result import projected_seconds
from tables import random_schedule, random_table

SIZES = (10, 20, 40, 80, 160)
SPENT = (
    "{} % of the training time ({} s) went to 1 of 2 learners that are at least 0.01 worse than the best."
    " Where they had fewer than all rows, this is 95 % certain."
)
every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


def table_of(curves: dict[str, list[float]], train: float = 1.0, seconds: float = 1.0) -> Table:
    return Table(
        {
            Allocation(name, size): Measurement(train, score, seconds)
            for name, curve in curves.items()
            for size, score in zip(SIZES, curve, strict=True)
        }
    )


def certified(result: Result, learners: Any, valid_size: int = 10_000) -> Certificate:
    found = certificate(result, learners, Scores(rows=valid_size))
    assert found is not None
    return found


def of(curves: dict[str, list[float]], kind: Any = Daub, valid_size: int = 10_000) -> Certificate:
    table = table_of(curves)
    return certified(run(kind(table.learners, Schedule(SIZES)), TableEngine(table)), table.learners, valid_size)


def curves_of(result: Result) -> dict[str, list[Step]]:
    """Return all that was measured of each learner, also ahead of being asked for."""
    found: dict[str, list[Step]] = {}
    ahead = [Step(allocation, outcome, None) for allocation, outcome in result.speculated.items()]
    for step in (*result.steps, *ahead):
        if isinstance(step.outcome, Measurement):
            found.setdefault(step.allocation.learner, []).append(step)
    return {name: sorted(curve, key=lambda step: step.allocation.size) for name, curve in found.items()}


def results(kind: Any, seed: int) -> list[tuple[Result, Table]]:
    """Return a random run with some failures, to its end and stopped half way."""
    rng = random.Random(seed)
    schedule = random_schedule(rng)[2]
    table = random_table(rng, schedule, failures=rng.choice([0.0, 0.1, 0.4]))
    found = []
    for limit in (None, rng.uniform(0.1, 50)):
        try:
            result = run(kind(table.learners, schedule), TableEngine(table, rng.choice([1, 3])), time_limit=limit)
            found.append((result, table))
        except (AllLearnersFailed, NothingMeasured) as error:
            found.append((error.result, table))
    return found


@every_strategy
@pytest.mark.parametrize("chunk", range(2))
def test_every_claim_holds_for_the_curves(kind: Any, chunk: int) -> None:
    claims = 0
    for seed in range(40 * chunk, 40 * chunk + 40):
        for result, table in results(kind, seed):
            found = certificate(result, table.learners, Scores(rows=100))
            if result.selected is None:
                assert found is None
                continue
            assert found is not None
            claims += found.margin is not None
            check(found, result, table.learners)
            says(found)
    assert claims


def check(found: Certificate, result: Result, learners: tuple[str, ...]) -> None:
    """Work it all out again, the long way."""
    curves = curves_of(result)
    others = [name for name in learners if name not in {found.selected, *result.failures}]
    assert (found.selected, found.size, found.score) == (result.selected, result.selected_size, result.valid_score)
    assert (found.full_size, found.others) == (result.full_size, len(others))
    tops: list[float | None] = []
    for name in others:
        curve = [step for step in curves.get(name, []) if step in result.steps]
        if curve and curve[-1].allocation.size == result.full_size:
            tops.append(score_of(curve[-1]))
        elif curve and curve[-1].bound is not None:
            tops.append(max(curve[-1].bound, *map(score_of, curve)))
        else:
            tops.append(None)
    certain = result.stopped is None and found.size == found.full_size
    known = [top for top in tops if top is not None and certain]
    assert found.ceiling == (max(known) if known and len(known) == len(tops) else None)
    measured = {name: [step for step in curves.get(name, []) if step in result.steps] for name in others}
    assert (found.margin is not None) == (certain and all(measured.values()))
    at_full = [name for name, curve in measured.items() if curve and curve[-1].allocation.size == result.full_size]
    if certain:
        assert found.looks == len(at_full) + 1
        forecast = [name for name in others if name in curves and curves[name][-1].allocation.size < result.full_size]
        assert (found.rival is None) == (not forecast), "what was evaluated ahead is not forecast"
        assert found.rival not in at_full
        assert 0 <= found.chance <= 1
    if found.margin is not None:
        assert 0 <= found.margin <= max(1.0 - found.score, 1.0)
        ahead = [score_of(curves[name][-1]) for name in others if curves[name][-1].allocation.size == result.full_size]
        assert found.margin >= max(ahead, default=found.score) - found.score, "what is known counts"
        assert found.margin == 0.0 or found.chance > 0 or max(ahead) > found.score
    assert (found.ceiling_learner in others) == (found.ceiling is not None)
    asked = {name: [step for step in curve if step in result.steps] for name, curve in curves.items()}
    assert found.judged == sum(len(curve) >= LONG_ENOUGH for curve in asked.values())
    assert found.short == sum(0 < len(curve) < LONG_ENOUGH for curve in asked.values())
    for name, curve in asked.items():
        expected = misbehaviour(curve, found.tolerance) if len(curve) >= LONG_ENOUGH else set()
        assert set(filter(None, found.misbehaved.get(name, "").split(", "))) == expected
    doubts = "\n".join(found.doubts)
    assert ("Nothing is claimed about" in doubts) == bool(result.failures)
    assert doubts.count("Doubtful") <= 2 * (result.stopped is None)
    if result.stopped is None:
        better = [
            curve[-1]
            for name, curve in curves.items()
            if name != found.selected
            and score_of(curve[-1]) > found.score + found.tolerance * (curve[-1].allocation.size < result.full_size)
        ]
        named = [f"Doubtful: {step.allocation.learner}" in doubts for step in better]
        assert any(named) == bool(better), "who is already better is told"


def score_of(step: Step) -> float:
    assert isinstance(step.outcome, Measurement)
    return step.outcome.valid_score


def misbehaviour(curve: list[Step], tolerance: float) -> set[str]:
    points = [
        (step.allocation.size, step.outcome.valid_score, step.bound)
        for step in curve
        if isinstance(step.outcome, Measurement)
    ]
    found = set()
    for i in range(len(points)):
        size, score, bound = points[i]
        if i and score < points[i - 1][1] - tolerance:
            found.add("fell")
        if i > 1:
            (a, at_a, _), (b, at_b, _) = points[i - 2], points[i - 1]
            if score > at_b + max((at_b - at_a) / (b - a), 0.0) * (size - b) + tolerance:
                found.add("got steeper")
        if bound is not None and any(later > bound + tolerance for _, later, _ in points[i + 1 :]):
            found.add("exceeded its bound")
    return found


def says(found: Certificate) -> None:
    """The words say what the figures say."""
    first, *rest = found.sentences
    if found.size < found.full_size:
        assert first.startswith("No certificate: no learner has had all")
    elif not found.finished:
        assert first.startswith("No certificate: the run did not come to its end")
    elif not found.others:
        assert first == "There was no other learner to compare with."
    elif found.margin is None:
        assert first.startswith("No certificate: some learners have not been measured")
    elif found.looks > found.others:
        assert first.startswith("Certificate: all were trained on all rows; ")
    elif found.margin:
        said = re.fullmatch(rf"Certificate: choosing {found.selected} misses at most (\S+) \(95 % sure\)\.(.*)", first)
        assert said
        assert found.margin - 1e-9 <= float(said[1]) <= found.margin + found.tolerance
        assert found.rival is None or f"The likeliest to be better: {found.rival} (" in said[2]
    else:
        assert first.startswith("Certificate: with 95 % confidence, ")
    bound = [words for words in rest if words.startswith("If no curve gets steeper and no training score rises")]
    assert bool(bound) == (found.ceiling is not None and found.looks <= found.others)
    if bound and found.ceiling is not None:
        assert f"exceed {score_text(found.ceiling)} on all rows ({found.ceiling_learner})" in bound[0]
        assert ("So " in bound[0]) == (found.ceiling <= found.score)
        assert ("at most" in bound[0]) == (found.ceiling > found.score)
    assert any("behaved as the method expects" in sentence for sentence in rest) == bool(found.judged)
    assert all(sentence.endswith(".") for sentence in found.sentences)


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.lists(st.integers(0, 20), min_size=4, max_size=4)), min_size=2, max_size=6
    )
)
def test_where_curves_behave_no_other_learner_exceeds_the_ceiling(given_curves: list[tuple[int, list[int]]]) -> None:
    """Concave curves that never fall: DAUB's promise holds, and the audit finds nothing."""
    curves = {}
    for position, (start, slopes) in enumerate(given_curves):
        scores, total = [start / 100], start * 1.0
        for (a, b), slope in zip(pairwise(SIZES), sorted(slopes, reverse=True), strict=True):
            total += slope * (b - a) / 100
            scores.append(total / 100)
        curves[f"learner {position}"] = scores
    found = of(curves)
    assert not found.misbehaved
    assert found.ceiling is not None
    others = [curve[-1] for name, curve in curves.items() if name != found.selected]
    assert max(others) <= found.ceiling + 1e-9
    if found.ceiling <= found.score:
        assert curves[found.selected][-1] >= max(others) - 1e-9, "none can overtake it, and none does"


def test_no_forecast_exceeds_the_best_possible_score() -> None:
    found = of({"best": [0.5, 0.97, 0.995, 1.0, 1.0], "flat": [0.3, 0.3, 0.3, 0.3, 0.3]})
    assert found.prospects
    assert all(each.low <= each.score <= each.high <= 1.0 for each in found.prospects)


def test_no_forecast_is_below_the_worst_possible_score_and_few_rows_raise_doubts() -> None:
    table = table_of({"best": [0.5, 0.1, 0.6, 0.2, 0.05], "flat": [0.0, 0.0, 0.0, 0.0, 0.0]})
    result = run(Daub(table.learners, Schedule(SIZES), train_bound=False), TableEngine(table))
    found = certificate(result, table.learners, Scores("f1", 500, counting=0.02))
    assert found is not None
    assert 0.0 <= min(each.low for each in found.prospects) < 0.01
    assert any("f1 is as uncertain as a share of 10 rows" in doubt for doubt in found.doubts)


def test_the_words_of_a_certificate() -> None:
    leading = {"best": [0.5, 0.7, 0.8, 0.85, 0.86], "flat": [0.3, 0.3, 0.3, 0.3, 0.3]}
    choice, bound, more, spent, audit = of(leading).sentences
    assert choice == (
        "Certificate: with 95 % confidence, the other learner does not have a higher score than best on all rows."
    )
    assert bound == (
        "If no curve gets steeper and no training score rises, the other learner cannot exceed 0.3000 on all rows"
        " (flat). So best is the best."
    )
    number = r"0\.\d{4}"
    assert re.fullmatch(
        rf"With twice the rows it would probably reach {number} \({number} to {number}\), with ten times {number}"
        rf" \({number} to {number}\) \(90 % intervals\)\.",
        more,
    )
    assert spent == SPENT.format("38", "3.0")
    assert audit == ("2 of 2 learning curves behaved as the method expects, give or take 0.010.")
    three = {**leading, "third": [0.1, 0.1, 0.1, 0.1, 0.1]}
    assert (
        of(three).claims[0].startswith("Certificate: with 95 % confidence, none of the 2 other learners has a higher")
    )
    alone = of({"only": [0.1, 0.2, 0.3, 0.4, 0.5]})
    assert alone.sentences[0] == "There was no other learner to compare with."
    close = of({"a": [0.5, 0.6, 0.7, 0.8, 0.8], "b": [0.4, 0.5, 0.68, 0.79, 0.95]})
    assert re.search(
        r"choosing a misses at most [\d.]+ \(95 % sure\)\. The likeliest to be better: b \(", close.claims[0]
    )
    assert re.search(r"exceed [\d.]+ on all rows \(b\)\. That is at most [\d.]+ more than a\.$", close.claims[1])


def test_where_all_had_all_rows_nothing_is_left_to_chance() -> None:
    curves = {"a": [0.5, 0.6, 0.7, 0.75, 0.76], "b": [0.1, 0.1, 0.1, 0.1, 0.95]}
    whole = of(curves, Full)
    assert (whole.selected, whole.ceiling, whole.margin, whole.rival, whole.judged) == ("b", 0.76, 0.0, None, 0)
    assert whole.sentences == [
        "Certificate: all were trained on all rows; the other learner does not have a higher score than b.",
        SPENT.format("50", "1.0"),
    ], "of curves of one point there is nothing to audit, and nothing to forecast"


def test_a_strategy_without_sure_bounds_gives_none() -> None:
    table = table_of({"a": [0.5, 0.6, 0.7, 0.75, 0.76], "b": [0.1, 0.1, 0.1, 0.1, 0.95]})
    result = run(Subset(table.learners, Schedule(SIZES)), TableEngine(table))
    found = certificate(result, table.learners, Scores(rows=10_000), sure=False)
    assert found is not None
    assert (found.ceiling, found.ceiling_learner) == (None, None)
    assert found.margin is not None


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_errors_in_any_unit_are_judged_alike(unit: float) -> None:
    """Such as squared errors of returns, or of prices."""
    curves = {"a": [-0.5, -0.4, -0.3, -0.2, -0.18], "b": [-0.6, -0.5, -0.32, -0.21, -0.1]}
    found = {}
    for scale in (1.0, unit):
        table = table_of({name: [scale * score for score in curve] for name, curve in curves.items()}, train=0.0)
        result = run(Daub(table.learners, Schedule(SIZES)), TableEngine(table))
        claim = certificate(result, table.learners, Scores("neg_mean_squared_error", 600, 0.0, proportion=False))
        assert claim is not None
        assert claim.margin
        found[scale] = [
            claim.margin,
            *(value for each in claim.prospects for value in (each.low, each.score, each.high)),
        ]
    assert found[unit] == pytest.approx([unit * value for value in found[1.0]], rel=1e-6)
    assert all(low < score < high < 0 for low, score, high in (found[1.0][1:4], found[1.0][4:7]))


def test_learners_that_the_rows_do_not_tell_apart_are_named_and_the_score_is_corrected() -> None:
    rng = random.Random(1)
    hits = [[float(rng.random() < 0.8) for _ in range(1000)] for _ in range(2)]
    parts = {
        "a": _parts(hits[0]),
        "alike": _parts([*hits[0][:-1], 1 - hits[0][-1]]),
        "other": _parts(hits[1]),
        "worse": _parts([hit * (place % 4 > 0) for place, hit in enumerate(hits[0])]),
    }
    score = {name: sum(each) / len(each) for name, each in parts.items()}
    table = Table(
        {
            Allocation(name, size): Measurement(1.0, score[name], 1.0, {}, parts[name] if size == SIZES[-1] else ())
            for name in parts
            for size in SIZES
        }
    )
    found = certified(run(Full(table.learners, Schedule(SIZES)), TableEngine(table)), table.learners, 1000)
    tied = {*parts} - {found.selected, "worse"}
    assert set(found.ties) == tied
    words = next(sentence for sentence in found.sentences if "within chance" in sentence)
    assert words.endswith(" of 1,000 validation rows.")
    assert re.search(r"alike \(\d+ more errors?\)", words)
    assert found.corrected is not None
    assert found.score - 0.02 < found.corrected < found.score
    assert "on new data: the best of 4 is always a bit lucky." in " ".join(found.sentences)


def _parts(rows: list[float]) -> tuple[float, ...]:
    return tuple(sum(rows[place : place + 10]) / 10 for place in range(0, len(rows), 10))


def test_a_run_that_was_stopped_has_no_certificate() -> None:
    table = table_of({"a": [0.5, 0.6, 0.7, 0.75, 0.76], "b": [0.1, 0.1, 0.1, 0.1, 0.95]})
    daub = Daub(table.learners, Schedule(SIZES))
    result = run(daub, TableEngine(table), watch=lambda _, account: len(account.steps) > 4)
    found = certified(result, table.learners)
    assert found.sentences[0] == (
        "No certificate: no learner has had all 160 rows. The best score so far is 0.7000, by a with 40 rows."
    )
    strategy = Full(table.learners, Schedule(SIZES))
    found = certified(run(strategy, TableEngine(table), time_limit=1.5), table.learners)
    assert found.sentences[0] == (
        "No certificate: the run did not come to its end. The best score so far is 0.7600, by a with 160 rows."
    )


def test_curves_that_fall_raise_doubts() -> None:
    falling = of({"a": [0.9, 0.9, 0.9, 0.5, 0.5], "b": [0.2, 0.2, 0.2, 0.2, 0.2]})
    assert falling.misbehaved["a"].startswith("fell")
    assert falling.doubts[0] == "Doubtful: a had 0.9000 with fewer rows, more than with all of them."
    table = table_of({"a": [0.2, 0.3, 0.6, 0.7, 0.7], "b": [0.99, 0.9, 0.8, 0.2, 0.2]})
    found = certified(run(Daub(table.learners, Schedule(SIZES)), TableEngine(table)), table.learners)
    assert found.selected == "a"
    (doubt,) = found.doubts
    assert doubt == ("Doubtful: b already had 0.8000 with 40 rows, more than a with all. Train it on all rows too.")


def test_one_that_was_trained_on_all_rows_ahead_and_is_better_raises_a_doubt() -> None:
    """By chance, on idle workers; by its bound it would have had to wait."""
    curves = {"a": [0.2, 0.4, 0.6, 0.8, 0.85], "b": [0.5, 0.5, 0.5, 0.5, 0.9]}
    table = Table({**table_of(curves).outcomes, Allocation("b", 160): Measurement(1.0, 0.9, 0.5)})
    result = run(Daub(table.learners, Schedule(SIZES)), TableEngine(table, 64))
    assert Allocation("b", 160) in result.speculated
    found = certified(result, table.learners)
    assert (found.selected, found.ceiling, found.ceiling_learner) == ("a", 0.5, "b"), "as on one worker"
    assert found.misbehaved == {}
    assert found.doubts == ("Doubtful: b was trained on all rows ahead of time and has 0.9000, more than a.",)


def test_of_what_failed_nothing_is_claimed() -> None:
    outcomes: dict[Allocation, Outcome] = dict(table_of({"a": [0.5] * 5, "b": [0.4] * 5, "c": [0.4] * 5}).outcomes)
    for failing, sentence in (("b", "the learner that failed."), ("bc", "the 2 learners that failed.")):
        failed = {Allocation(name, size): Failure("error", "no") for name in failing for size in SIZES}
        table = Table({**outcomes, **failed})
        found = certified(run(Daub(table.learners, Schedule(SIZES)), TableEngine(table)), table.learners)
        assert found.others == 2 - len(failing)
        assert found.doubts == (f"Nothing is claimed about {sentence}",)


def test_many_that_misbehave_are_counted_and_some_are_named() -> None:
    curves = {f"l{i}": [0.5, 0.3, 0.2, 0.2, 0.2] for i in range(NAMED + 3)}
    found = of(curves)
    assert len(found.misbehaved) == NAMED + 3
    assert f"l{NAMED - 1} (fell) and 3 more." in found.audit
    assert found.audit.startswith(f"0 of {NAMED + 3} learning curves behaved as the method expects")


@given(st.integers(1, 10**6), st.lists(st.floats(-1, 1), min_size=1))
def test_noise_shrinks_with_the_validation_rows(valid_size: int, scores: list[float]) -> None:
    known = Scores(rows=valid_size)
    assert noise(known, scores) == pytest.approx(2 * math.sqrt(0.25 / valid_size))
    assert noise(Scores(rows=4 * valid_size), scores) == pytest.approx(noise(known, scores) / 2)
    assert noise(Scores(), scores) == noise(known, []) == 0.0


def test_noise_of_other_scores_is_a_share_of_their_range() -> None:
    scores = Scores(rows=100, proportion=False)
    assert noise(scores, [-50.0, -10.0, -30.0]) == pytest.approx(4.0)
    assert noise(scores, [-1e9, -50.0, -45.0, -40.0, -30.0]) == pytest.approx(1.0), "the interquartile range"


def usual(learners: Iterable[str]) -> dict[str, Growth]:
    return dict.fromkeys(learners, USUAL_GROWTH)


@given(st.floats(0.5, 3.0), st.floats(0.02, 10), st.integers(1, 6))
def test_a_declared_power_of_the_size_is_found_again(exponent: float, scale: float, count: int) -> None:
    outcomes = [(Allocation("a", 10 * 2**i), Measurement(1.0, 1.0, scale * (2**i) ** exponent)) for i in range(count)]
    growths = {"a": Growth(exponent, 0.0)}
    assert projected_seconds(outcomes, growths, 10_000) == pytest.approx(scale * 1000**exponent, rel=1e-6)
    assert projected_seconds(outcomes[::-1], growths, 10_000) == projected_seconds(outcomes, growths, 10_000)


@given(st.dictionaries(st.integers(1, 500), st.floats(0, 100), min_size=1, max_size=6), st.integers(500, 10**6))
def test_a_projection_stays_within_what_cost_can_do(times: dict[int, float], full_size: int) -> None:
    outcomes = [(Allocation("a", size), Measurement(1.0, 1.0, seconds)) for size, seconds in times.items()]
    found = projected_seconds(outcomes, usual(["a"]), full_size)
    last = max(times)
    most, grown = LARGEST_SHIFT * USUAL_GROWTH.lasts, math.exp(USUAL_GROWTH.distance(last, full_size))
    low, high = (times[last] * grown ** (USUAL_GROWTH.exponent + sign * most) for sign in (-1, 1))
    assert found is not None
    assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)
    if last == full_size:
        assert found == times[last]


def test_what_a_projection_is_made_of() -> None:
    a, b = Allocation("a", 10), Allocation("b", 10)
    measured, failed = Measurement(1.0, 1.0, 2.0), Failure("timeout", "", 7.0)
    assert projected_seconds([(a, measured)], usual(["a", "b"]), 100) is None, "b was never tried"
    assert projected_seconds([(a, measured), (b, failed)], usual(["a", "b"]), 100) == pytest.approx(20.0 + 7.0)
    assert projected_seconds([], usual([]), 100) == 0.0
    short = Measurement(1.0, 1.0, 0.0001)
    quick = [(Allocation("a", size), short) for size in (10, 20, 40)]
    found = projected_seconds(quick, usual(["a"]), 80)
    assert found == pytest.approx(0.0002), "so short a time says nothing of how it grows"
    parts = Measurement(1.0, 1.0, 2.0, fitting=2.0, scoring=0.0, scored=5)
    assert projected_seconds([(a, parts)], {"a": Growth(2.0)}, 100) == pytest.approx(200.0), "as it is declared"
    more = Measurement(1.0, 1.0, 5.0, fitting=3.0, scoring=0.0)
    assert projected_seconds([(a, more)], {"a": Growth(2.0)}, 10) == pytest.approx(5.0), "what it took, all in all"
    assert projected_seconds([(a, more)], {"a": Growth(2.0)}, 100) == pytest.approx(302.0), "the rest stays"


def test_of_a_run_that_trained_everything_the_projection_is_what_it_took() -> None:
    table = table_of({"a": [0.1] * 5, "b": [0.2] * 5}, seconds=3.0)
    result = run(Full(table.learners, Schedule(SIZES)), TableEngine(table))
    steps = [(step.allocation, step.outcome) for step in result.steps]
    assert projected_seconds(steps, usual(table.learners), 160) == pytest.approx(result.seconds)


def test_who_is_ruled_out_by_proof_is_said_with_the_confidence() -> None:
    """Also of a run that did not come to its end; nothing of bounds that state no probability."""
    table = table_of({"good": [0.9] * 5, "near": [0.89] * 5, "bad": [0.5] * 5})
    for rows, limit, said in (
        (10**6, None, "which rules out 2 of 2 others: near (at most 0."),
        (10**5, 11.5, "which rules out 1 of 2 others: bad (at most 0."),
        (100, None, "and nobody is ruled out (2 can have more)."),
    ):
        strategy = Daub(table.learners, Schedule(SIZES), "hoeffding", scores=Scores(rows=rows))
        result = run(strategy, TableEngine(table), time_limit=limit)
        assert (result.stopped is None) == (limit is None)
        found = certificate(result, table.learners, Scores(rows=rows), proof=strategy.proof())
        assert found is not None
        (proof,) = [words for words in found.sentences if words.startswith("By proof, with 95 % confidence")]
        assert said in proof
        assert found.to_json()["proof"]["best"] == "good"
    assert of({"a": [0.9] * 5, "b": [0.5] * 5}).to_json()["proof"] is None


def test_of_scores_without_a_natural_unit_no_share_of_the_time_is_said() -> None:
    table = table_of({"a": [-0.5, -0.4, -0.3, -0.2, -0.2], "b": [-9.0, -8.0, -8.0, -8.0, -8.0]})
    result = run(Daub(table.learners, Schedule(SIZES), train_bound=False), TableEngine(table))
    for top, known in ((0.0, False), (None, False), (1.0, True)):
        found = certificate(result, table.learners, Scores("r2", 100, top, proportion=False))
        assert found is not None
        assert (found.spent is not None) == known
