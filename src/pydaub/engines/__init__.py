"""Where do evaluations run? Each engine is one answer; `registry.py` finds them by name."""

from __future__ import annotations

from pydaub.engines.base import Engine
from pydaub.engines.serial import SerialEngine
from pydaub.engines.table import Table, TableEngine

__all__ = ["Engine", "SerialEngine", "Table", "TableEngine"]
