"""Where do rows come from, and in what form do learners get them?

`formats` reads files, `load` and `prepare` turn files and arrays into `Prepared` data, and `outofcore` does the same
for files that are larger than memory.
"""

from __future__ import annotations

from pydaub.data.coercion import new_rows
from pydaub.data.columns import infer_columns, infer_task
from pydaub.data.formats import Source, read
from pydaub.data.loading import load
from pydaub.data.prepared import Prepared, Sample
from pydaub.data.preparing import prepare
from pydaub.data.schema import Column, Schema
from pydaub.data.split import Split

__all__ = [
    "Column",
    "Prepared",
    "Sample",
    "Schema",
    "Source",
    "Split",
    "infer_columns",
    "infer_task",
    "load",
    "new_rows",
    "prepare",
    "read",
]
