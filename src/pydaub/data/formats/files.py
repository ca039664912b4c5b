"""Which file is read how: by the end of its name, or by `openml:`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydaub.data.formats.arff import read_arff
from pydaub.data.formats.arrow import read_feather, read_parquet
from pydaub.data.formats.csv import read_csv
from pydaub.data.formats.openml import PREFIX, read_openml
from pydaub.data.formats.svmlight import read_svmlight
from pydaub.data.formats.synthetic import SYNTHETIC, read_synthetic
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydaub.data.formats.source import Source

CSV: Final = (".csv", ".tsv", ".txt", ".data", ".csv.gz", ".tsv.gz", ".txt.gz", ".data.gz")
PARQUET: Final = (".parquet", ".pq")
FEATHER: Final = (".feather", ".arrow", ".ipc")
ARFF: Final = (".arff", ".arff.gz")
SVMLIGHT: Final = tuple(f"{end}{packed}" for end in (".svm", ".libsvm", ".svmlight") for packed in ("", ".gz", ".bz2"))


def read(source: str | Path, *, encoding: str | None = None, text: Collection[str] = ()) -> Source:
    """Return the rows of a file, or of `openml:ID`, `openml:NAME`, `parity` or `parity:ROWS`.

    `encoding` is that of a text file that is not UTF-8. Columns named in `text` are read as text where the format
    itself does not say what they are (CSV).
    """
    if isinstance(source, str) and source.startswith(PREFIX):
        return read_openml(source)
    if isinstance(source, str) and SYNTHETIC.fullmatch(source):
        return read_synthetic(source)
    if not isinstance(source, str | Path) or not str(source):
        raise InputError(f"`source` must be the path of a file, or openml:ID, got {source!r}.")
    path = Path(source)
    try:
        problem = None if path.is_file() else "a folder" if path.is_dir() else "no such file"
        return _by_extension(path, encoding, text) if problem is None else _refuse(path, problem)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        return _refuse(path, getattr(error, "strerror", None) or str(error))


def _by_extension(path: Path, encoding: str | None, text: Collection[str]) -> Source:
    name = path.name.lower()
    if name.endswith(CSV):
        return read_csv(path, encoding, text)
    if name.endswith(PARQUET):
        return read_parquet(path)
    if name.endswith(FEATHER):
        return read_feather(path)
    if name.endswith(ARFF):
        return read_arff(path, encoding)
    if name.endswith(SVMLIGHT):
        return read_svmlight(path)
    ends = ", ".join((*CSV[:4], *PARQUET, *FEATHER, ARFF[0], ".svm", ".libsvm", ".svmlight"))
    raise InputError(f"{path} must end in one of {ends} (text also in .gz), got {path.suffix!r}. Rename or convert it.")


def _refuse(path: Path, problem: str) -> Source:
    raise InputError(f"{path} must be a file that can be read, got {problem}.")
