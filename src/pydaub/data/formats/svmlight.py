"""svmlight (libsvm) files: per line a target and the features of a row that are not zero."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sklearn.datasets import load_svmlight_file

from pydaub.data.formats.base import FileFormat, Source
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydaub.data.formats.stores import File

MOST_FEATURES: Final = 100_000_000  # linear learners hold a number or more for each: 800 MB
ADVICE: Final = "Each line is `target feature:value feature:value ...`, with one target and features in rising order."


def read_svmlight(path: File, _encoding: str | None, _text: Collection[str]) -> Source:
    """Return the rows of a file, plain or compressed by gzip or bzip2, as a CSR matrix with its target.

    Column i of the matrix is feature i of the file; if a file counts from 1, column 0 is empty.
    """
    if not isinstance(path, Path):
        raise InputError(f"{path} must be a local file, as svmlight files must, got an address. Copy it.")
    try:
        # If scikit-learn guessed the first index for each file, two files could be shifted against each other.
        rows, target = load_svmlight_file(str(path), zero_based=True)
    except OverflowError:
        raise InputError(f"{path} must number its features below {MOST_FEATURES:,}, got a larger number.") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} must be an svmlight file, got something else: {str(error).rstrip('.')}. {ADVICE}"
        ) from None
    if rows.shape[1] > MOST_FEATURES:
        raise InputError(f"{path} must number its features below {MOST_FEATURES:,}, got {rows.shape[1] - 1:,}.")
    if not rows.nnz:
        raise InputError(f"{path} must hold rows, got {rows.shape[0]} rows and no feature. {ADVICE}")
    return Source(path.name, rows, target)


SVMLIGHT: Final = FileFormat(
    "svmlight",
    tuple(f"{end}{packed}" for end in (".svm", ".libsvm", ".svmlight") for packed in ("", ".gz", ".bz2")),
    read_svmlight,
)
