"""The paper's parity problem, generated."""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pandas as pd

from pydaub.data.formats.base import NamedFormat, Source
from pydaub.errors import InputError

FEATURES: Final = 16
HIDDEN: Final = 5
EXAMPLES: Final = 65_535  # distinct rows
PAPER_ROWS: Final = 43_000  # 21,500 for training and as many for validation
SEED: Final = 2016
SYNTHETIC: Final = re.compile(r"parity(?::(\d+))?")


def read_synthetic(name: str) -> Source:
    """Return the data of `parity` or `parity:ROWS`: the parity of 5 of 16 binary features; the other 11 are noise.

    All rows are distinct: they are drawn from 65,535 of the 65,536 possible ones. The target is the column `parity`.
    """
    match = SYNTHETIC.fullmatch(name)
    rows = int(match[1]) if match and match[1] else PAPER_ROWS
    if not 1 <= rows <= EXAMPLES:
        raise InputError(f"`parity` must have between 1 and {EXAMPLES} rows, got {rows}.")
    generator = np.random.default_rng(SEED)
    examples = generator.permutation(EXAMPLES)[:rows]
    bits = ((examples[:, None] >> np.arange(FEATURES)) & 1).astype(np.int8)
    hidden = generator.choice(FEATURES, size=HIDDEN, replace=False)
    frame = pd.DataFrame(bits, columns=[f"bit{number}" for number in range(FEATURES)])
    frame["parity"] = np.where(bits[:, hidden].sum(axis=1) % 2, "odd", "even")
    return Source("parity", frame, label="parity")


PARITY: Final = NamedFormat("parity", lambda source: bool(SYNTHETIC.fullmatch(source)), read_synthetic)
