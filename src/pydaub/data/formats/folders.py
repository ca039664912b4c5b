"""Several files as one table: those of a folder, or those that match a glob."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pydaub.data.columns import check_roles
from pydaub.data.formats.arrow import ARROW, PARQUET, frame, named_columns, plain
from pydaub.data.formats.base import Source, format_of, what_is_there
from pydaub.data.formats.csv import CSV
from pydaub.data.formats.stores import File, found_at, located
from pydaub.data.names import listed
from pydaub.errors import InputError, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

TABLES: Final = (CSV, PARQUET, ARROW)  # the formats of which several files make one table
MAGIC: Final = frozenset("*?[")


def files_of(source: str | Path) -> list[File]:
    """Return a file, the files of a folder, or those that match a glob, in the order of their names.

    Names that begin with a dot or an underscore are ignored. Several files must be of one format.
    """
    path = located(source)
    if isinstance(path, str):
        return _in_store(path)
    try:
        if path.is_file():
            return [path]
        found: list[File] = [*(_in_folder(path) if path.is_dir() else _matching(path))]
    except InputError:
        raise
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} must be a file that can be read, got {problem}.") from None
    return _alike(path, found)


def _alike(source: str | Path, found: list[File]) -> list[File]:
    if len({format_of(each, TABLES) for each in found}) != 1:
        what = listed(each.name for each in found) or "none"
        raise InputError(f"{source} must hold files of one format, CSV, Parquet or Arrow, got {what}.")
    return found


def _in_store(address: str) -> list[File]:
    """Do the same for an address."""
    files, folders = found_at(address)
    if len(files) == 1 and str(files[0]) == address:
        return [*files]
    for name in folders:
        if not name.startswith((".", "_")):
            raise InputError(f"{address} must hold files only, got the folder {name!r}. Name the files by a pattern.")
    found: list[File] = [each for each in files if not each.name.startswith((".", "_"))]
    if not found:
        raise InputError(f"{address} must match at least one file, got none.")
    for part in {part for each in files for part in each.place.split("/")[:-1]} - {*address.split("/")}:
        _refuse_partition(address, part)
    return _alike(address, found)


def is_glob(source: str | Path) -> bool:
    """Whether a path is a pattern of names."""
    return not MAGIC.isdisjoint(str(source))


def read_files(
    source: str | Path, paths: Sequence[File], encoding: str | None, text: Collection[str], drop: Collection[str]
) -> Source:
    """Return the rows of several files, one after the other. Columns to `drop` may differ, and are left empty."""
    return Source(Path(source).name, frame(_joined(paths, encoding, text, drop), str(source)))


def _joined(paths: Sequence[File], encoding: str | None, text: Collection[str], drop: Collection[str]) -> pa.Table:
    kind = format_of(paths[0], TABLES)
    types = dict.fromkeys(text, pa.string())
    tables = [kind.table(path, encoding, types) for path in paths]  # type: ignore[misc]  # tables have one
    if kind is CSV and (unlike := _unlike(paths, tables)):
        tables = [kind.table(path, encoding, {**unlike, **types}) for path in paths]  # type: ignore[misc]
    tables = [
        table.select(list(raw.values())).rename_columns(list(raw))
        for path, table in zip(paths, tables, strict=True)
        if (raw := named_columns(table.schema, str(path)))
    ]
    common = common_types(list(zip(paths, map(_types, tables), strict=True)), drop)
    parts = [cast(table.select(list(common)), common, path) for path, table in zip(paths, tables, strict=True)]
    whole = pa.concat_tables(parts)
    for name in drop:
        whole = whole.append_column(name, pa.nulls(whole.num_rows))
    return whole


def common_types(
    tables: Sequence[tuple[File, Mapping[str, pa.DataType]]], drop: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the columns, in the order of the first file, each with a type that fits its values in all files."""
    first, names = tables[0]
    check_roles(
        [("drop", name) for name in drop], list({name: None for _, types in tables for name in types}), first.name
    )
    wanted = [name for name in names if name not in drop]
    known = {*wanted, *drop}
    found: dict[str, pa.DataType] = {}
    for path, types in tables:
        absent, others = [n for n in wanted if n not in types], [n for n in types if n not in known]
        if absent or others:
            what = f"none named {listed(absent)}" if absent else f"others: {listed(others)}"
            raise InputError(
                f"{path} must have the columns of {first.name}, got {what}."
                " Add the missing columns, or leave them out with `drop`."
            )
        for name in wanted:
            kind = _plain(types[name], name, path)
            both = _both(found.get(name, pa.null()), kind)
            if both is None:
                raise InputError(
                    f"Column {name!r} of {path} must have a type compatible with {found[name]}, its type in the files"
                    f" before, got {types[name]}. Convert it, or leave it out with `drop`."
                )
            found[name] = both
    return {name: pa.float64() if pa.types.is_null(kind) else kind for name, kind in found.items()}


