"""What a data set looks like: the description that learners, people and new rows need."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"

Kind: TypeAlias = Literal["numeric", "boolean", "categorical", "date", "text", "constant", "identifier"]
KINDS: Final[tuple[Kind, ...]] = ("numeric", "boolean", "categorical", "date", "text", "constant", "identifier")
LEFT_OUT: Final[tuple[Kind, ...]] = ("constant", "identifier")  # they carry no information about new rows
NUMBERS: Final[tuple[Kind, ...]] = ("numeric", "boolean")  # kinds that fit into a matrix
TEXTS: Final[tuple[Kind, ...]] = ("categorical", "text")

Task: TypeAlias = Literal["classification", "regression"]
Form: TypeAlias = Literal["matrix", "sparse", "frame"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the data: its kind, and how many of its values are missing and distinct."""

    name: str
    kind: Kind
    missing: int = 0
    distinct: int | None = None  # None if not counted
    as_given: bool = False  # a category that is not text: values of new rows are not converted

    @property
    def used(self) -> bool:
        """Whether learners see this column."""
        return self.kind not in LEFT_OUT


@dataclass(frozen=True, slots=True)
class Schema:
    """What rows look like to a learner.

    Attributes
    ----------
    form
        The type of X: a numeric array (`matrix`), a scipy CSR matrix (`sparse`) or a data frame (`frame`).
    task
        Classification or regression.
    features
        The number of columns of X.
    columns
        All columns of the data, in order; those that are `used` are the columns of X. Empty for sparse data.
    classes
        The sorted labels of a classification; empty for a regression.
    target
        The name of the target column, if it has one.
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
        """Return plain JSON values. Classes may be of any type, so only their number is included."""
        return {**asdict(self), "columns": [asdict(column) for column in self.columns], "classes": len(self.classes)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any], classes: tuple[Any, ...]) -> Schema:
        """Return the schema that `to_json` described, with these classes."""
        columns = tuple(Column(**column) for column in fields["columns"])
        schema = cls(fields["form"], fields["task"], fields["features"], columns, classes, fields["target"])
        schema._check()
        if not isinstance(fields["columns"], list):
            raise TypeError("its columns must be a list")
        return schema

    def _check(self) -> None:
        """Raise ValueError or TypeError where a file holds something else than `to_json` writes."""
        for value, known in ((self.form, get_args(Form)), (self.task, get_args(Task))):
            if value not in known:
                raise ValueError(f"{value!r} must be one of {', '.join(known)}")
        for column in self.columns:
            counts = (column.missing, 0 if column.distinct is None else column.distinct)
            if not isinstance(column.name, str) or column.kind not in KINDS or not all(map(_is_count, counts)):
                raise ValueError(f"{column} is not a column")
        named = self.target is None or isinstance(self.target, str)
        if not named or not _is_count(self.features) or (self.columns and len(self.used) != self.features):
            raise ValueError(
                f"target {self.target!r} and {self.features!r} features do not fit {len(self.columns)} columns"
            )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
