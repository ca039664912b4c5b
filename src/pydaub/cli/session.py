"""A run from the command line: from the request to what is printed."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from pydaub.algorithm.strategies import strategies_with
from pydaub.cli.app import began, complain, for_the_result, leave_on_termination
from pydaub.cli.detached import Launch
from pydaub.cli.output import as_json, plain_regret, run_as_json
from pydaub.cli.watch import check_dashboard, open_page
from pydaub.data.hints import hints
from pydaub.data.loading import is_prepared
from pydaub.data.rowfiles import RowFiles
from pydaub.errors import AllLearnersFailed, InputError, NothingMeasured
from pydaub.evaluation.evaluate import Task
from pydaub.learners import PAPER, portfolio
from pydaub.learners.commandfile import read_commands
from pydaub.learners.weka.jar import jar, use_jar, use_named_jar
from pydaub.runs.commands import check_place
from pydaub.runs.folder import Request, RunFolder, check_unused
from pydaub.runs.plan import Plan, Sizes, check_after, check_scoring, default_scoring, plan
from pydaub.runs.regret import DELTA, check_delta, regrets
from pydaub.runs.saving import SCRIPT
from pydaub.runs.selection import NO_ENSEMBLE, NOT_ADJUSTED, Selection, select
from pydaub.views.terminal import Display, console, print_comparison, print_lines, print_run, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydaub.cli.options import Options
    from pydaub.data import Prepared
    from pydaub.events import Event
    from pydaub.records import Allocation, Outcome
    from pydaub.runs.account import Account
    from pydaub.runs.result import Result

COLUMNS_SHOWN = 60
PAGE_SECONDS = 10.0


def start(request: Request, out: Path | None, options: Options) -> None:
    """Run what was asked for, in a new folder."""
    request = replace(request.resolved(), weka_jar=use_named_jar(request.weka_jar))
    with for_the_result():
        if out is not None:
            check_unused(out)
        _begin(request, options)
        data = request.load()
    planned = planned_for(request, data, options)
    folder = RunFolder.create(out, request, data.schema, data.fingerprint)
    _note(data)
    if not options.quiet:
        _show_data(data)
        for hint in _hints(request, data):
            complain(hint)
    carry_out(folder, planned, options)


def resume(path: Path, options: Options, weka_jar: str | None = None, *, retry: bool = False) -> None:
    """Continue a run. WEKA's jar may have moved. With `retry`, learners that failed get another chance."""
    folder = RunFolder(path)
    if use_named_jar(weka_jar) is None:
        use_jar(folder.request.weka_jar)
    _check_weka(folder)
    _begin(folder.request, options)
    data = folder.data()
    planned = planned_for(folder.request, data, options)
    _note(data)
    carry_out(folder, planned, options, retry=retry)


def _check_weka(folder: RunFolder) -> None:
    """Refuse to continue with another version of WEKA, whose scores would differ."""
    begun = folder.begun().get("weka")
    if begun is not None and begun != (now := jar().version):
        raise InputError(
            f"{folder.path} must be continued with the WEKA that it was started with, {begun}, got {now}."
            " Name that one with `--weka-jar`."
        )


def carry_out(folder: RunFolder, planned: Plan, options: Options, *, retry: bool = False) -> None:
    """Carry a plan out, show its progress, and print what came of it."""
    display, launch = Display(options.place, quiet=options.quiet), Launch(folder.path)
    announced = open_page(folder.path, display.tell, browse=not launch.wanted) if options.dashboard else None
    if announced and launch.wanted:
        announced.wait(PAGE_SECONDS)

    def watch(event: Event, account: Account) -> None:
        launch.up()
        display.take(event, account)

    try:
        with _disconnected(options), display:
            selection = select(
                planned,
                options.where(folder.path),
                time_limit=options.seconds,
                watch=watch,
                refit=folder.request.refit,
                retry=retry,
                save_to=folder.path,
                began=began(),
            )
    except (AllLearnersFailed, NothingMeasured) as error:
        if options.as_json:
            typer.echo(json.dumps({**as_json(planned.strategy, error.result), "folder": str(folder.path)}))
        how = f" `pydaub resume {folder.path}` continues it." if isinstance(error, NothingMeasured) else ""
        complain(f"The run is in {folder.path}.{how}")
        raise
    except (KeyboardInterrupt, SystemExit):
        complain(f"Interrupted. `pydaub resume {folder.path}` continues the run.")
        raise
    launch.settle()
    if announced:
        announced.wait(PAGE_SECONDS)  # the run may be over before its page is there
    told = run_as_json(selection.account, folder.path)
    folder.finish(told)
    if told["not_saved"]:
        complain(f"The selected learner could not be saved: {told['not_saved']}")
    if options.as_json:
        typer.echo(json.dumps(told))
    else:
        out = console()
        print_run(out, selection.account, place=options.place)
        print_lines(out, _where_it_is(folder, selection))


