"""DAUB with other first sizes and ratios on the measured tables: b and r, which the paper "coarsely optimized".

    python experiments/sweep.py [--measured FOLDER] [--out FOLDER]

The tables have the paper's sizes only, so b is one of the first four of them, and r is 1.5 (every size), 2.25 (every
second) or 3.4 (every third). Tables up to less than 11,500 rows are left out: they have too few sizes.
"""

from __future__ import annotations

from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING, Final

from command import parser
from replays import Curves, Replay, all_curves, grouped, markdown, percent

from pydaub import Daub, Schedule, TableEngine, run
from pydaub.views import plots

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from matplotlib.axes import Axes

STRIDES: Final = {1: "1.5", 2: "2.25", 3: "3.4"}
TAKEN: Final = {1: "every", 2: "every second", 3: "every third"}
STARTS: Final = 4
LEAST_SIZES: Final = 4  # in a schedule: the three of the bootstrap, and one to decide about
LEAST_ROWS: Final = 11_500
PICTURE: Final = "sweep.png"
SIZE: Final = (7.5, 4.8)


def swept(tables: Iterable[Curves]) -> dict[tuple[int, int], tuple[float, float, int]]:
    """Return speed-up, mean loss and their number by (place of b, stride); a data set and portfolio counts once."""
    groups, found = grouped(one for one in tables if one.full_size >= LEAST_ROWS), {}
    for start in range(STARTS if groups else 0):
        for stride in STRIDES:
            speed_ups, losses = [], []
            for seeds in groups.values():
                replays = [replay for one in seeds if (replay := replayed(one, start, stride))]
                if replays:
                    speed_ups.append(geometric_mean([replay.speed_up for replay in replays]))
                    losses.append(fmean(replay.loss for replay in replays))
            if len(losses) == len(groups):  # comparable only if all data sets have enough sizes
                found[start, stride] = (geometric_mean(speed_ups), fmean(losses), len(losses))
    return found


def table(tables: Iterable[Curves]) -> str:
    """Return speed-up and mean loss for each b and r, and the picture."""
    tables = list(tables)
    found, sizes = swept(tables), max((one.sizes for one in tables), key=len)
    if not found:
        return f"No table has {LEAST_ROWS:,} rows."
    rows = [
        [f"r = {ratio}: {TAKEN[stride]} size"]
        + [_cell(*found[start, stride]) if (start, stride) in found else "" for start in range(STARTS)]
        for stride, ratio in STRIDES.items()
    ]
    made = markdown(("", *(f"b = {size:,}" for size in sizes[:STARTS])), rows)
    return f"{made}\n\n![Speed-up and loss for other first sizes and ratios](figures/{PICTURE})"


def _cell(speed_up: float, loss: float, _: int) -> str:
    return f"{speed_up:.1f}x, {percent(loss, 2)}"


def replayed(one: Curves, start: int, stride: int) -> Replay | None:
    """Replay DAUB with every size, every second or every third from a place on; None if too few are left."""
    sizes = sorted({*one.sizes[start::stride], one.full_size})
    if len(sizes) < LEAST_SIZES:
        return None
    return Replay(one, "daub", run(Daub(one.table.learners, Schedule(tuple(sizes))), TableEngine(one.table)))


def draw(found: dict[tuple[int, int], tuple[float, float, int]], sizes: tuple[int, ...], axes: Axes) -> None:
    """Draw loss against speed-up, one point for each b and r."""
    for stride, ratio in STRIDES.items():
        points = [(key, value) for key, value in found.items() if key[1] == stride]
        if not points:
            continue
        x, y = [value[0] for _, value in points], [100 * value[1] for _, value in points]
        axes.plot(x, y, "o-", label=f"r = {ratio} ({TAKEN[stride]} size)")
        for (start, _), speed_up, loss in zip((key for key, _ in points), x, y, strict=True):
            axes.annotate(
                f"b = {sizes[start]:,}",
                (speed_up, loss),
                xytext=(0, -16 if stride == 1 else 7),  # away from each other, where the points are close
                ha="center",
                textcoords="offset points",
            )
    axes.set_xlabel("times as fast as training everything (geometric mean over data sets)")
    axes.set_ylabel("mean loss, percentage points")
    axes.margins(x=0.15, y=0.12)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(STRIDES))  # above all points
    axes.set_title("DAUB with other first sizes and ratios (paper: b = 500, r = 1.5)", pad=28)


def drawn(tables: list[Curves], folder: Path) -> Path | None:
    """Draw the picture into a folder and return its path; None if no table is large enough."""
    folder.mkdir(parents=True, exist_ok=True)
    found, sizes = swept(tables), max((one.sizes for one in tables), key=len)
    return plots.drawn(folder / PICTURE, SIZE, lambda axes: draw(found, sizes, axes)) if found else None


def main() -> None:
    """Draw the picture and print its figures."""
    from pathlib import Path  # noqa: PLC0415  # for the default alone

    with_out = parser(__doc__)
    with_out.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    arguments = with_out.parse_args()
    tables = all_curves(arguments.measured)
    for (start, stride), (speed_up, loss, count) in swept(tables).items():
        print(f"b {start}, r {STRIDES[stride]}: {speed_up:.2f} times, loss {100 * loss:.2f} %, {count} tables")
    print(drawn(tables, arguments.out) or table(tables))


if __name__ == "__main__":
    main()
