"""A run from the command line, from what was asked for to what is printed."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from pydaub.cli.app import complain, leave_on_termination
from pydaub.cli.output import as_json
from pydaub.cli.watch import check_dashboard, open_page
from pydaub.data.formats.synthetic import PAPER_ROWS
from pydaub.engines.registry import Where, open_engine
from pydaub.errors import AllLearnersFailed, InputError, NothingMeasured
from pydaub.evaluation.evaluate import Task, check_scoring_fits, check_scoring_name
from pydaub.isolation.nursery import Limits
from pydaub.learners import PAPER, portfolio
from pydaub.learners.weka.jar import VARIABLE, use_jar
from pydaub.records import Evaluated
from pydaub.runs import saving
from pydaub.runs.folder import Request, RunFolder, check_unused, new_path, versions
from pydaub.runs.journal import JOURNAL, Journal, read
from pydaub.runs.loop import Result, run
from pydaub.runs.selection import Selection, schedule_for, select, settings_of, strategy_for
from pydaub.views.summary import counted
from pydaub.views.terminal import Display, console, print_columns, print_comparison, print_lines, print_run
from pydaub.views.view import Picture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydaub.algorithm.strategies import Strategy
    from pydaub.data import Prepared
    from pydaub.records import Allocation, Outcome

COLUMNS_SHOWN = 60
DEMO_ROWS = 24_000  # about a minute on two cores
PAGE_SECONDS = 10.0
SAMPLE_ROWS = 200  # on which a saved learner must predict as before


@dataclass(frozen=True)
class Options:
    """How to run, as against what: these may differ when a run is resumed."""

    jobs: int | None = None
    time_limit: float | None = None
    learner_timeout: float | None = None
    learner_memory: int | None = None
    json: bool = False
    quiet: bool = False
    dashboard: bool = False
    engine: str = "processes"
    address: str | None = None

    def where(self, folder: Path) -> Where:
        """Return where evaluations run, with a memory limit for each even if the user sets none."""
        if self.jobs is not None and self.jobs < 1:
            raise InputError(f"`--jobs` must be at least 1, got {self.jobs}.")
        limits = Limits(self.learner_timeout, self.learner_memory)
        return Where(self.jobs, limits, folder, self.engine, self.address).with_default_memory()

    @property
    def place(self) -> str:
        """Where it runs, in words."""
        return self.where(Path()).description


def start(request: Request, out: Path | None, options: Options) -> None:
    """Run what was asked for, in a new folder."""
    leave_on_termination()
    if options.dashboard:
        check_dashboard()
    request = replace(request.resolved(), weka_jar=use_jar(request.weka_jar))
    _check(request, options)
    path = out or new_path(request.data)
    check_unused(path)
    data = request.load()
    task, strategy = _task(request, data, options)
    if not options.quiet:
        _show_data(data)
    folder = RunFolder.create(path, request, data.schema, data.valid_size or data.full_size)
    carry(folder, task, strategy, options)


def start_demo(out: Path | None, options: Options, *, full: bool) -> None:
    """Run the paper's parity problem: half of the rows train, half validate."""
    rows = PAPER_ROWS if full else DEMO_ROWS
    start(Request(data=f"parity:{rows}", fraction=0.5), out, options)


def resume(path: Path, options: Options, weka_jar: str | None = None) -> None:
    """Go on with a run; WEKA's jar may have moved."""
    leave_on_termination()
    folder = RunFolder(path)
    if options.dashboard:
        check_dashboard()
    use_jar(weka_jar or os.environ.get(VARIABLE) or folder.request.weka_jar)
    _check_weka(folder)
    _check(folder.request, options)
    task, strategy = _task(folder.request, folder.data(), options)
    carry(folder, task, strategy, options)


def _check_weka(folder: RunFolder) -> None:
    """Refuse to go on with another WEKA, whose scores would be others."""
    begun, now = folder.versions.get("weka"), versions().get("weka")
    if PAPER in folder.request.learners and begun is not None and now is not None and begun != now:
        raise InputError(
            f"{folder.path} must go on with the WEKA that it was begun with, {begun}, got {now}."
            " Name that one with `--weka-jar`."
        )


