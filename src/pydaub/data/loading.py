"""Files, prepared for learners."""

from __future__ import annotations

import filecmp
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import pyarrow as pa

from pydaub.data.assembly import About, Table, assembled
from pydaub.data.coercion import laid_out, refuse_infinite, text_names
from pydaub.data.columns import (
    check_roles,
    form_of,
    group_codes,
    infer_task,
    is_number,
    times,
)
from pydaub.data.formats import as_written, files_of, read
from pydaub.data.formats.arrow import frame as frame_from
from pydaub.data.formats.stores import Stored
from pydaub.data.names import listed
from pydaub.data.origin import refuse_changed
from pydaub.data.prepared import ABOUT, Prepared
from pydaub.data.preparing import described
from pydaub.data.rows import SparseRows
from pydaub.data.schema import TEXTS
from pydaub.data.spellings import merged
from pydaub.data.split import DEFAULT_SPLIT, check_split
from pydaub.data.target import EXACT, whole_labels
from pydaub.errors import InputError
from pydaub.records import VALIDATION_FRACTION, VALIDATION_ROWS

if TYPE_CHECKING:
    from pydaub.data.formats import Source
    from pydaub.data.formats.stores import File
    from pydaub.data.schema import Column, Kind, Task
    from pydaub.data.split import Split

Roles: TypeAlias = list[tuple[str, str]]  # the role (target, group, time, drop) and name of each column that has one


def load(  # noqa: PLR0913  # the options of the command line
    source: str | Path,
    target: str | None,
    *,
    validation: str | Path | None = None,
    split: Split = DEFAULT_SPLIT,
    group: str | None = None,
    time: str | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    task: Task | None = None,
    seed: int = 0,
    encoding: str | None = None,
) -> Prepared:
    """Read a file or a named data set and return it in its final order, divided into training and validation rows.

    If all features are numeric or boolean, the form is a matrix, otherwise a frame.

    Parameters
    ----------
    source
        The path of a file, a folder of CSV, Parquet or Arrow files, a glob such as `parts/*.parquet`, an address such
        as `s3://bucket/rows.parquet`, `openml:ID`, `openml:NAME`, `parity`, or a folder of prepared data.
    target
        The column to predict. None takes the one that the source itself declares.
    validation
        A file, folder or glob with the validation rows. If None, they are split off as `split` says.
    split
        How validation rows are chosen.
    group
        A column of groups, which are never divided between training and validation. Not a feature.
    time
        A column of times; the latest rows become validation rows. Not a feature. With groups, those of the groups that
        begin last.
    drop
        Columns to leave out.
    kinds
        Kinds that override the inferred ones, by column name.
    task
        Classification or regression. If None, it is inferred from the target.
    seed
        The seed of the order and the split.
    encoding
        The encoding of a text file that is not UTF-8.

    Examples
    --------
    >>> load("parity:1000", None).full_size
    700
    """
    check_split(split)
    if isinstance(drop, str) or not isinstance(drop, Sequence):
        raise InputError(f"`drop` must be a list of column names, got {drop!r}.")
    if not isinstance(kinds, Mapping | None):
        raise InputError(f"`kinds` must be kinds by the names of columns, or None, got {kinds!r}.")
    if is_prepared(source):
        settled: dict[str, Any] = {
            "validation": validation,
            "group": group,
            "time": time,
            "drop": drop,
            "kinds": kinds,
            "task": task,
        }
        settled |= {
            "encoding": encoding,
            "cv": split.none,
            "validation_fraction": split.fraction != VALIDATION_FRACTION,
            "validation_rows": split.most not in {None, VALIDATION_ROWS},
        }
        return _opened(Path(source), target, settled)
    if validation is not None:
        _check_validation(source, validation, {"group": group, "time": time}, split)
    single = {"target": target, "group": group, "time": time}
    roles = [(role, name) for role, name in single.items() if name is not None] + [("drop", name) for name in drop]
    forced = [name for name, kind in (kinds or {}).items() if kind in TEXTS]
    first = read(source, encoding=encoding, text=forced, drop=drop)
    if isinstance(first.rows, pd.DataFrame):
        roles = _checked_roles(first, roles)
        about = _about(first.rows, roles, kinds)
        if rounded := _rounded(first.rows, about.columns, kinds or {}):
            first = read(source, encoding=encoding, text=[*forced, *rounded], drop=drop)
            about = _about(first.rows, roles, kinds)
        about = _with_classes_as_written(source, encoding, first.rows, about, task)
        table = _table(first.rows, about, str(source), group, time)
        other = None if validation is None else _validation(validation, encoding, first.rows, about)
    else:
        _refuse_names(first, roles, kinds)
        about = About()
        table = _sparse_table(first)
        other = None if validation is None else _sparse_table(read(validation), table.rows.features)
    del first  # its rows, of which the table has a copy, may be large
    pa.default_memory_pool().release_unused()  # which Arrow would keep
    return assembled(table, other, about, split=split, task=task, seed=seed)