def compared(
    request: Request, names: Sequence[str], out: Path | None, options: Options, regret_delta: float = DELTA
) -> None:
    """Run several strategies, each on what the others have measured too, and print them side by side."""
    check_delta(regret_delta)
    use_named_jar(request.weka_jar)
    _begin(request, options)
    for parameter in request.parameters:
        if not {*names} & {*strategies_with(parameter)}:
            having = " or ".join(strategies_with(parameter))
            raise InputError(f"`{parameter}` must go with the strategy {having}, got {', '.join(names)}.")
    with for_the_result():
        data = request.load()
    with ExitStack() as stack:
        stack.enter_context(_disconnected(options))
        folder = out or Path(stack.enter_context(TemporaryDirectory(prefix="pydaub-")))
        results: dict[str, Result] = {}
        told: dict[str, Any] = {}
        known: dict[Allocation, Outcome] = {}
        for name in names:
            own = {key: value for key, value in request.parameters.items() if name in strategies_with(key)}
            asked = replace(request, strategy=name, parameters=own)
            planned = planned_for(asked, data, replace(options, quiet=options.quiet or bool(results)))
            if not results:
                _note(data)
            if not options.quiet:
                complain(f"strategy {name}:")
            try:
                with Display(options.place, quiet=options.quiet) as display:
                    where = options.where(folder / name)
                    selection = select(planned, where, known=known, watch=display.take, hand_over=False)
                results[name] = selection.result
            except AllLearnersFailed as error:
                results[name] = error.result
            except (KeyboardInterrupt, SystemExit):
                if out:
                    complain("Interrupted. The same command continues where it was.")
                raise
            told[name] = as_json(planned.strategy, results[name])
            known.update({step.allocation: step.outcome for step in results[name].steps})
            known.update(results[name].speculated)
    if options.as_json:
        wasted = regrets(results, regret_delta)
        typer.echo(json.dumps({name: {**each, "regret": plain_regret(wasted[name])} for name, each in told.items()}))
    else:
        print_comparison(console(), results, wall=False, regret_delta=regret_delta)


@contextmanager
def _disconnected(options: Options) -> Iterator[None]:
    """Keep stdout for the result, and leave a cluster in the end: Ray prints to stdout while it is connected."""
    with for_the_result():
        try:
            yield
        finally:
            options.where(Path()).disconnect()


def _begin(request: Request, options: Options) -> None:
    """Refuse early what would fail later. Connects to a cluster before a folder is made."""
    leave_on_termination()
    if options.dashboard:
        check_dashboard()
    check_scoring(request.scoring)
    if request.cv is not None and request.cv < 2:  # noqa: PLR2004  # folds
        raise InputError(f"`--cv` must be at least 2 folds, got {request.cv}.")
    check_after(request.cv, ensemble=request.ensemble, adjust=request.adjust)
    if request.cv is not None and request.time is not None:
        raise InputError("`--cv` must go without `--time`: folds would mix the times. Choose one of the two.")
    if request.cv is not None and request.validation is not None:
        raise InputError("`--cv` must go without `--validation`: the folds are the validation. Choose one of the two.")
    note = options.where(Path()).connect()
    if note and not options.quiet:
        complain(note)


def _note(data: Prepared) -> None:
    """Print what should be known of the data, however quiet the run is to be."""
    for note in data.notes:
        complain(note)