def cast(table: pa.Table, types: Mapping[str, pa.DataType], path: File) -> pa.Table:
    """Convert the columns to the types that all files have in common."""
    if all(kind == types[name] for name, kind in zip(table.column_names, table.schema.types, strict=True)):
        return table
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            if column.type != types[name]:  # which is one of the types that `plain` returns
                column = column if pa.types.is_null(column.type) else plain(column, name, str(path))  # noqa: PLW2901
                column = column.cast(types[name])  # noqa: PLW2901
            columns[name] = column
        except pa.ArrowException as error:
            raise InputError(
                f"Column {name!r} of {path} must hold values that fit {types[name]}, its type in all files, got"
                f" {one_line(error).rstrip('.')}."
            ) from None
    return pa.table(columns)


def _in_folder(path: Path) -> list[Path]:
    shown = sorted(each for each in path.iterdir() if not each.name.startswith((".", "_")))
    for each in shown:
        if each.is_dir():
            _refuse_partition(path, each.name)
            raise InputError(
                f"{path} must hold files only, got the folder {each.name!r}. Name the files by a glob, such as"
                f" '{path}/**/*.parquet'."
            )
    return shown


def _matching(path: Path) -> list[Path]:
    if path.exists() or not is_glob(path):
        raise InputError(f"{path} must be a file that can be read, got {what_is_there(path)}.")
    found = sorted(Path(each) for each in glob(str(path), recursive=True))  # noqa: PTH207  # it may be absolute
    found = [each for each in found if each.is_file() and not each.name.startswith((".", "_"))]
    if not found:
        raise InputError(f"{path} must match at least one file, got none.")
    fixed = next(place for place, part in enumerate(path.parts) if is_glob(part))
    for each in found:
        for part in each.parts[fixed:-1]:
            _refuse_partition(path, part)
    return found


def _refuse_partition(path: str | Path, name: str) -> None:
    if "=" in name:
        raise InputError(
            f"{path} must hold all columns in its files, got the partition {name!r}, a column in the name of a folder."
            " Write the data without partitions, or name one of these folders."
        )


def _types(table: pa.Table) -> dict[str, pa.DataType]:
    return dict(zip(table.column_names, table.schema.types, strict=True))


def _unlike(paths: Sequence[File], tables: Iterable[pa.Table]) -> dict[str, pa.DataType]:
    """Return the columns of CSV files whose inferred types differ, with the type that the values of all files fit."""
    found: dict[str, set[pa.DataType]] = defaultdict(set)
    for path, table in zip(paths, tables, strict=True):
        for name, kind in _types(table).items():
            if not pa.types.is_null(kind):
                found[name].add(_plain(kind, name, path))
    return {
        name: reduce(lambda one, other: _both(one, other) or pa.string(), kinds)
        for name, kinds in found.items()
        if len(kinds) > 1
    }


def _plain(kind: pa.DataType, name: str, path: File) -> pa.DataType:
    """Return the type to which `plain` converts this one; categories become text."""
    if pa.types.is_null(kind):
        return kind
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        made = plain(pa.chunked_array([], type=inner), name, str(path)).type
    except InputError:
        raise InputError(
            f"Column {name!r} of {path} must hold numbers, text or dates, got {kind}. Leave it out with `drop`."
        ) from None
    return pa.large_string() if inner != kind else made


def _both(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return a type that fits the values of both types, or None if there is none."""
    schemas = [pa.schema([("column", kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").types[0]
    except pa.ArrowTypeError:
        return None
