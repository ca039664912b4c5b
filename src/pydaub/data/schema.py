"""What the columns of a data set are: the part of it that learners, people and new rows need to know."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind: TypeAlias = Literal["numeric", "boolean", "categorical", "date", "text", "constant", "identifier"]
KINDS: Final[tuple[Kind, ...]] = ("numeric", "boolean", "categorical", "date", "text", "constant", "identifier")
LEFT_OUT: Final[tuple[Kind, ...]] = ("constant", "identifier")  # they tell nothing about rows that are yet to come

Task: TypeAlias = Literal["classification", "regression"]
Form: TypeAlias = Literal["matrix", "sparse", "frame"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column as it was found: its kind, how many values are missing, how many differ."""

    name: str
    kind: Kind
    missing: int = 0
    distinct: int | None = None  # None where it was not counted
    as_given: bool = False  # a category that is no text; new rows keep it as it comes

    @property
    def used(self) -> bool:
        """Whether learners see it."""
        return self.kind not in LEFT_OUT


@dataclass(frozen=True, slots=True)
class Schema:
    """What rows look like to a learner.

    `form` is what X is: a numeric array (matrix), a scipy CSR array (sparse) or a data frame (frame). `columns` are
    all that were found, in order; those that are `used` are X's columns, in that order. Of a sparse matrix no
    columns are listed. `classes` are the labels of a classification in sorted order; empty for a regression.
    """

    form: Form
    task: Task
    features: int
    columns: tuple[Column, ...] = ()
    classes: tuple[Any, ...] = ()
    target: str | None = None

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns of X."""
        return tuple(column for column in self.columns if column.used)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the classes, which may be of any type, are left to whoever stores them."""
        return {**asdict(self), "columns": [asdict(column) for column in self.columns], "classes": len(self.classes)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any], classes: tuple[Any, ...]) -> Schema:
        """Return what `to_json` was made of."""
        columns = tuple(Column(**column) for column in fields["columns"])
        return cls(fields["form"], fields["task"], fields["features"], columns, classes, fields["target"])
