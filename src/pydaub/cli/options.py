"""Options that several commands share, and those of the strategies, which come from their own declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from pydaub import units
from pydaub.algorithm.schedule import PAPER_FIRST_SIZE, PAPER_RATIO
from pydaub.algorithm.strategies import DEFAULT, PARAMETERS, STRATEGIES, strategies_with
from pydaub.cli import completion
from pydaub.engines.registry import ENGINES, MEMORY_SHARE, Where
from pydaub.errors import InputError
from pydaub.isolation.nursery import Limits
from pydaub.records import (
    METRICS,
    PORTFOLIOS,
    SCORE_ROWS,
    VALIDATION_FRACTION,
    VALIDATION_ROWS,
    is_command_file,
    parsed,
)

if TYPE_CHECKING:
    from pydaub.algorithm.strategies import Parameter
    from pydaub.runs.folder import Request

StrategyName = StrEnum("StrategyName", list(STRATEGIES))  # type: ignore[misc]  # one member for each strategy
ScoreRows = StrEnum("ScoreRows", list(SCORE_ROWS))  # type: ignore[misc]  # as above
Metrics = StrEnum("Metrics", list(METRICS))  # type: ignore[misc]  # as above
# Options that need the columns of a table, or a learner that predicts.
TABLES: Final = {
    **{name: name for name in ("target", "scoring", "cv", "group", "time", "drop", "task", "encoding", "refit")},
    "kinds": "kind",
    **{name: name for name in ("ensemble", "adjust")},
}
FEW: Final = " and ".join(name for name, kind in STRATEGIES.items() if kind.score_rows == "few")
TaskName = StrEnum("TaskName", ["classification", "regression"])


def place(text: str) -> Path:
    """Return the path of an output. An empty name, as of a variable that is not set, would be the current folder."""
    if not text:
        raise typer.BadParameter("must name a file or a folder, got an empty name.")
    return Path(text)


def output(words: str) -> Any:  # noqa: ANN401  # as Typer declares it
    """Return an option for the path of an output."""
    return typer.Option(parser=place, metavar="<path>", help=words)


def figure(kind: type[int | float], *names: str, words: str) -> Any:  # noqa: ANN401  # as Typer declares it
    """Return an option for a number. Python itself would read 0_1 as 1."""

    def number(text: object) -> float:
        try:
            return parsed(kind, str(text))
        except ValueError:
            wanted = "a whole number" if kind is int else "a number"
            raise typer.BadParameter(f"must be {wanted}, got {str(text)!r}.") from None

    return typer.Option(*names, parser=number, metavar=f"<{kind.__name__}>", help=words)


def sources(words: str) -> Any:  # noqa: ANN401  # as Typer declares it
    """Return an argument for data; `one_source` refuses several, and says what to do."""
    return typer.Argument(metavar="DATA", show_default=False, help=words)


def one_source(given: list[str]) -> str:
    """Return the file, folder or glob that was named. A shell makes many of a glob that is not quoted."""
    if len(given) > 1:
        raise InputError(
            f"`DATA` must be one file, one folder, or a glob in quotes such as 'parts/*.parquet', got {len(given)}"
            f" arguments, {given[0]!r} and so on."
        )
    return given[0]


Folder = Annotated[Path, typer.Argument(help="Folder of a run.", autocompletion=completion.runs)]
AnyFolder = Annotated[
    Path, typer.Argument(help="Folder of a run: going on, ended or killed.", autocompletion=completion.runs)
]
Strategy = Annotated[StrategyName, typer.Option(help="Which strategy decides who gets data next.")]
FirstSize = Annotated[
    int | None, figure(int, words=f"Rows of the first sample.  [default: {PAPER_FIRST_SIZE}, or fewer]")
]
Ratio = Annotated[str | None, typer.Option(help=f"Growth of the samples.  [default: {PAPER_RATIO}]")]
Sizes = Annotated[
    str | None, typer.Option(help="A list of sizes instead, such as 500,1000,1500, or 'paper' for the paper's.")
]
Fraction = Annotated[float, figure(float, "--validation-fraction", words="Share of the rows to validate on.")]
ValidationRows = Annotated[int, figure(int, words="Number of rows to validate on at most.")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", help="The kind of a column, such as zip=categorical; may be repeated.")
]
Task = Annotated[TaskName | None, typer.Option(help="What the target is for.  [default: inferred from the target]")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of text files.  [default: utf-8]")]
Seed = Annotated[int, figure(int, words="Seed for the order of rows and for the learners.")]
WekaJar = Annotated[
    str | None, typer.Option(help="WEKA's jar, for the portfolio weka.  [default: PYDAUB_WEKA_JAR, or Debian's]")
]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="Open the live page.")]
Detach = Annotated[
    bool, typer.Option("--detach", help="Print one line of JSON when the run is up, and leave it in the background.")
]
RegretDelta = Annotated[
    float,
    figure(float, words="Regret is the time of learners that are at least this much worse than the best on all rows."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What to search for. The fields are named as those of `Request`, which keeps them."""

    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None
    learners: Annotated[
        str,
        typer.Option(
            help=f"Portfolios ({', '.join(PORTFOLIOS)}), names, patterns and Python files, separated by commas; -NAME"
            " leaves one out.",
            autocompletion=completion.learners,
        ),
    ] = PORTFOLIOS[0]
    strategy: Strategy = StrategyName(DEFAULT)  # noqa: RUF009  # a constant
    parameters: dict[str, Any] = field(default_factory=dict)
    first_size: FirstSize = None
    ratio: Ratio = None
    sizes: Sizes = None
    scoring: Annotated[str | None, typer.Option(help="A scorer of scikit-learn.  [default: accuracy, or r2]")] = None
    floor: Annotated[
        float | None, figure(float, words="Best loss that can be reached, of a score that is a negative loss.")
    ] = None
    cv: Annotated[int | None, figure(int, words="Score by cross-validation with this many folds.")] = None
    validation: Annotated[str | None, typer.Option(help="A file with validation rows.")] = None
    fraction: Fraction = VALIDATION_FRACTION
    validation_rows: ValidationRows = VALIDATION_ROWS
    group: Annotated[str | None, typer.Option(help="A column whose equal values stay in the same part.")] = None
    time: Annotated[
        str | None,
        typer.Option(help="A column to split by: the latest rows validate; with --group, the groups that begin last."),
    ] = None
    drop: Drop = None
    kinds: Kinds = None
    task: Task = None
    encoding: Encoding = None
    seed: Seed = 0
    refit: Annotated[
        bool, typer.Option("--refit", help="Train the selected learner once more, validation rows included.")
    ] = False
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="Combine learners that have all rows, if that is better than the best.")
    ] = False
    adjust: Annotated[
        bool,
        typer.Option("--adjust", help="Adjust threshold or probabilities of the selected classifier to the score."),
    ] = False
    no_reuse: Annotated[bool, typer.Option("--no-reuse", help="Train on every sample from scratch.")] = False
    score_rows: Annotated[
        ScoreRows | None,
        typer.Option(
            help="Validation rows for learners that do not have all training rows yet.  [default: few with"
            f" {FEW}, all with others]"
        ),
    ] = None
    metrics: Annotated[Metrics, typer.Option(help="Who gets more metrics than the score.")] = Metrics(METRICS[0])  # noqa: RUF009
    weka_jar: WekaJar = None
    rows: Annotated[
        str | None,
        typer.Option(
            help="With a TOML file of commands as DATA: the rows to train on, as JSON lines, CSV, Parquet or a folder"
            " of files."
        ),
    ] = None
    full_size: Annotated[
        int | None, figure(int, words="With commands that find their own rows: how many rows there are.")
    ] = None

    def request(self, data: str) -> Request:
        """Return the request for this data, as plain values."""
        from pydaub.runs.folder import Request

        asked = {
            **vars(self),
            "data": data,
            "strategy": str(self.strategy),
            "drop": units.names(self.drop),
            "kinds": units.pairs(self.kinds or []),
            "task": None if self.task is None else str(self.task),
            "reuse": not self.no_reuse,
            "score_rows": None if self.score_rows is None else str(self.score_rows),
            "metrics": str(self.metrics),
        }
        del asked["no_reuse"]
        return _of_commands(Request(**asked)) if is_command_file(data) else _of_table(Request(**asked))