def _check_validation(
    source: str | Path, validation: str | Path, dividing: Mapping[str, str | None], split: Split
) -> None:
    """Refuse to validate on the training rows, and options for a division of rows that is given."""
    if not isinstance(validation, str | Path) or not str(validation):
        raise InputError(f"`validation` must be the path of a file, or None, got {validation!r}.")
    given = {
        **dividing,
        "validation_fraction": split.fraction != VALIDATION_FRACTION,
        "validation_rows": split.most not in {None, VALIDATION_ROWS},
    }
    for name, value in given.items():
        if value:
            raise InputError(f"`{name}` must go without `validation`, which divides the rows already. Leave one out.")
    if str(source) == str(validation) or _share_a_file(source, validation):
        raise InputError(
            f"`validation` must be other rows than those to train on, got {validation} for both. Leave it out, and"
            " some of the rows validate."
        )


def _share_a_file(one: str | Path, other: str | Path) -> bool:
    """Return whether these have a file in common, or are a file and its copy."""
    with suppress(OSError, ValueError):  # names of data sets; files that do not exist are reported where they are read
        ones, others = ([_resolved(file) for file in files_of(source)] for source in (one, other))
        if {*ones} & {*others}:
            return True
        local = len(ones) == len(others) == 1 and not any(isinstance(file, Stored) for file in (*ones, *others))
        return local and filecmp.cmp(str(ones[0]), str(others[0]), shallow=False)
    return False


def is_read_from(path: Path, source: str | Path) -> bool:
    """Whether this is a file that a source consists of."""
    with suppress(OSError, ValueError):  # as above
        return any(not isinstance(file, Stored) and path.samefile(file) for file in files_of(source))
    return False


def _resolved(file: File) -> File:
    return file if isinstance(file, Stored) else file.resolve()


def is_prepared(source: str | Path) -> bool:
    """Whether this is a folder of prepared data, written by `pydaub prepare` or by a run."""
    with suppress(OSError):  # such as a name that is too long for a file
        return isinstance(source, str | Path) and (Path(source) / ABOUT).is_file()
    return False


def _opened(folder: Path, target: str | None, settled: Mapping[str, Any]) -> Prepared:
    refuse_changed(folder)
    data = Prepared.open(folder, checked=True)
    if target not in {None, data.schema.target}:
        raise InputError(f"`target` must be {data.schema.target!r}, for which {folder} was prepared, got {target!r}.")
    given = [name for name, value in settled.items() if value]
    if given and given[0] in {"validation", "group", "time", "cv"}:  # for which `pydaub prepare` has no options
        raise InputError(
            f"`{given[0]}` must go without prepared data, whose rows are divided already, got it for {folder}. Leave it"
            " out, or run the file itself."
        )
    if given:
        raise InputError(
            f"`{given[0]}` must be given when data is prepared, got it for {folder}, which is prepared. Leave it out."
        )
    return data


