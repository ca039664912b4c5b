"""`pydaub show`, `advise`, `plot`, `report`, `predict` and `learners`."""

from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from pydaub import units
from pydaub.cli import completion
from pydaub.cli.app import app, complain, for_the_result
from pydaub.cli.cleaning import check_output
from pydaub.cli.options import AnyFolder, Encoding, Folder, Json, TaskName, WekaJar, figure, output
from pydaub.cli.output import run_as_json
from pydaub.errors import InputError
from pydaub.records import PORTFOLIOS
from pydaub.runs.account import GOING_ON
from pydaub.views.terminal import console, print_lines, print_run, print_table

FORMULA: Final = re.compile(r"[=+\-@\t\r]")  # what a formula begins with
NUMBER: Final = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?")


@app.command()
def show(folder: AnyFolder, *, as_json: Json = False) -> None:
    """Show a run: where each learner stands, the result, and what may be claimed."""
    from pydaub.dashboard.address import served
    from pydaub.runs.folder import RunFolder

    account = RunFolder(folder).account()
    if as_json:
        typer.echo(json.dumps(run_as_json(account, folder)))
        return
    out = console()
    print_run(out, account)
    if account.state in ("stopped", "killed"):
        print_lines(out, ["", f"`pydaub resume {folder}` continues the run."])
    page = served(folder)
    if page:
        print_lines(out, ["", f"The page: {page}"])
    elif account.state in GOING_ON:
        print_lines(out, ["", f"The run is going on. `pydaub watch {folder}` shows it live."])


@app.command()
def advise(
    folder: AnyFolder,
    *,
    delta: Annotated[
        float | None, figure(float, words="Difference of scores to tell from chance.  [default: the run's]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how many validation rows are enough, and what the others would bring to training."""
    from pydaub.runs.advice import advise as advice
    from pydaub.runs.folder import RunFolder

    found = advice(RunFolder(folder).account(), delta)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "fraction": found.fraction}))
    else:
        print_lines(console(), found.sentences)


@app.command()
def plot(
    folder: AnyFolder,
    *,
    formats: Annotated[str, typer.Option(help="File formats, separated by commas.")] = "png,svg,pdf",
    out: Annotated[Path | None, output("Folder for the figures.  [default: RUN/plots]")] = None,
) -> None:
    """Draw a run: the paper's Figures 1 to 3."""
    from pydaub.runs.folder import RunFolder
    from pydaub.views.plots import draw_run
    from pydaub.within import Folder as Inside

    account = RunFolder(folder).account()
    try:
        place = Inside(folder, "plots") if out is None else Inside(out)
        paths = draw_run(account, place, units.names(formats.lower()))
    except OSError as error:
        raise InputError(
            f"Cannot write the figures: {error.filename}: {error.strerror}. Choose another `--out`."
        ) from None
    for path in paths:
        typer.echo(path)


@app.command()
def report(
    folder: AnyFolder,
    *,
    out: Annotated[Path | None, output("The file.  [default: RUN/report.html]")] = None,
) -> None:
    """Write a run as one HTML file that needs nothing else: to keep, or to mail."""
    from pydaub.dashboard.report import Report
    from pydaub.runs.folder import RunFolder
    from pydaub.runs.notes import notes

    check_output(out)
    opened = RunFolder(folder)
    asked = {name: value for name, value in vars(opened.request).items() if value not in (None, (), {}, "")}
    made = Report(opened.account(), folder.resolve().name, {"Request": asked}, notes(folder).strip())
    try:
        path = made.save(out or folder / "report.html", named=out is not None)
    except OSError as error:
        raise InputError(
            f"Cannot write the report: {error.filename}: {error.strerror}. Choose another `--out`."
        ) from None
    typer.echo(path)


@app.command()
def predict(
    folder: Folder,
    data: Annotated[str, typer.Argument(help="New rows, in any format that `run` reads; the target is not needed.")],
    *,
    out: Annotated[Path | None, output("The file to write.  [default: stdout]")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load the learner even if loading it may run code from its file.")
    ] = False,
    encoding: Encoding = None,
    learner_timeout: Annotated[
        str | None,
        typer.Option(
            help="Time limit for loading the learner, and for each 50,000 rows: 90s, 10m, 2h.  [default: 10m]"
        ),
    ] = None,
    weka_jar: WekaJar = None,
) -> None:
    """Predict new rows with the selected learner of a run."""
    from pydaub.runs.predicting import Predictor

    check_output(out)
    if out is not None and out.exists():
        from pydaub.data.loading import is_read_from

        if is_read_from(out, data):
            raise InputError(f"`--out` must be another file than those of the rows, got {out} for both.")
    if weka_jar:  # not the jar that the folder names: a jar is code
        from pydaub.learners.weka.jar import use_named_jar

        use_named_jar(weka_jar)
    seconds = units.seconds(learner_timeout, "--learner-timeout")
    with Predictor(folder, trust=trust, seconds=seconds) as predictor:
        from pydaub.data import new_rows  # slow imports, while the child begins to load the learner
        from pydaub.data.writing import write_output
        from pydaub.runs.folder import RunFolder

        columns = predictor.predict(new_rows(RunFolder(folder).schema(), data, encoding=encoding), proba=proba)
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        try:
            write_output(out, text.getvalue().encode(errors="backslashreplace"))
        except OSError as error:
            raise InputError(f"Cannot write {out}: {error.strerror}. Choose another `--out`.") from None
    if label := formula(columns["prediction"]):
        complain(
            f"The label {label!r} would be a formula in a spreadsheet. Labels are written as they are: import that"
            " column as text there."
        )


def formula(labels: list[Any]) -> str | None:
    """Return a label that spreadsheets take for a formula, if there is one."""
    texts = {label for label in labels if isinstance(label, str)}
    return next((text for text in sorted(texts) if FORMULA.match(text) and not NUMBER.fullmatch(text)), None)


@app.command()
def learners(
    spec: Annotated[
        str, typer.Argument(help="As with `pydaub run --learners`.", autocompletion=completion.learners)
    ] = PORTFOLIOS[0],
    *,
    task: Annotated[TaskName, typer.Option(help="What the target is for.")] = TaskName("classification"),  # noqa: B008  # a constant
    weka_jar: WekaJar = None,
    as_json: Json = False,
) -> None:
    """List the learners of a portfolio, and those that cannot be used here."""
    from pydaub.data import Column, Schema
    from pydaub.learners import portfolio
    from pydaub.learners.weka.jar import use_named_jar

    use_named_jar(weka_jar)
    usual = Schema("matrix", str(task), 2, (Column("a", "numeric"), Column("b", "numeric")), (0, 1))  # type: ignore[arg-type]  # one of the two
    left_out: dict[str, str] = {}
    with for_the_result():  # a person's file is imported
        found = [(learner.name, learner.description) for learner in portfolio(spec, usual, left_out).values()]
    if as_json:
        typer.echo(json.dumps(dict(found)))
    else:
        print_table(console(), ("learner", "description"), found)
    for name, reason in left_out.items():
        complain(f"{name} is left out: {reason}")
