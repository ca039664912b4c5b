"""Columns that are no features: those that divide the rows, and those that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import pandas as pd

from pydaub.data.columns import check_roles
from pydaub.data.frames import is_frame, native
from pydaub.errors import InputError
from pydaub.units import names

if TYPE_CHECKING:
    from collections.abc import Sequence


class Roles(NamedTuple):
    """The names of columns that are no features, as on the command line."""

    group: str | None = None
    time: str | None = None
    drop: str | Sequence[str] | None = None

    def taken(self, X: Any) -> tuple[Any, Any, Any]:
        """Return the features, the groups and the times; raise if a column does not exist or has two roles."""
        if not (roles := self._listed()):
            return X, None, None
        role = roles[0][0]
        if not is_frame(X):
            raise InputError(f"`{role}` must name a column of a frame, got rows without names: {type(X).__name__}.")
        X = native(X, "X")
        check_roles(roles, [str(name) for name in _names(X)], "`X`")
        groups, times = (None if name is None else _column(X, str(name)) for name in (self.group, self.time))
        return self.without(X), groups, times

    def without(self, X: Any) -> Any:
        """Return rows without these columns, as far as they have them."""
        if not (roles := self._listed()) or not is_frame(X):
            return X
        X, gone = native(X, "X"), {name for _, name in roles}
        kept = [place for place, name in enumerate(_names(X)) if str(name) not in gone]
        return X.iloc[:, kept] if isinstance(X, pd.DataFrame) else nw.from_native(X)[:, kept].to_native()

    def _listed(self) -> list[tuple[str, str]]:
        dropped = names(self.drop) if isinstance(self.drop, str) else self.drop or ()
        single = {"group": self.group, "time": self.time}
        for role, name in [*single.items(), *(("drop", name) for name in dropped)]:
            if not isinstance(name, str | None):
                raise InputError(f"`{role}` must be the name of a column, got {name!r}.")
        return [(role, name) for role, name in single.items() if name] + [("drop", name) for name in dropped]


def _names(X: Any) -> Sequence[Any]:
    """Return the names of the columns of a frame, or of a table of Arrow."""
    return list(getattr(X, "column_names", X.columns))


def _column(X: Any, name: str) -> Any:
    place = [str(each) for each in _names(X)].index(name)
    return X.iloc[:, place] if isinstance(X, pd.DataFrame) else nw.from_native(X)[:, place].to_native()
