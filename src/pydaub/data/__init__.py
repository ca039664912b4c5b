"""Where do rows come from? One file, one format; and one prepared form for all of them."""

from __future__ import annotations

from pydaub.data.coercion import new_rows
from pydaub.data.columns import infer_columns, infer_task
from pydaub.data.formats.files import read
from pydaub.data.formats.source import Source
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
