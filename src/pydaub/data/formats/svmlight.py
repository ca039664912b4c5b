"""svmlight (libsvm) files: a target and the features of one row a line, all others being zero."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from sklearn.datasets import load_svmlight_file

from pydaub.data.formats.source import Source
from pydaub.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def read_svmlight(path: Path) -> Source:
    """Return the rows of a file, plain or packed by gzip or bzip2, as a CSR matrix with its target.

    Column i of the matrix is feature i of the file; where a file counts from 1, column 0 is empty.
    """
    advice = "Each line is `target feature:value feature:value ...`, with one target and features in rising order."
    try:
        # Counted from 0 whatever the file does: guessed for each file, two files could come out shifted.
        rows, target = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} must be an svmlight file, got something else: {error}. {advice}") from None
    if not rows.nnz:
        raise InputError(f"{path} must hold rows, got {rows.shape[0]} rows and no feature. {advice}")
    return Source(path.name, rows, target)
