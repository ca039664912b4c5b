"""Constants of `prospects`, written by `python -m benchmarks.calibrate`. Do not edit them by hand."""

from __future__ import annotations

from typing import Final

OVERTAKES_AFTER_ONE: Final = (0.274, 0.893, 0.401, 0.871, 0.0, 0.299)
OVERTAKES_AFTER_MORE: Final = (0.912, 0.59, 0.413, 0.547, 0.266, 0.247)
MORE_ROWS: Final = (0.769, 0.596, 1.24, 0.789, 1.28)
