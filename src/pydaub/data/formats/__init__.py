"""How is a file or a data set read? One module per format.

To add a format, write a module with a `FileFormat` (or a `NamedFormat`) and add it to the tuple below.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydaub.data.formats import arff, arrow, csv, openml, svmlight, synthetic
from pydaub.data.formats.base import FileFormat, NamedFormat, Source, format_of, what_is_there
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

FILE_FORMATS: Final[tuple[FileFormat, ...]] = (csv.CSV, arrow.PARQUET, arrow.ARROW, arff.ARFF, svmlight.SVMLIGHT)
NAMED_FORMATS: Final[tuple[NamedFormat, ...]] = (openml.OPENML, synthetic.PARITY)


def read(source: str | Path, *, encoding: str | None = None, text: Collection[str] = ()) -> Source:
    """Read the rows of a file or of a named data set, before anything is inferred from them.

    Parameters
    ----------
    source
        The path of a file, or one of `openml:ID`, `openml:NAME`, `parity` and `parity:ROWS`.
    encoding
        The encoding of a text file that is not UTF-8.
    text
        Columns to read as text even if all of their values look like numbers. Only CSV files need this.
    """
    if not isinstance(source, str | Path) or not str(source):
        raise InputError(f"`source` must be the path of a file, or openml:ID, got {source!r}.")
    for named in NAMED_FORMATS:
        if isinstance(source, str) and named.matches(source):
            return named.read(source)
    path = Path(source)
    try:
        if path.is_file():
            return format_of(path, FILE_FORMATS).read(path, encoding, text)
        problem = what_is_there(path)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    raise InputError(f"{path} must be a file that can be read, got {problem}.")


__all__ = ["FILE_FORMATS", "NAMED_FORMATS", "FileFormat", "NamedFormat", "Source", "read"]
