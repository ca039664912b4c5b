"""Constants of `prospects`, written by `python -m benchmarks.calibrate`. Do not edit them by hand."""

from __future__ import annotations

from typing import Final

OVERTAKES_AFTER_ONE: Final = (0.649, 0.848, 0.492, 0.587, 0.0, 0.256)
OVERTAKES_AFTER_MORE: Final = (0.852, 0.614, 0.396, 0.535, 0.249, 0.242)
MORE_ROWS: Final = (0.769, 0.594, 1.24, 0.799, 1.28)
