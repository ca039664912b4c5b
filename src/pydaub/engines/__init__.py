"""Where do evaluations run? Each engine is one answer; `registry.py` finds them by name."""

from __future__ import annotations

from pydaub.engines.base import Engine
from pydaub.engines.recorded import Table
from pydaub.engines.serial import SerialEngine
from pydaub.engines.table import TableEngine

__all__ = ["Engine", "SerialEngine", "Table", "TableEngine"]
