"""Write the results page from measured curves: the paper's figures beside ours.

    python experiments/results.py                                             # docs/results.md from the shipped tables
    python experiments/results.py --measured build/paper/measured --page build/paper/results.md

Nothing is trained. Every number on the page comes from the tables in the folder, or is the paper's and marked as such.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

import dividing
import enough
import figure1
import figure2
import fresh
import growing
import sweep
from accuracy import accuracy
from assumptions import assumptions, costs
from bounds import bounds, training_cap
from command import TABLE_1, drawings, parser
from counts import counts
from curves import PARITY_ROWS, SITTING, sittings
from datasets import DATA_SETS
from effects import effects
from machines import FOLDER, machines
from plan import large, still_missing
from regrets import regrets
from replays import BEGUN, MEASURED, Curves, all_curves, curves_in, grouped, largest, markdown, named, percent
from table1 import table_1
from table2 import PAPER, table_2

from pydaub import PAPER_SIZES, Allocation, Failure
from pydaub.errors import PydaubError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PAGE: Final = Path(__file__).parents[1] / "docs" / "results.md"
TEMPLATE: Final = Path(__file__).with_name("results.template.md")
FEW: Final = 2_500  # rows; in the paper most learners get no larger sample
TOP: Final = 8  # classifiers to which most rows go in the paper
MANY: Final = 10_000  # rows; in the paper four learners get more, all within 1.5 % of the best
NAMED: Final = 5  # learners that are named; more are counted


def page(tables: Sequence[Curves], measured: Path = MEASURED) -> str:
    """Return the page of these tables, with links to the pictures that `drawings` makes."""
    parts = {
        "sizes": _sizes(tables),
        "data": _data(tables),
        "circumstances": _circumstances(tables),
        "clocks": clocks(tables),
        "effects": effects(tables),
        "machines": machines(tables, measured / FOLDER),
        "enough": _recorded(measured / "enough.json", enough.said),
        "dividing": _recorded(measured / "dividing.json", dividing.said),
        "growing": _recorded(measured / "growing.json", growing.said),
        "fresh": _recorded(measured / "fresh.json", fresh.said),
        "agreement": _recorded(measured / "agreement.json"),
        "protocols": _recorded(measured / "protocols.json"),
        "table_1": table_1(tables),
        "table_2": table_2(tables),
        "seed": " and ".join(map(str, sorted({one.about["seed"] for one in largest(tables)}))),
        "counts": counts(),
        "swept": sweep.table(tables),
        "draws": f"{enough.DRAWS:,}",
        "delta": f"{dividing.DELTA:g}",
        "most_valid": f"{max(one.about['valid_rows'] for one in tables if one.about['data'] in PAPER):,}",
        "bounds": bounds(tables),
        "training_cap": training_cap(tables),
        "pictures": "\n\n".join(picture(one) for one in largest(tables) if one.about["data"] in TABLE_1),
        "accuracy": accuracy(tables),
        "assumptions": assumptions(tables),
        "costs": costs(tables),
        "regrets": regrets(tables),
        "fewer": _fewer(tables),
        "left_out": "; ".join([*left_out(tables), *map(progress, curves_in(measured / BEGUN))]),
        "dearest": dearest(tables),
        "weka": _weka(tables),
        "ended": _ended(tables),
    }
    filled = {name: text or "none" for name, text in parts.items()}
    return Template(TEMPLATE.read_text()).substitute(filled)


def _sizes(tables: Sequence[Curves]) -> str:
    measured = {size for one in tables for size in one.sizes}
    text = ", ".join(f"{size:,}" for size in sorted(measured & set(PAPER_SIZES)))
    return text + (f", and {PARITY_ROWS:,} for PARITY" if PARITY_ROWS in measured else "")


def _data(tables: Sequence[Curves]) -> str:
    rows: list[list[object]] = []
    for name, data_set in DATA_SETS.items():
        seeds = [f"{portfolio}: {_depths(of)}" for (data, portfolio), of in grouped(tables).items() if data == name]
        about = next((one.about for one in tables if one.about["data"] == name), None)
        found = (
            [about["source"], *(f"{about[key]:,}" for key in ("train_rows", "valid_rows", "features", "classes"))]
            if about
            else ["not measured", *[""] * 4]
        )
        of_copy = about is not None and "smaller copy" in about["source"]
        rule = (data_set.copy_rule if of_copy else "") or data_set.rule or "as published"
        rows.append([data_set.title, *found, "; ".join(seeds), rule])
    header = (
        "Data set",
        "Source",
        "Training rows",
        "Validation rows",
        "Features",
        "Classes",
        "Seeds, up to N",
        "Label",
    )
    return markdown(header, rows, left=2)


def _depths(seeds: Sequence[Curves]) -> str:
    sizes = Counter(one.full_size for one in seeds)
    return ", ".join(f"{count} to {size:,}" for size, count in sorted(sizes.items(), reverse=True))


def _circumstances(tables: Sequence[Curves]) -> str:
    limits: dict[tuple[str, float], list[str]] = {}
    versions: dict[str, set[str]] = {}
    for one in tables:
        limits.setdefault((one.about["portfolio"], one.about["timeout"]), []).append(one.about["title"])
        for package, version in one.about["versions"].items():
            versions.setdefault(package, set()).add(version)
    portfolios = Counter(portfolio for portfolio, _ in limits)
    ended = ", ".join(
        f"{portfolio} {limit:,.0f} s" + (f" ({', '.join(dict.fromkeys(titles))})" if portfolios[portfolio] > 1 else "")
        for (portfolio, limit), titles in limits.items()
    )
    packages = ", ".join(f"{package} {' and '.join(sorted(found))}" for package, found in versions.items())
    jobs = _every(tables, "jobs").replace(", ", " or ")
    return (
        f"Machine: {_machines(tables)}; {jobs} trainings at a time. Limits for one training:"
        f" {ended}, and {_every(tables, 'memory_gb')} GB. Seeds: {_every(tables, 'seed')}. Commit:"
        f" {_every(tables, 'commit')}. Measured on {_every(tables, 'date')}. Versions: {packages}."
    )


def _machines(tables: Sequence[Curves]) -> str:
    """Return the machines and, if there are several, which tables were measured on each."""
    found = Counter(one.about["machine"] for one in tables)
    *fewer, most = sorted(found, key=lambda machine: found[machine])
    if not fewer:
        return str(most)
    parts = [f"{machine} for {', '.join(named(tables, partial(_by, 'machine', machine)))}" for machine in fewer]
    return "; ".join([*parts, f"{most} for all others"])


def _by(key: str, value: str, one: Curves) -> bool:
    return bool(one.about.get(key) == value)


def clocks(tables: Sequence[Curves]) -> str:
    """Return which tables were measured by which clock."""
    by_cpu = named(tables, partial(_by, "clock", "cpu"))
    words = f"CPU seconds for {', '.join(by_cpu)}; in all other tables they are wall-clock seconds"
    return words if by_cpu else "wall-clock seconds"


def _recorded(path: Path, said: Callable[[Sequence[Sequence[str]]], str] | None = None) -> str:
    """Return a table that a script has kept, with its circumstances and with what it says."""
    if not path.exists():
        return "Not measured yet."
    kept = json.loads(path.read_text())
    parts = [markdown(kept["header"], kept["lines"], left=2)]
    parts.append(f"(`experiments/{path.stem}.py`, {kept['machine']}, commit {kept['commit']}, {kept['date']}.)")
    return "\n\n".join([*parts, said(kept["lines"])] if said else parts)


def dearest(tables: Sequence[Curves]) -> str:
    """Say why there are no more seeds of the tables of WEKA."""
    hours = {
        math.fsum(outcome.seconds for outcome in one.table.outcomes.values() if outcome) / 3600: one
        for one in tables
        if one.about["portfolio"] == "weka"
    }
    if not hours:
        return "There are no tables of WEKA."
    most = max(hours)
    one = hours[most]
    return (
        "The tables of WEKA are of one split each: two more seeds at the largest sizes are still missing, as one such"
        f" table takes up to {most:.0f} hours of training ({one.about['title']}, N = {one.full_size:,})."
    )


def _weka(tables: Sequence[Curves]) -> str:
    versions = [one.about["versions"] for one in tables if one.about["portfolio"] == "weka"]
    found = {(each["weka"], each["java"]) for each in versions}
    return " and ".join(f"WEKA {weka} on Java {java}" for weka, java in sorted(found)) or "no WEKA, not measured here"


def _every(tables: Sequence[Curves], key: str) -> str:
    abouts = [one.about for one in tables]
    values = sorted({about[key] for about in (sittings(abouts) if key in SITTING else abouts)})
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def picture(one: Curves) -> str:
    """Return what Figures 1 and 2 of a table show, beside what the paper says of its own, and the figures."""
    data, portfolio = one.about["data"], one.about["portfolio"]
    replay = one.replayed("daub")
    given, every = replay.rows_of, max(replay.rows_after_bootstrap, 1)
    samples = {step.allocation.learner: step.allocation.size for step in replay.result.steps}  # the last is the largest
    most_rows = sum(sorted(given.values(), reverse=True)[:TOP]) / every
    top = sum(given[name] for name in list(one.scores)[:TOP]) / every
    few = sum(size <= FEW for size in samples.values())
    best = next(iter(one.scores))
    ahead = _ahead(one, best)
    latest = max(ahead.values(), default=0)
    longest = [name for name, size in ahead.items() if size == latest]
    early = f"; with up to {latest:,} rows: {_some(longest)}" if ahead else ""
    return (
        f"**{one.about['title']}, `{portfolio}`, seed {one.about['seed']}.**"
        f" Best at N: {best} ({one.scores[best]:.4f}). With fewer rows,"
        f" {len(ahead)} others score higher than it{early} (in the paper, for HIGGS: several, LADTree until 5,000)."
        " Figure 1 has those in colour that have the highest score of all at some size. DAUB selects"
        f" {replay.result.selected} ({replay.result.valid_score:.4f}). No sample of more than {FEW:,} rows for {few} of"
        f" {len(samples)} learners (in the paper, for HIGGS: most). More than {MANY:,} rows in one sample:"
        f" {_many(one, samples)} (four, within 1.5 %); in all samples after the bootstrap: {_many(one, given)}. The"
        f" eight learners with the highest scores at N get {percent(top, 0)} of these rows (most), the eight with the"
        f" most rows {percent(most_rows, 0)}.\n\n"
        f"![Figure 1 for {data}](figures/figure1-{data}-{portfolio}.png)\n\n"
        f"![Figure 2 for {data}](figures/figure2-{data}-{portfolio}.png)"
    )


def _many(one: Curves, rows: Mapping[str, int]) -> str:
    """Return how many learners have many rows, and how far they are behind the best at N."""
    many = [name for name, count in rows.items() if count > MANY]
    scored = [one.scores[name] for name in many if name in one.scores]
    within = f", within {percent(max(one.scores.values()) - min(scored))} of the best at N" if scored else ""
    without = f", {len(many) - len(scored)} of them without a score at N" if len(many) > len(scored) else ""
    return f"{len(many) or 'none'}{within}{without}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMED else f"{len(names)} of them"


def _ahead(one: Curves, best: str) -> dict[str, int]:
    """Return the learners that are ahead of the best one with fewer rows, and the largest size at which they are."""
    curve = one.curve(best)
    scores = {size: point.valid_score for size, point in zip(curve.sizes, curve.measurements, strict=True)}
    found: dict[str, int] = {}
    for name in one.scores:
        other = one.curve(name)
        for size, point in zip(other.sizes, other.measurements, strict=True):
            if size < one.full_size and point.valid_score > scores.get(size, math.inf):
                found[name] = size
    return found


def _full(one: Curves) -> int:
    """Return the paper's N for this data set."""
    return PARITY_ROWS if one.about["data"] == "parity" else PAPER_SIZES[-1]