def _of_table(request: Request) -> Request:
    for option in ("rows", "full_size"):
        if getattr(request, option) is not None:
            flag = option.replace("_", "-")
            raise InputError(f"`--{flag}` must go with a TOML file of commands as DATA, got {request.data}.")
    return request


def _of_commands(request: Request) -> Request:
    """Return a request whose learners are those of the file of commands that is DATA."""
    for option, flag in TABLES.items():
        if getattr(request, option) not in (None, (), {}, False):
            raise InputError(f"`--{flag}` must go with a table as DATA, got {request.data}, a file of commands.")
    if request.learners != PORTFOLIOS[0]:
        raise InputError(f"`--learners` must be left out with a file of commands as DATA, got {request.learners!r}.")
    return replace(request, learners=request.data)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to run: these may differ when a run is resumed."""

    jobs: Annotated[int | None, figure(int, words="Number of workers.  [default: one for each core]")] = None
    time_limit: Annotated[
        str | None,
        typer.Option(
            help="Stop after this time with the best learner so far, reading and saving included: 90, 90s, 10m, 2h."
        ),
    ] = None
    learner_timeout: Annotated[
        str | None, typer.Option(help="Time limit for one training of one learner: 90, 90s, 10m.")
    ] = None
    learner_memory: Annotated[
        str | None,
        typer.Option(help=f"Memory limit for one learner: 500MB, 2GB.  [default: its share of {MEMORY_SHARE:.0%}]"),
    ] = None
    engine: Annotated[str, typer.Option(help=f"Engine that runs the evaluations: {', '.join(ENGINES)}.")] = "processes"
    address: Annotated[
        str | None,
        typer.Option(help="Address of the Ray cluster, such as host:6379; local starts one.  [default: the one here]"),
    ] = None
    dashboard: Dashboard = False
    as_json: Json = False
    quiet: Quiet = False

    def __post_init__(self) -> None:
        _ = self.seconds  # refuses nonsense before anything is done

    @property
    def seconds(self) -> float | None:
        """The time limit."""
        return units.seconds(self.time_limit, "--time-limit")

    def where(self, folder: Path) -> Where:
        """Return where evaluations run, with a memory limit for each even if the user sets none."""
        if self.jobs is not None:
            check_jobs(self.jobs)
        timeout = units.seconds(self.learner_timeout, "--learner-timeout")
        limits = Limits(timeout, units.memory(self.learner_memory, "--learner-memory"))
        return Where(self.jobs, limits, folder, self.engine, self.address).with_default_memory()

    @property
    def place(self) -> str:
        """Where it runs, in words."""
        return self.where(Path()).description


def check_jobs(jobs: int) -> None:
    """Refuse a number of workers less than 1."""
    if jobs < 1:
        raise InputError(f"`--jobs` must be at least 1, got {jobs}.")


def grouped(without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of the dataclasses that it takes, except those in `without`.

    An argument or field `parameters` stands for the parameters of all strategies, and receives those that were given.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        arguments = [each for each in _arguments(command) if each.name not in without]

        def called(**given: Any) -> None:  # noqa: ANN401  # whatever the command takes
            _call(command, given)

        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]  # which typer reads
        called.__annotations__ = {argument.name: argument.annotation for argument in arguments}
        return called

    return decorate


def _arguments(command: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the arguments of a command or dataclass, with those of the dataclasses among them."""
    found: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for argument in inspect.signature(command).parameters.values():
        if argument.name == "parameters":
            found += map(_option, PARAMETERS.values())
        elif is_dataclass(hints[argument.name]):
            found += _arguments(hints[argument.name])
        else:
            found.append(argument.replace(annotation=hints[argument.name]))
    return found


