"""Learners that are commands: a program in any language, which trains on rows in a file and answers with a score."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIRECTIONS: Final = ("minimize", "maximize")
# What a call is given, in its command as {size} and in its environment as PYDAUB_SIZE.
PLACES: Final = {
    "learner": "the name of the learner",
    "size": "the number of rows to train on",
    "full_size": "the number of all training rows",
    "seed": "a seed, the same whenever this training is repeated",
    "rows": "the file with exactly the rows to train on",
    "validation": "the file with the validation rows",
    "folder": "the folder of this learner and size, which stays",
    "from": "the folder of the largest smaller size that was measured; empty at the first size",
    "threads": "the number of threads that it may use",
    "deadline": "when it will be ended, in seconds since 1970; empty without a limit",
    "result": "the file for its answer",
}
PLACE: Final = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}|(?<![{$])\{([a-z][a-z0-9_]*)\}")
SHELL: Final = ("|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "&>")  # words that only a shell understands


@dataclass(frozen=True)
class Command:
    """A learner that is a command. Each training is one call of it, in a process of its own.

    Parameters
    ----------
    command
        The program and its arguments, as text that is divided as a shell would divide it, or as a list. `{size}`,
        `{rows}` and the other names in `PLACES` stand for what a call is given; `{{rows}}` is `{rows}` itself. No shell
        is used unless the command names one.
    score
        Whether the score that it answers with is to be "minimize"d, as a loss, or "maximize"d.
    floor
        The best score that can be reached, if that is known.
    cost
        What a row costs compared with other learners, until that is measured.
    gpu
        How many GPUs it needs; others may not use them meanwhile.
    memory
        How many bytes it may use.
    folder
        The folder in which it is started.

    Examples
    --------
    >>> Command("awk -f mean.awk {rows}", score="minimize").filled({"rows": "RUN/a b.csv"})
    ['awk', '-f', 'mean.awk', 'RUN/a b.csv']
    """

    command: str | tuple[str, ...]
    score: str = DIRECTIONS[1]
    floor: float | None = None
    cost: float | None = None
    gpu: int = 0
    memory: int | None = None
    folder: str = "."

    def __post_init__(self) -> None:
        if self.score not in DIRECTIONS:
            raise InputError(f'`score` must be "minimize" or "maximize", got {self.score!r}.')
        for name in ("floor", "cost"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise InputError(f"`{name}` must be a number, got {value!r}.")
        if self.cost is not None and not 0 < self.cost < float("inf"):
            raise InputError(f"`cost` must be more than 0, got {self.cost!r}.")
        check_gpu(self.gpu)
        if not isinstance(self.command, str):
            object.__setattr__(self, "command", tuple(self.command))
        _check_words(self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The program and its arguments, with their placeholders."""
        return divided(self.command)

    @property
    def uses_gpu(self) -> bool:
        """Whether it needs a GPU."""
        return self.gpu > 0

    @property
    def sign(self) -> float:
        """What its score is multiplied with, so that higher is better."""
        return -1.0 if self.score == DIRECTIONS[0] else 1.0

    def needs(self, name: str) -> bool:
        """Whether the command names a placeholder."""
        return any(name in placeholders(word) for word in self.words)

    def filled(self, values: Mapping[str, object]) -> list[str]:
        """Return the program and its arguments for one call."""
        return [substituted(word, values) for word in self.words]

    def obstacle(self) -> str:
        """Return why it cannot be started here; empty if it probably can."""
        program, folder = self.words[0], Path(self.folder)
        if placeholders(program):
            return ""
        if "/" in program:
            file = folder / program
            if not file.is_file():
                return f"there is no file {file}"
            return "" if shutil.which(str(file)) else f"{file} may not be executed. `chmod +x {file}` permits it"
        return "" if shutil.which(program) else f"no program {program!r} is installed"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  # of scikit-learn
        """Return what defines it; the folder may move."""
        return {name: value for name, value in asdict(self).items() if name != "folder"}

    def set_params(self, **params: Any) -> Command:  # noqa: ANN401  # as in scikit-learn
        """Return a command with other parameters."""
        return replace(self, **params)

    def fit(self, *_: Any, **__: Any) -> None:  # noqa: ANN401  # as above
        """Raise an error: a command is called in a process of its own."""
        raise TypeError("a command is trained by calling it, with the engine processes")

    predict = fit

    def __sklearn_tags__(self) -> None:
        raise InputError(
            "DaubSearch must get estimators, got a command. `pydaub run` runs commands, beside others too."
        )


def _check_words(words: Sequence[str]) -> None:
    if not words or not words[0].strip():
        raise InputError(f"`command` must name a program, got {' '.join(words)!r}.")
    if shells := [word for word in words if word in SHELL]:
        raise InputError(
            f"`command` is not given to a shell, so {shells[0]!r} would only be an argument. If you mean a shell,"
            f" write `sh -c '...'`, got {' '.join(words)!r}."
        )
    for word in words:
        for name in placeholders(word):
            if name not in PLACES:
                near = get_close_matches(name, PLACES, n=1)
                advice = f"Did you mean {{{near[0]}}}?" if near else "Write {{" + name + "}} for braces."
                raise InputError(
                    f"`command` must use only {', '.join(PLACES)} and the learner's own values in braces, got"
                    f" {{{name}}}. {advice}"
                )


def divided(command: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command, as a shell would divide it."""
    if not isinstance(command, str):
        return tuple(command)
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(f"`command` must have its quotes closed, got {command!r}: {error}.") from None


def check_gpu(count: object) -> None:
    """Refuse what is no number of whole GPUs."""
    if isinstance(count, float) and count != int(count):
        raise InputError(
            f"`gpu` must be a whole number, got {count}. A GPU is given to one training at a time: two that share one"
            " could exceed its memory, and the measured times would depend on the other."
        )
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InputError(f"`gpu` must be a whole number from 0, got {count!r}.")


def placeholders(text: str) -> list[str]:
    """Return the names in braces.

    >>> placeholders("--n={size} awk '{print $1}' ${home} {{size}}")
    ['size']
    """
    return [match[2] for match in PLACE.finditer(text) if match[2]]


def substituted(text: str, values: Mapping[str, object], *, some: bool = False) -> str:
    """Return the text with values for the names in braces; with `some`, names without a value stay as they are.

    >>> substituted("{a}-{{b}}", {"a": 1})
    '1-{b}'
    """

    def value(match: re.Match[str]) -> str:
        if some and match[2] not in values:
            return match[0]
        return f"{{{match[1]}}}" if match[1] else str(values[match[2]])

    return PLACE.sub(value, text)
