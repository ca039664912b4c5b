"""Table 1 of the paper from measured curves: full training, DAUB without f^T, and DAUB.

python experiments/table1.py [--measured FOLDER]
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from accuracy import ENOUGH
from command import shown
from replays import PORTFOLIOS, Replay, common, grouped, largest, markdown, thousands
from ties import Ties, matter, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replays import Curves

# From the paper: iterations, allocation and seconds for full training, DAUB without f^T, and DAUB.
PAPER: Final = {
    "higgs": ((41, 105, 56), ("1,578k", "590k", "372k"), (49_905, 17_186, 2_001)),
    "parity": ((41, 26, 19), ("860k", "171k", "156k"), (5_939, 617, 397)),
}
IN_ALL: Final = "Allocation in all"  # which the paper does not state
METHODS: Final = ("full", "daub without f^T", "daub")
# What each line holds of a replay, beside that of full training, and how it is written.
FIGURES: Final[dict[str, tuple[Callable[[Replay, Replay], float], Callable[[float], str]]]] = {
    "Iterations": (lambda run, _: run.iterations, "{:,.0f}".format),
    "Allocation after the bootstrap": (lambda run, _: run.rows_after_bootstrap, thousands),
    "Times fewer rows than full": (
        lambda run, full: full.rows_after_bootstrap / run.rows_after_bootstrap,
        "{:.1f}x".format,
    ),
    IN_ALL: (lambda run, _: run.result.rows, thousands),
    "Time (s)": (lambda run, _: run.result.seconds, "{:,.0f}".format),
    "Times as fast as full": (lambda run, full: full.result.seconds / run.result.seconds, "{:.1f}x".format),
}


def table_1(tables: Iterable[Curves]) -> str:
    """Return one table for each portfolio, with the paper's and our figures in alternating rows."""
    groups = grouped(tables)
    found = [one for one in largest(one for seeds in groups.values() for one in seeds) if one.about["data"] in PAPER]
    papers = [_paper(*figures) for figures in PAPER.values()]
    parts = []
    for portfolio in dict.fromkeys(one.about["portfolio"] for one in found):
        ours = {one.about["data"]: one for one in found if one.about["portfolio"] == portfolio}
        header = ["", *(f"{data.upper()} {method}" for data in PAPER for method in ("full", "no f^T", "DAUB"))]
        mine = [_ours(ours[data]) if data in ours else None for data in PAPER]
        several = [common(groups.get((data, portfolio), []), ENOUGH) for data in PAPER]
        rows = []
        for label in FIGURES:
            if label in papers[0]:
                rows.append([f"{label}, paper", *(cell for paper in papers for cell in paper[label])])
            cells = (cell for each in mine for cell in (each[label] if each else ["not measured"] * 3))
            rows.append([f"**{label}, ours**", *cells])
            if any(several):
                cells = (cell for seeds in several for cell in (_spread(seeds, label) if seeds else [""] * 3))
                rows.append([f"**{label}, ours, {ENOUGH} seeds**", *cells])
        notes = "; ".join(
            f"{one.about['title']}: seed {one.about['seed']}, {len(one.table.learners)} learners,"
            f" N = {one.full_size:,},"
            f" {len(one.failed) or 'none'} without a score at N"
            for one in ours.values()
        )
        tied = matter(ours.values())
        parts.append(
            f"Portfolio `{portfolio}` ({PORTFOLIOS.get(portfolio, 'own')}). {notes}.\n\n{markdown(header, rows)}"
            + (f"\n\n{said(tied)}" if tied else "")
        )
    return "\n\n".join(parts) or "Neither HIGGS nor PARITY was measured."


def _paper(iterations: Sequence[int], allocated: Sequence[str], seconds: Sequence[int]) -> dict[str, list[str]]:
    found = (_counts(iterations), [*allocated], _times([int(each.strip("k").replace(",", "")) for each in allocated]),
             _counts(seconds), _times(seconds))  # fmt: skip
    return dict(zip([label for label in FIGURES if label != IN_ALL], found, strict=True))


def _ours(one: Curves) -> dict[str, list[str]]:
    """Return the cells of each line; the last is of DAUB, whose figures may depend on the order of the learners."""
    full, *others = [one.replayed(method) for method in METHODS]
    ties, found = Ties(one), {}
    for label, (figure, text) in FIGURES.items():
        cells = [text(figure(run, full)) for run in (full, *others)]
        found[label] = [*cells[:-1], ties.range(lambda run, figure=figure: figure(run, full), text)]  # type: ignore[misc]
    return found


def _spread(seeds: Sequence[Curves], label: str) -> list[str]:
    """Return mean and standard deviation over seeds for each method."""
    figure, text = FIGURES[label]
    values = [[figure(one.replayed(method), one.replayed("full")) for one in seeds] for method in METHODS]
    return [f"{text(fmean(each))} ± {text(stdev(each))}" if stdev(each) else text(each[0]) for each in values]


def _counts(values: Iterable[int]) -> list[str]:
    return [f"{value:,}" for value in values]


def _times(values: Sequence[float]) -> list[str]:
    """Return how many times the first value is each of them."""
    return [f"{values[0] / value:.1f}x" for value in values]


if __name__ == "__main__":
    shown(table_1, __doc__)