def planned_for(request: Request, data: Prepared, options: Options) -> Plan:
    """Return the run of a request."""
    left_out: dict[str, str] = {}
    with for_the_result():  # a person's file is imported
        learners = portfolio(request.learners, data.schema, left_out)
    task = Task(
        data,
        learners,
        scoring=None if request.commands else request.scoring or default_scoring(data),
        floor=request.floor,
        cv=request.cv,
        metrics=request.metrics,
        score_rows=request.score_rows,
        seed=request.seed,
        reuse=request.reuse,
        ensemble=request.ensemble,
        adjust=request.adjust,
        threads=options.where(Path()).threads,
    )
    sizes = _sizes(request)
    planned = plan(task, request.strategy, request.parameters, sizes)
    check_place(planned.task, options.where(Path()))
    if not options.quiet:
        if planned.note:
            complain(planned.note)
        # Only those of WEKA: missing extras of the default ones are usual.
        if names := [name for name in left_out if name.startswith(PAPER)]:
            complain(f"Left out: {', '.join(names)}. `pydaub learners weka` says why.")
    return planned


def _sizes(request: Request) -> Sizes:
    """Return the sizes that were asked for; without any, those that a file of commands names."""
    if request.commands and (request.first_size, request.ratio, request.sizes) == (None, None, None):
        return Sizes(**read_commands(request.data).sizes)
    return Sizes(request.first_size, request.ratio, request.sizes)


def _show_data(data: Prepared) -> None:
    """Print on stderr what was found in the data."""
    out, schema = console(stderr=True), data.schema
    if isinstance(data, RowFiles):
        validation = f", {data.valid_size:,} to validate" if data.valid_size else ""
        print_lines(out, [f"{data.full_size:,} rows to train{validation}.", ""])
        return
    columns = schema.columns[:COLUMNS_SHOWN]
    if columns:
        rows = [(each.name, each.kind, each.missing or None, each.distinct) for each in columns]
        print_table(out, ("column", "kind", "missing", "distinct"), rows)
    if len(schema.columns) > COLUMNS_SHOWN:
        print_lines(out, [f"... and {len(schema.columns) - COLUMNS_SHOWN:,} more columns."])
    classes = f" with {len(schema.classes):,} classes" if len(schema.classes) > 1 else ""
    validation = f"{data.valid_size:,} to validate" if data.valid_size else "validated by cross-validation"
    print_lines(out, [f"{schema.task.capitalize()}{classes}: {data.full_size:,} rows to train, {validation}.", ""])


def _hints(request: Request, data: Prepared) -> list[str]:
    """Return by which columns the rows should perhaps be divided, where that is left to chance."""
    settled = (request.group, request.time, request.validation)
    if request.commands or any(each is not None for each in settled) or is_prepared(request.data):
        return []
    rows, folds = data.full_size + data.valid_size, request.cv is not None
    return hints(data.schema, rows, lambda option, column: f"`--{option} {quote(column)}`", folds=folds)


def _where_it_is(folder: RunFolder, selection: Selection) -> list[str]:
    combined, saved = selection.account.combined, selection.saved
    if saved and saved.program:
        stopped = [f"`pydaub resume {folder.path}` continues the run."] if selection.result.stopped else []
        model = f"the model, trained on {selection.result.selected_size:,} rows, is in {saved.program.model}"
        return [
            "",
            f"The run is in {folder.path}; {model}.",
            f"`sh {folder.path / SCRIPT}` trains {selection.result.selected} on all rows, validation rows included.",
            *stopped,
            f"`pydaub show {folder.path}` shows this again.",
        ]
    what = "ensemble" if combined and combined.used else "learner"
    rows = "all rows, validation rows included" if selection.refitted else f"{selection.result.selected_size:,} rows"
    lines, again = [""], f"`pydaub show {folder.path}` shows this again."
    if saved is None or saved.path is None:
        lines.append(f"The run is in {folder.path}; the {what} could not be saved.")
    else:
        lines.append(f"The run is in {folder.path}; the {what}, trained on {rows}, is in {saved.path.name} there.")
        trust = ""
        if saved.reason is not None:
            from pydaub.runs.saving import RUNS_CODE

            lines.append(f"It was saved as a pickle because skops could not save it ({saved.reason}): {RUNS_CODE}.")
            trust = " --trust"
        again = f"`pydaub predict {folder.path} NEW.csv{trust}` predicts with it; {again}"
    if folder.request.ensemble and combined is None:
        lines.append(NO_ENSEMBLE)
    if folder.request.adjust and selection.account.adjusted is None:
        lines.append(NOT_ADJUSTED)
    if selection.note:
        lines.append(selection.note)
    if selection.result.stopped:
        lines.append(f"`pydaub resume {folder.path}` continues the run.")
    return [*lines, again]