def _checked_roles(source: Source, roles: Roles) -> Roles:
    """Return the roles, with the target that the source declares if none was named; raise if one is not a column."""
    columns = list(source.rows.columns)
    if "target" not in dict(roles):
        if source.label is None:
            raise InputError(f"`target` must be named for {source.name}, got none. It has {listed(columns, 20)}.")
        roles = [("target", source.label), *roles]
    check_roles(roles, columns, source.name)
    return roles


def _about(frame: pd.DataFrame, roles: Roles, kinds: Mapping[str, Kind] | None) -> About:
    """Describe the features, with a note for each column that is not one."""
    about = described(frame.drop(columns=[name for _, name in roles]), kinds, dict(roles)["target"])
    dividing = [name for role, name in roles if role in {"group", "time"}]
    notes = [f"Column {name!r} divides the rows and is not a feature." for name in dividing]
    return about._replace(notes=(*notes, *about.notes))


def _rounded(frame: pd.DataFrame, columns: Sequence[Column], kinds: Mapping[str, Kind]) -> list[str]:
    """Return the columns that seem constant, but may be different whole numbers that no float can tell apart."""
    constant = [each.name for each in columns if each.kind == "constant" and each.name not in kinds]
    values = {name: frame[name].dropna() for name in constant}
    floats = {name: each for name, each in values.items() if len(each) and pd.api.types.is_float_dtype(each.dtype)}
    return [name for name, each in floats.items() if abs(each.iloc[0]) >= EXACT]


def _with_classes_as_written(
    source: str | Path, encoding: str | None, frame: pd.DataFrame, about: About, task: Task | None
) -> About:
    """Keep labels apart that a file writes in different ways, such as 01 and 1, or note that they count as one."""
    target = str(about.target)
    labels = whole_labels(frame[target])
    if not (is_number(labels) or pd.api.types.is_bool_dtype(labels.dtype)) or not labels.notna().any():
        return about
    if (task or infer_task(labels)) != "classification":
        return about
    texts = as_written(source, encoding, target)
    if texts is None or len(distinct := texts.unique().drop_null()) == labels.nunique():
        return about
    found = merged(distinct.to_pylist(), bools=pd.api.types.is_bool_dtype(labels.dtype))
    if found is None:
        return about
    if found.apart:
        frame[target] = frame_from(pa.table({target: texts}), str(source))[target]
    return about._replace(notes=(*about.notes, found.note))


def _table(frame: pd.DataFrame, about: About, where: str, group: str | None = None, time: str | None = None) -> Table:
    used = [column for column in about.columns if column.used]
    rows = laid_out(frame, used, form_of(about.columns), where)
    refuse_infinite(rows, used)
    return Table(
        rows,
        whole_labels(frame[about.target]),
        groups=None if group is None else group_codes(frame[group], "group"),
        time=None if time is None else times(frame[time], "time"),
    )


def _validation(path: str | Path, encoding: str | None, frame: pd.DataFrame, about: About) -> Table:
    """Read the validation file in the same way as the training file."""
    target = str(about.target)
    text = [*text_names(about.columns), *([target] if pd.api.types.is_string_dtype(frame[target].dtype) else [])]
    other = read(path, encoding=encoding, text=text).rows
    if not isinstance(other, pd.DataFrame) or target not in other.columns:
        raise InputError(f"`validation` must have the target column {target!r}, got {path} without it.")
    return _table(other, about, str(path))


def _sparse_table(source: Source, features: int | None = None) -> Table:
    if isinstance(source.rows, pd.DataFrame):
        raise InputError(f"`validation` must be sparse as the training rows are, got {source.name}.")
    if source.target is None:
        raise InputError(f"{source.name} must declare its target, got none. Sparse data has no columns to name.")
    rows = SparseRows.of(source.rows, features)
    refuse_infinite(rows)
    return Table(rows, whole_labels(pd.Series(source.target)))


def _refuse_names(source: Source, roles: Roles, kinds: Mapping[str, Kind] | None) -> None:
    given = [role for role, _ in roles] + (["kinds"] if kinds else [])
    if given:
        raise InputError(f"`{given[0]}` must not be given for {source.name}: sparse data has no columns to name.")
