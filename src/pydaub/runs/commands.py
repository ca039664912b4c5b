"""Runs with learners that are commands: what such a run can do, what its scores are, and what it hands over."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydaub.algorithm.strategies import STRATEGIES
from pydaub.data.rowfiles import RowFiles
from pydaub.errors import InputError
from pydaub.evaluation.commands import Call, trained
from pydaub.evaluation.workbench import Workbench
from pydaub.isolation.nursery import OWN
from pydaub.isolation.proc import gpus
from pydaub.learners.commands import DIRECTIONS, Command
from pydaub.records import Allocation, Scores
from pydaub.runs.saving import Program, Saved, save_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydaub.engines.registry import Where
    from pydaub.evaluation.evaluate import Task

NEGATIVE = "neg_"  # how the names of scores begin that are losses with their sign turned


def commands_of(task: Task) -> dict[str, Command]:
    """Return the learners of a task that are commands."""
    found = {name: learner.estimator for name, learner in task.learners.items()}
    return {name: estimator for name, estimator in found.items() if isinstance(estimator, Command)}


def check_task(task: Task) -> None:
    """Refuse what cannot be done with commands, before anything is trained."""
    commands = commands_of(task)
    opaque = isinstance(task.data, RowFiles)
    if opaque and (others := [name for name in task.learners if name not in commands]):
        raise InputError(f"`--rows` must go with learners that are commands, got {others[0]!r}. Give a table as DATA.")
    if not commands:
        return
    for option, wanted in (("cv", task.cv is not None), ("ensemble", task.ensemble), ("adjust", task.adjust)):
        if wanted:
            raise InputError(f"`{option}` must go without commands: it needs learners that predict.")
    directions = {command.score for command in commands.values()}
    if len(directions) > 1:
        raise InputError("`score` must be the same for all commands, got both minimize and maximize.")
    if not opaque:
        loss = isinstance(task.scoring, str) and task.scoring.startswith(NEGATIVE)
        direction = DIRECTIONS[0] if loss else DIRECTIONS[1]
        if directions != {direction}:
            raise InputError(
                f"`score` of commands must be {direction!r}, as their scores are compared with"
                f" {task.scoring or 'those'} of other learners, got {directions.pop()!r}."
            )
    lacking = [name for name in ("rows", "validation") if opaque and not _has(task.data, name)]
    for learner, command in commands.items():
        if missing := next((name for name in lacking if command.needs(name)), None):
            raise InputError(f"`--{missing}` must be given: the command of {learner!r} has {{{missing}}}.")


def _has(data: object, name: str) -> bool:
    if not isinstance(data, RowFiles) or data.kind is None:
        return False
    return name == "rows" or data.valid_size > 0


def check_place(task: Task, where: Where) -> None:
    """Refuse a place where commands cannot run."""
    commands = commands_of(task)
    if not commands:
        return
    if where.name != "processes" or where.folder is None:
        raise InputError(
            f"Commands must run with the engine processes and in a folder, got {where.name!r}. Leave `--engine` out."
        )
    there = len(gpus())
    for name, command in commands.items():
        if command.gpu > there:
            raise InputError(f"`gpu` of {name!r} must be at most the number of GPUs here, {there}, got {command.gpu}.")


def refuse_addition(task: Task, name: str) -> None:
    """Refuse to add a learner of a portfolio where only commands can read the rows."""
    if isinstance(task.data, RowFiles):
        raise InputError(f"Learners must be commands in this run, got {name!r}. Add it to the file in a new run.")


def scores_of_commands(task: Task) -> Scores | None:
    """Return what the scores are, where all learners are commands."""
    commands = commands_of(task)
    if not isinstance(task.data, RowFiles) or not commands:
        return None
    command = next(iter(commands.values()))
    floor = command.floor if task.floor is None else task.floor
    name = "score" if command.sign > 0 else f"{NEGATIVE}score"
    return Scores(name, None, None if floor is None else command.sign * floor, proportion=False)


def suited_parameters(task: Task, strategy: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a strategy; commands need not tell a training score, so it caps no bound."""
    if not commands_of(task) or strategy not in STRATEGIES or not STRATEGIES[strategy].needs_train_scores:
        return dict(parameters)
    return {"train_bound": False, **{name: value for name, value in parameters.items() if value is not None}}


def promises_of_commands(task: Task) -> dict[str, float]:
    """Return in which order commands start: those that declare a low cost first."""
    if not isinstance(task.data, RowFiles):
        return {}
    return {name: 1 / command.cost for name, command in commands_of(task).items() if command.cost is not None}


def handed_over(task: Task, allocation: Allocation, where: Where) -> Saved | None:
    """Record what a selected command has left, and a script that trains it on every row; None if it is no command."""
    command = commands_of(task).get(allocation.learner)
    if command is None or where.folder is None:
        return None
    bench = Workbench(where.folder.resolve())
    found = trained(bench.place(allocation))
    if found is None:
        return None
    folder = found.folder.with_name("every-row")
    call = Call(replace(task, data=bench.rows()), allocation, bench, where.threads, everything=True)
    values = call.values(folder)
    lines = [
        "#!/bin/sh",
        f"# Trains {' '.join(allocation.learner.split())} on all rows, validation rows included.",
        f"cd {shlex.quote(command.folder)} || exit 1",
        f"mkdir -p {shlex.quote(str(folder))}",
        *(f"export {OWN}{name.upper()}={shlex.quote(value)}" for name, value in values.items()),
        f"exec {shlex.join(command.filled(values))}",
    ]
    return save_program(where.folder, Program(str(found.model), "\n".join(lines) + "\n"))
