"""Table 1 of the paper from measured curves: full training, DAUB without f^T, and DAUB.

python experiments/table1.py [--measured FOLDER]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from command import shown
from replays import PORTFOLIOS, largest, markdown, thousands

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replays import Curves

# From the paper: iterations, allocation and seconds for full training, DAUB without f^T, and DAUB.
PAPER: Final = {
    "higgs": ((41, 105, 56), ("1,578k", "590k", "372k"), (49_905, 17_186, 2_001)),
    "parity": ((41, 26, 19), ("860k", "171k", "156k"), (5_939, 617, 397)),
}
ROWS: Final = ("Iterations", "Allocation after the bootstrap", "Time (s)")


def table_1(tables: Iterable[Curves]) -> str:
    """Return one table for each portfolio, with the paper's and our figures in alternating rows."""
    found = [one for one in largest(tables) if one.about["data"] in PAPER]
    parts = []
    for portfolio in dict.fromkeys(one.about["portfolio"] for one in found):
        ours = {one.about["data"]: one for one in found if one.about["portfolio"] == portfolio}
        header, columns = [""], []
        for data, figures in PAPER.items():
            header += [f"{data.upper()} {method}" for method in ("full", "no f^T", "DAUB")]
            columns.append((figures, _figures(ours[data]) if data in ours else None))
        rows = []
        for place, name in enumerate(ROWS):
            rows.append([f"{name}, paper", *(_text(cell) for paper, _ in columns for cell in paper[place])])
            mine = [mine[place] if mine else ("not measured",) * 3 for _, mine in columns]
            rows.append([f"**{name}, ours**", *(_text(cell) for cells in mine for cell in cells)])
            if place == ROWS.index("Allocation after the bootstrap"):
                whole = [mine[-1] if mine else ("not measured",) * 3 for _, mine in columns]
                rows.append(["**Allocation in all, ours**", *(_text(cell) for cells in whole for cell in cells)])
        notes = "; ".join(
            f"{one.about['title']}: {len(one.table.learners)} learners, N = {one.full_size:,},"
            f" {len(one.failed) or 'none'} without a score at N"
            for one in ours.values()
        )
        parts.append(
            f"Portfolio `{portfolio}` ({PORTFOLIOS.get(portfolio, 'own')}). {notes}.\n\n{markdown(header, rows)}"
        )
    return "\n\n".join(parts) or "Neither HIGGS nor PARITY was measured."


def _figures(one: Curves) -> tuple[tuple[object, ...], ...]:
    runs = [one.replayed(method) for method in ("full", "daub without f^T", "daub")]
    return (
        tuple(run.iterations for run in runs),
        tuple(thousands(run.rows_after_bootstrap) for run in runs),
        tuple(round(run.result.seconds) for run in runs),
        tuple(thousands(run.result.rows) for run in runs),
    )


def _text(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


if __name__ == "__main__":
    shown(table_1, __doc__)