def _call(command: Callable[..., Any], given: Mapping[str, Any]) -> Any:  # noqa: ANN401  # what the command returns
    """Call a command or dataclass with those of the given values that are its own."""
    hints, values = get_type_hints(command), dict[str, Any]()
    for name in inspect.signature(command).parameters:
        if name == "parameters":
            found = {each.name: _value(each, given[each.name]) for each in PARAMETERS.values()}
            values[name] = {name: value for name, value in found.items() if value is not None}
        elif is_dataclass(hints[name]):
            values[name] = _call(hints[name], given)
        elif name in given:
            values[name] = given[name]
    return command(**values)


def _option(parameter: Parameter) -> inspect.Parameter:
    flag, strategies = parameter.name.replace("_", "-"), " or ".join(strategies_with(parameter.name))
    words = f"{parameter.help[0].lower()}{parameter.help[1:]}"
    if parameter.kind is bool:
        flag, words = f"{'no-' * parameter.default}{flag}", f"{'do not ' * parameter.default}{words}"
    else:
        words = f"{words}  [default: {parameter.default}]"
    closed: Any = [] if parameter.group else list(parameter.choices)  # others know no more than these
    kind: Any = StrEnum(parameter.name.title(), closed) if closed else parameter.kind
    words = f"With {strategies}: {words}"
    if kind in (int, float):
        option = figure(kind, f"--{flag}", words=words)
    else:
        option = typer.Option(
            f"--{flag}", help=words, autocompletion=completion.choices(parameter) if parameter.group else None
        )
    shown = Annotated[kind | None, option]
    return inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=shown)


def _value(parameter: Parameter, given: Any) -> Any:  # noqa: ANN401  # of the parameter's kind
    """Return the value that was given; None where the strategy's default holds."""
    if parameter.kind is bool:
        return (not parameter.default) if given else None
    if given is None:
        return None
    parameter.check(given)
    return parameter.kind(given)