def carry(folder: RunFolder, task: Task, strategy: Strategy, options: Options) -> None:
    """Carry a run through, show it as it goes on, and print what came of it."""
    where = options.where(folder.path)
    announced = open_page(folder.path) if options.dashboard else None
    picture = Picture(strategy)
    for event in read(folder.journal) if folder.journal.exists() else []:
        if isinstance(event, Evaluated):
            picture.take(event)
    display = Display(picture, str(task.scoring), options.place, quiet=options.quiet)
    try:
        with display:
            selection = select(
                task,
                strategy,
                where,
                time_limit=options.time_limit,
                watch=display.take,
                refit=folder.request.refit,
            )
    except (AllLearnersFailed, NothingMeasured) as error:
        if options.json:
            typer.echo(json.dumps({**as_json(strategy, error.result), "folder": str(folder.path)}))
        complain(f"The run is in {folder.path}.")
        raise
    except (KeyboardInterrupt, SystemExit):
        complain(f"Interrupted. `pydaub resume {folder.path}` goes on where it was.")
        raise
    if announced:
        announced.wait(PAGE_SECONDS)  # a run that was over before its page was there
    saved = saving.save(selection.fitted, folder.path, task.data.train(min(SAMPLE_ROWS, task.data.full_size)).X)
    told = _told(folder, strategy, selection, saved)
    folder.finish(told)
    if options.json:
        typer.echo(json.dumps(told))
    else:
        out = console()
        print_run(
            out,
            selection.result,
            selection.certificate,
            strategy.learners,
            scoring=str(task.scoring),
            place=options.place,
        )
        print_lines(out, _where_it_is(folder, selection, saved))


def compared(request: Request, names: Sequence[str], out: Path | None, options: Options) -> dict[str, Any]:
    """Run several strategies, each on what the others have measured too, and print them side by side."""
    leave_on_termination()
    use_jar(request.weka_jar)
    _check(request, options)
    data = request.load()
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(TemporaryDirectory(prefix="pydaub-")))
        results: dict[str, Result] = {}
        told: dict[str, Any] = {}
        known: dict[Allocation, Outcome] = {}
        for name in names:
            asked = replace(request, strategy=name, delta=request.delta if name == "frugal" else None)
            task, strategy = _task(asked, data, replace(options, quiet=options.quiet or bool(results)))
            display = Display(Picture(strategy), str(task.scoring), options.place, quiet=options.quiet)
            if not options.quiet:
                complain(f"strategy {name}:")
            try:
                with display:
                    results[name] = _only_run(
                        task, strategy, folder=folder / name, known=known, display=display, options=options
                    )
            except AllLearnersFailed as error:
                results[name] = error.result
            except (KeyboardInterrupt, SystemExit):
                if out:
                    complain("Interrupted. The same command goes on where it was.")
                raise
            told[name] = as_json(strategy, results[name])
            known.update({step.allocation: step.outcome for step in results[name].steps})
            known.update(results[name].speculated)
    if not options.json:
        print_comparison(console(), results, wall=False)
    return told