def _fewer(tables: Sequence[Curves]) -> str:
    short = [one for one in largest(tables) if one.full_size < _full(one)]
    return ", ".join(f"{one.about['title']} {one.full_size:,} ({one.about['portfolio']})" for one in short)


def left_out(tables: Sequence[Curves]) -> list[str]:
    """Return what was not measured: sizes of planned tables for which there are enough rows, and data sets."""
    rows = {one.about["data"]: one.about["train_rows"] for one in tables}
    reached = {(one.about["data"], one.about["portfolio"], one.about["seed"]): one.full_size for one in tables}
    plan = [*large([name for name in DATA_SETS if name in rows], weka=True)]
    groups: dict[tuple[str, str, str], list[int]] = {}
    for wanted in still_missing(plan, tables):
        known = reached.get((wanted.data, wanted.learners, wanted.seed), 0)
        sizes = [f"{size:,}" for size in wanted.sizes(rows[wanted.data]) if size > known]
        words = " to ".join(dict.fromkeys((sizes[0], sizes[-1]))) + " rows" if sizes else f"a limit of {wanted.timeout}"
        groups.setdefault((wanted.data, wanted.learners, words), []).append(wanted.seed)
    planned = Counter((wanted.data, wanted.learners) for wanted in plan)
    found = []
    for (data, portfolio, words), seeds in groups.items():
        which = f", {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"
        some = which if len(seeds) < planned[data, portfolio] else ""
        found.append(f"{DATA_SETS[data].title} with {words} ({portfolio}{some})")
    return found + [f"all of {one.title}" for one in DATA_SETS.values() if one.name not in rows]


