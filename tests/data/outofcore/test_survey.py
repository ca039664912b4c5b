from __future__ import annotations

from pathlib import Path

from pydaub.data.outofcore.blocks import Blocks
from pydaub.data.outofcore.external import Wanted
from pydaub.data.outofcore.survey import ARRAY, SAMPLE_SHARE, _Found


def test_the_sample_takes_its_share_of_the_memory_also_with_many_columns(tmp_path: Path) -> None:
    """Arrays of a few values each take more memory than their values."""
    width, memory, path = 200, 8_000_000, tmp_path / "wide.csv"
    names = [f"c{place}" for place in range(width)]
    path.write_text("\n".join(map(",".join, [names, *([str(row % 7)] * width for row in range(1500))])))
    blocks = Blocks.of(path, 20_000)
    found = _Found(blocks, Wanted(str(path), "c0"), memory)
    most = count = 0
    for block, _ in blocks.read():
        assert [*found.take(block)] == []
        arrays = sum(column.num_chunks for table in found.sample for column in table.columns)
        most, count = max(most, sum(table.nbytes for table in found.sample) + ARRAY * arrays), count + 1
    assert count > 20
    assert most <= SAMPLE_SHARE * memory + ARRAY * width
    assert found.result().rows == 1500
