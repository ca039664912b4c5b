"""`pydaub check`: each command of a file once, at the first size."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pydaub.cli.app import EXIT_FAILED, app, for_the_result
from pydaub.cli.options import Asked, Json, Options, figure
from pydaub.errors import InputError
from pydaub.records import Measurement, is_command_file

if TYPE_CHECKING:
    from pydaub.learners import Learner
    from pydaub.records import Allocation, Outcome
    from pydaub.runs.plan import Plan


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="A TOML file of learners that are commands.")],
    *,
    rows: Annotated[str | None, typer.Option(help="As for `pydaub run`.")] = None,
    validation: Annotated[str | None, typer.Option(help="As for `pydaub run`.")] = None,
    full_size: Annotated[int | None, figure(int, words="As for `pydaub run`.")] = None,
    learner_timeout: Annotated[str | None, typer.Option(help="Time limit for each: 90, 90s, 10m.")] = None,
    learner_memory: Annotated[str | None, typer.Option(help="Memory limit for each: 500MB, 2GB.")] = None,
    as_json: Json = False,
) -> None:
    """Run each command of a file once, at the first size, and say what was understood and what all rows would cost.

    They run one after the other, so that the times are right. The exit code is 1 if one of them fails.
    """
    if not is_command_file(file):
        raise InputError(f"`FILE` must be a TOML file of commands, got {file}. `pydaub learners` lists other learners.")
    options = Options(jobs=1, learner_timeout=learner_timeout, learner_memory=learner_memory, quiet=True)
    with TemporaryDirectory(prefix="pydaub-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with options.where(folder).started_early(), for_the_result():
            found = _checked(Asked(rows=rows, validation=validation, full_size=full_size), file, options, folder)
    failed = sum("score" not in each for each in found)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        _print(found)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _checked(asked: Asked, file: str, options: Options, folder: Path) -> list[dict[str, Any]]:
    """Return what each command did."""
    from pydaub.cli.session import planned_for
    from pydaub.engines.registry import open_engine
    from pydaub.evaluation.commands import trained
    from pydaub.evaluation.workbench import Workbench
    from pydaub.records import Allocation
    from pydaub.runs.commands import check_place

    request = asked.request(file).resolved()
    planned = planned_for(request, request.load(), options)
    where, found = options.where(folder), list[dict[str, Any]]()
    check_place(planned.task, where)
    with open_engine(planned.task, where) as engine:
        for name, learner in planned.task.learners.items():
            allocation = Allocation(name, planned.sizes[0])
            engine.submit(allocation)
            collected = None
            while collected is None:
                collected = engine.collect(1.0)
            left = trained(Workbench(folder.resolve()).place(allocation))
            found.append(_told(planned, learner, allocation, collected[1], left.answer if left else {}))
    return found


def _told(
    planned: Plan, learner: Learner, allocation: Allocation, outcome: Outcome, answer: dict[str, Any]
) -> dict[str, Any]:
    """Return what one command did, as plain values."""
    from pydaub.algorithm.seconds import evaluation_ahead
    from pydaub.evaluation.commands import FIELDS

    told: dict[str, Any] = {"learner": learner.name, "rows": allocation.size, "seconds": outcome.seconds}
    if not isinstance(outcome, Measurement):
        return {**told, "failure": getattr(outcome, "kind", "timeout"), "message": getattr(outcome, "message", "")}
    full = planned.task.data.full_size
    return {
        **told,
        "score": answer["score"],
        "understood": [name for name in answer if name in FIELDS],
        "ignored": [name for name in answer if name not in FIELDS],
        "memory_mb": outcome.metrics.get("peak_mb"),
        "full_size": full,
        "full_seconds": evaluation_ahead([(allocation.size, outcome)], full),
    }


def _print(found: list[dict[str, Any]]) -> None:
    from pydaub.views.terminal import console, print_lines, print_table

    rows, notes = list[tuple[Any, ...]](), list[str]()
    for each in found:
        if "score" in each:
            said = ", ".join(each["understood"])
            ahead = f"{each['full_seconds']:,.1f}"
            rows.append(
                (
                    each["learner"],
                    each["rows"],
                    each["score"],
                    f"{each['seconds']:,.2f}",
                    f"{each['memory_mb']:,.0f}",
                    ahead,
                    said,
                )
            )
            if each["ignored"]:
                notes.append(f"{each['learner']}: not understood, and ignored: {', '.join(each['ignored'])}.")
        else:
            rows.append((each["learner"], each["rows"], None, f"{each['seconds']:,.2f}", None, None, each["failure"]))
            notes.append(f"{each['learner']}: {each['failure']}: {each['message']}")
    columns = ("command", "rows", "score", "seconds", "MB", "s on all rows", "understood")
    out = console()
    print_table(out, columns, rows)
    measured = [each for each in found if "score" in each]
    if measured:
        total = sum(each["full_seconds"] for each in measured)
        notes.append(
            f"All {measured[0]['full_size']:,} rows would take these {len(measured)} about {total:,.0f} s, if the time"
            " grows with the rows."
        )
    print_lines(out, notes)
