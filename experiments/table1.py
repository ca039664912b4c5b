"""Table 1 of the paper from measured curves: full training, DAUB without f^T, and DAUB.

python experiments/table1.py [--measured FOLDER]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from command import shown
from replays import PORTFOLIOS, largest, markdown, thousands
from ties import Ties, matter, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replays import Curves

# From the paper: iterations, allocation and seconds for full training, DAUB without f^T, and DAUB.
PAPER: Final = {
    "higgs": ((41, 105, 56), ("1,578k", "590k", "372k"), (49_905, 17_186, 2_001)),
    "parity": ((41, 26, 19), ("860k", "171k", "156k"), (5_939, 617, 397)),
}
LABELS: Final = (
    "Iterations", "Allocation after the bootstrap", "Times fewer rows than full", "Allocation in all", "Time (s)",
    "Times as fast as full",
)  # fmt: skip


def table_1(tables: Iterable[Curves]) -> str:
    """Return one table for each portfolio, with the paper's and our figures in alternating rows."""
    found = [one for one in largest(tables) if one.about["data"] in PAPER]
    papers = [_paper(*figures) for figures in PAPER.values()]
    parts = []
    for portfolio in dict.fromkeys(one.about["portfolio"] for one in found):
        ours = {one.about["data"]: one for one in found if one.about["portfolio"] == portfolio}
        header = ["", *(f"{data.upper()} {method}" for data in PAPER for method in ("full", "no f^T", "DAUB"))]
        mine = [_ours(ours[data]) if data in ours else None for data in PAPER]
        rows = []
        for label in LABELS:
            if label in papers[0]:
                rows.append([f"{label}, paper", *(cell for paper in papers for cell in paper[label])])
            cells = (cell for each in mine for cell in (each[label] if each else ["not measured"] * 3))
            rows.append([f"**{label}, ours**", *cells])
        notes = "; ".join(
            f"{one.about['title']}: seed {one.about['seed']} alone, {len(one.table.learners)} learners,"
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
    return dict(zip([label for label in LABELS if label != "Allocation in all"], found, strict=True))


def _ours(one: Curves) -> dict[str, list[str]]:
    runs = [one.replayed(method) for method in ("full", "daub without f^T", "daub")]
    allocated, seconds = [run.rows_after_bootstrap for run in runs], [run.result.seconds for run in runs]
    found = [_counts([run.iterations for run in runs]), [thousands(rows) for rows in allocated], _times(allocated),
             [thousands(run.result.rows) for run in runs], _counts(map(round, seconds)), _times(seconds)]  # fmt: skip
    full, ties = runs[0], Ties(one)
    if ties.matter:
        ranges = (
            ties.range(lambda run: run.iterations, "{:,}".format),
            ties.range(lambda run: run.rows_after_bootstrap, thousands),
            ties.range(lambda run: full.rows_after_bootstrap / run.rows_after_bootstrap, "{:.1f}x".format),
            ties.range(lambda run: run.result.rows, thousands),
            ties.range(lambda run: run.result.seconds, "{:,.0f}".format),
            ties.range(lambda run: run.speed_up, "{:.1f}x".format),
        )
        for cells, cell in zip(found, ranges, strict=True):
            cells[-1] = cell
    return dict(zip(LABELS, found, strict=True))


def _counts(values: Iterable[int]) -> list[str]:
    return [f"{value:,}" for value in values]


def _times(values: Sequence[float]) -> list[str]:
    """Return how many times the first value is each of them."""
    return [f"{values[0] / value:.1f}x" for value in values]


if __name__ == "__main__":
    shown(table_1, __doc__)