def _only_run(  # noqa: PLR0913  # what a run needs
    task: Task,
    strategy: Strategy,
    *,
    folder: Path,
    known: Mapping[Allocation, Outcome],
    display: Display,
    options: Options,
) -> Result:
    """Run a strategy without keeping what it selects."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"`--out` must be a folder that can be written, got {error.strerror}.") from None
    with (
        Journal(folder / JOURNAL, settings_of(task, strategy)) as journal,
        open_engine(task, options.where(folder)) as engine,
    ):
        return run(strategy, engine, journal, known=known, watch=display.take)


def _check(request: Request, options: Options) -> None:
    """Refuse at the door what would fail later. A cluster is connected to here, before a folder is made."""
    note = options.where(Path()).connect()
    if note and not options.quiet:
        complain(note)
    if options.time_limit is not None and not options.time_limit > 0:
        raise InputError(f"`--time-limit` must be more than 0, got {options.time_limit}.")
    if request.scoring is not None:
        check_scoring_name(request.scoring)
    if request.cv is not None and request.cv < 2:  # noqa: PLR2004  # folds
        raise InputError(f"`--cv` must be at least 2 folds, got {request.cv}.")
    if request.cv is not None and request.time is not None:
        raise InputError("`--cv` must go without `--time`: folds would mix the times. Choose one of the two.")
    if request.cv is not None and request.validation is not None:
        raise InputError("`--cv` must go without `--validation`: the folds are the validation. Choose one of the two.")


def _task(request: Request, data: Prepared, options: Options) -> tuple[Task, Strategy]:
    if request.scoring is not None:
        check_scoring_fits(data, request.scoring)
    left_out: dict[str, str] = {}
    learners = portfolio(request.learners, data.schema, left_out)
    schedule, note = schedule_for(data.full_size, request.first_size, request.ratio)
    if request.cv is not None and request.cv > schedule.sizes[0]:
        raise InputError(
            f"`--cv` must be at most the {schedule.sizes[0]} rows of the first size, got {request.cv} folds."
        )
    task = Task(
        data,
        learners,
        scoring=request.scoring or ("accuracy" if data.schema.task == "classification" else "r2"),
        cv=request.cv,
        metrics=request.metrics,
        seed=request.seed,
        reuse=request.reuse,
        threads=options.where(Path()).threads,
    )
    strategy = strategy_for(request.strategy, task, schedule, request.delta)
    notes = [note] if note and strategy.schedule.sizes[0] == schedule.sizes[0] else []  # it may begin elsewhere
    if not options.quiet:
        for line in (*data.notes, *notes, *_told_left_out(left_out)):
            complain(line)
    return task, strategy


def _told_left_out(left_out: Mapping[str, str]) -> list[str]:
    """Return a line for the learners of WEKA that cannot be used; of the default ones that is nothing new."""
    names = [name for name in left_out if name.startswith(PAPER)]
    return [f"Left out: {', '.join(names)}. `pydaub learners weka` says why."] if names else []


def _show_data(data: Prepared) -> None:
    """Say on stderr what was found in the data."""
    out, schema = console(stderr=True), data.schema
    columns = schema.columns[:COLUMNS_SHOWN]
    if columns:
        print_columns(out, [(each.name, each.kind, each.missing, each.distinct) for each in columns])
    if len(schema.columns) > COLUMNS_SHOWN:
        print_lines(out, [f"... and {len(schema.columns) - COLUMNS_SHOWN:,} columns more."])
    classes = f" with {counted(len(schema.classes), 'class')[:-1]}es" if len(schema.classes) > 1 else ""
    validation = f"{data.valid_size:,} to validate" if data.valid_size else "validated by cross-validation"
    print_lines(out, [f"{schema.task.capitalize()}{classes}: {data.full_size:,} rows to train, {validation}.", ""])


def _told(folder: RunFolder, strategy: Strategy, selection: Selection, saved: saving.Saved) -> dict[str, Any]:
    result, claim = selection.result, selection.certificate
    return {
        **as_json(strategy, result),
        "selected_size": result.selected_size,
        "valid_score": result.valid_score,
        "metrics": dict(result.measured.metrics) if result.measured else {},
        "stopped": result.stopped,
        "certificate": {
            "ceiling": claim.ceiling,
            "ceiling_learner": claim.ceiling_learner,
            "judged": claim.judged,
            "misbehaved": dict(claim.misbehaved),
            "tolerance": claim.tolerance,
            "doubts": list(claim.doubts),
            "text": " ".join(claim.sentences),
        }
        if claim
        else None,
        "folder": str(folder.path),
        "model": saved.path.name,
    }


def _where_it_is(folder: RunFolder, selection: Selection, saved: saving.Saved) -> list[str]:
    rows = (
        "all rows, those for validation included"
        if folder.request.refit and not selection.result.stopped and not selection.note
        else "its rows"
    )
    lines = ["", f"The run is in {folder.path}; the learner, trained on {rows}, in {saved.path.name} there."]
    if saved.reason is not None:
        lines.append(f"It is a pickle, since it cannot be saved otherwise ({saved.reason}): {saving.RUNS_CODE}.")
    if selection.note:
        lines.append(selection.note)
    if selection.result.stopped:
        lines.append(f"`pydaub resume {folder.path}` goes on where it was.")
    return [
        *lines,
        f"`pydaub predict {folder.path} NEW.csv` predicts with it; `pydaub show {folder.path}` shows this again.",
    ]