def progress(one: Curves) -> str:
    """Return how far a table is that is not complete yet."""
    missing, total = one.about["left_out"], one.about["learners"] * len(one.about["sizes"])
    return (
        f"{one.about['title']} ({one.about['portfolio']}), which is begun: {total - missing} of {total} trainings, all"
        f" learners up to {one.full_size:,} of {one.about['sizes'][-1]:,} rows"
    )


def _ended(tables: Sequence[Curves]) -> str:
    return ", ".join(
        f"{one.about['title']} {len(one.failed)} of {len(one.table.learners)} ({one.about['portfolio']}:"
        f" {', '.join(f'{count} {kind}' for kind, count in _kinds(one).items())})"
        for one in largest(tables)
        if one.failed
    )


def _kinds(one: Curves) -> Counter[str]:
    outcomes = [one.table[Allocation(name, one.full_size)] for name in one.failed]
    return Counter(outcome.kind for outcome in outcomes if isinstance(outcome, Failure))


def write(measured: Path, path: Path, *, partial: bool = False) -> None:
    """Write the page and its pictures; with `partial`, of tables that are not complete yet too."""
    tables = all_curves(measured, partial=partial)
    text = page(tables, measured)
    path.parent.mkdir(parents=True, exist_ok=True)
    for draw, name, size in ((figure1.figure_1, "figure1", figure1.SIZE), (figure2.figure_2, "figure2", figure2.SIZE)):
        drawings(draw, name, size, tables, path.parent / "figures")
    sweep.drawn(tables, path.parent / "figures")
    path.write_text(text)


def main() -> None:
    """Write the requested page."""
    with_page = parser(__doc__)
    with_page.add_argument("--page", type=Path, default=PAGE, help="file to write (default: docs/results.md)")
    arguments = with_page.parse_args()
    try:
        write(arguments.measured, arguments.page)
    except PydaubError as error:
        sys.exit(str(error))
    print(arguments.page)


if __name__ == "__main__":
    main()
