"""The paper's parity problem."""

from __future__ import annotations

import numpy as np

from pydaub.data.formats.synthetic import EXAMPLES, FEATURES, HIDDEN, PAPER_ROWS, read_synthetic


def test_the_label_is_the_parity_of_five_bits_and_of_no_others() -> None:
    frame = read_synthetic(f"parity:{EXAMPLES}").rows
    bits, odd = frame.drop(columns="parity").to_numpy(), (frame["parity"] == "odd").to_numpy()
    assert bits.shape == (EXAMPLES, FEATURES)
    codes = bits @ (1 << np.arange(FEATURES))
    assert len(np.unique(codes)) == EXAMPLES, "all rows are distinct"
    label = np.zeros(EXAMPLES + 1, dtype=bool)
    label[codes] = odd
    hidden = [bit for bit in range(FEATURES) if np.mean(label[codes] != label[codes ^ (1 << bit)]) > 0.5]
    assert len(hidden) == HIDDEN
    assert np.array_equal(bits[:, hidden].sum(axis=1) % 2 == 1, odd)
    for bit in hidden:
        assert abs(np.mean(odd[bits[:, bit] == 1]) - 0.5) < 0.001, "no single bit tells anything"


def test_fewer_rows_are_the_first_ones() -> None:
    few, usual = read_synthetic("parity:900").rows, read_synthetic("parity").rows
    assert len(usual) == PAPER_ROWS
    assert few.drop(columns="parity").equals(usual.drop(columns="parity").head(900))
