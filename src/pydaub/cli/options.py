"""Options that several commands share, and those of the strategies, which come from their own declarations."""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO
from pydaub.algorithm.strategies import DEFAULT as DEFAULT_NAME
from pydaub.algorithm.strategies import PARAMETERS, STRATEGIES, strategies_with
from pydaub.engines.registry import MEMORY_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydaub.algorithm.strategies import Parameter

StrategyName = StrEnum("StrategyName", list(STRATEGIES))  # type: ignore[misc]  # one member for each strategy
DEFAULT_STRATEGY = StrategyName(DEFAULT_NAME)
Task = StrEnum("Task", ["classification", "regression"])

Target = Annotated[str | None, typer.Option(help="The column to predict.")]
Learners = Annotated[
    str,
    typer.Option(
        help="Portfolios (sklearn, weka, streaming), names, patterns and Python files, separated by commas;"
        " -NAME leaves one out."
    ),
]
Strategy = Annotated[StrategyName, typer.Option(help="Which strategy decides who gets data next.")]
FirstSize = Annotated[
    int | None, typer.Option(help=f"Rows of the first sample.  [default: {PAPER_FIRST_SIZE}, or fewer]")
]
Ratio = Annotated[str | None, typer.Option(help=f"Growth of the samples.  [default: {PAPER_RATIO}]")]
Sizes = Annotated[
    str | None, typer.Option(help="A list of sizes instead, such as 500,1000,1500, or 'paper' for the paper's.")
]
Scoring = Annotated[str | None, typer.Option(help="A scorer of scikit-learn.  [default: accuracy, or r2]")]
Folds = Annotated[int | None, typer.Option("--cv", help="Score by cross-validation with this many folds.")]
Validation = Annotated[str | None, typer.Option(help="A file with validation rows.")]
Fraction = Annotated[float, typer.Option("--validation-fraction", help="Share of the rows to validate on.")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
Kind = Annotated[list[str] | None, typer.Option(help="The kind of a column, such as zip=categorical; may be repeated.")]
TaskKind = Annotated[
    Task | None, typer.Option("--task", help="What the target is for.  [default: inferred from the target]")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files.  [default: utf-8]")]
Seed = Annotated[int, typer.Option(help="Seed for the order of rows and for the learners.")]
Jobs = Annotated[int | None, typer.Option(help="Number of workers.  [default: one for each core]")]
TimeLimit = Annotated[
    str | None, typer.Option(help="Stop after this time with the best learner so far: 90, 90s, 10m, 2h.")
]
Timeout = Annotated[str | None, typer.Option(help="Time limit for one training of one learner: 90, 90s, 10m.")]
Memory = Annotated[
    str | None,
    typer.Option(help=f"Memory limit for one learner: 500MB, 2GB.  [default: its share of {MEMORY_SHARE:.0%}]"),
]
WekaJar = Annotated[
    str | None, typer.Option(help="WEKA's jar, for the portfolio weka.  [default: PYDAUB_WEKA_JAR, or Debian's]")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]


def strategy_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each parameter of the strategies.

    They stand where the command has its argument `parameters`, which receives those that were given, by name.
    """
    hints = get_type_hints(command, include_extras=True)
    arguments: list[inspect.Parameter] = []
    for argument in inspect.signature(command).parameters.values():
        if argument.name == "parameters":
            arguments += [_option(parameter) for parameter in PARAMETERS.values()]
        else:
            arguments.append(argument.replace(annotation=hints[argument.name]))

    def called(**given: Any) -> None:  # noqa: ANN401  # whatever the command takes
        found = {parameter.name: _value(parameter, given.pop(parameter.name)) for parameter in PARAMETERS.values()}
        command(**given, parameters={name: value for name, value in found.items() if value is not None})

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]  # which typer reads
    called.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    return called


def _option(parameter: Parameter) -> inspect.Parameter:
    flag, strategies = parameter.name.replace("_", "-"), " or ".join(strategies_with(parameter.name))
    words = f"{parameter.help[0].lower()}{parameter.help[1:]}"
    if parameter.kind is bool:
        shown = typer.Option(
            f"--{'no-' * parameter.default}{flag}", help=f"With {strategies}: {'do not ' * parameter.default}{words}"
        )
        return inspect.Parameter(
            parameter.name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, shown]
        )
    choices: Any = list(parameter.choices)
    kind: Any = StrEnum(parameter.name.title(), choices) if choices else parameter.kind
    shown = typer.Option(f"--{flag}", help=f"With {strategies}: {words}  [default: {parameter.default}]")
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, shown]
    )


def _value(parameter: Parameter, given: Any) -> Any:  # noqa: ANN401  # of the parameter's kind
    """Return the value that was given; None where the strategy's default holds."""
    if parameter.kind is bool:
        return (not parameter.default) if given else None
    return given if given is None else parameter.kind(given)
