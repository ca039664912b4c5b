"""How is a file or a data set read? One module per format.

To add a format, write a module with a `FileFormat` (or a `NamedFormat`) and add it to the tuple below.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from pydaub.data.formats import arff, arrow, csv, openml, svmlight, synthetic
from pydaub.data.formats.base import FileFormat, NamedFormat, Source, check_encoding, format_of
from pydaub.data.formats.folders import files_of, read_files
from pydaub.data.formats.stores import located
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

FILE_FORMATS: Final[tuple[FileFormat, ...]] = (csv.CSV, arrow.PARQUET, arrow.ARROW, arff.ARFF, svmlight.SVMLIGHT)
NAMED_FORMATS: Final[tuple[NamedFormat, ...]] = (openml.OPENML, synthetic.PARITY)


def read(
    source: str | Path, *, encoding: str | None = None, text: Collection[str] = (), drop: Collection[str] = ()
) -> Source:
    """Read the rows of files or of a named data set, before anything is inferred from them.

    Parameters
    ----------
    source
        The path of a file, a folder of CSV, Parquet or Arrow files, a glob such as `parts/*.parquet`, or one of
        `openml:ID`, `openml:NAME`, `parity` and `parity:ROWS`.
    encoding
        The encoding of a text file that is not UTF-8.
    text
        Columns to read as text even if all of their values look like numbers. Only CSV files need this.
    drop
        Columns that need not be alike in all files of a folder. They are left empty then.
    """
    if not isinstance(source, str | Path) or not str(source):
        raise InputError(f"`source` must be the path of a file, or openml:ID, got {source!r}.")
    check_encoding(encoding)
    if isinstance(source, str) and is_named(source):
        return next(named for named in NAMED_FORMATS if named.matches(source)).read(source)
    try:
        paths = files_of(source)
        if len(paths) > 1 or (paths[0] != located(source) and str(paths[0]) != source):
            return read_files(source, paths, encoding, text, drop)
        return format_of(paths[0], FILE_FORMATS).read(paths[0], encoding, text)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{source} must be a file that can be read, got {problem}.") from None


def as_written(source: str | Path, encoding: str | None, column: str) -> pa.ChunkedArray | None:
    """Return a column of CSV files as text, before it is taken for numbers or bools; None of other sources."""
    if isinstance(source, str) and is_named(source):
        return None
    paths = files_of(source)
    if any(format_of(path, FILE_FORMATS) is not csv.CSV for path in paths):
        return None
    parts = [csv.column_as_written(path, encoding, column) for path in paths]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())


def is_named(source: str) -> bool:
    """Whether this is the name of a data set, not a path."""
    return any(named.matches(source) for named in NAMED_FORMATS)


__all__ = [
    "FILE_FORMATS",
    "NAMED_FORMATS",
    "FileFormat",
    "NamedFormat",
    "Source",
    "as_written",
    "files_of",
    "is_named",
    "read",
]
