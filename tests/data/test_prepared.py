from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.forms import FORMS, FRAME, LABELS, NUMBERS, ROWS, equal
from pydaub import InputError
from pydaub.data import Prepared, Sample, Split, prepare, prepared
from pydaub.data.rows import MatrixRows

TARGETS: dict[str, Any] = {
    "str": LABELS,
    "int": np.arange(ROWS) % 3,
    "bool": NUMBERS[:, 0] > 0,
    "float": NUMBERS[:, 1],
    "dates": pd.date_range("2020-01-01", periods=3).to_numpy()[np.arange(ROWS) % 3],
    "category": pd.Categorical(LABELS),
}


def same(one: Sample, other: Sample) -> bool:
    assert equal(one.X, other.X)
    for mine, theirs in zip((one.y, one.weights, one.groups), (other.y, other.weights, other.groups), strict=True):
        if mine is None or theirs is None:
            assert mine is theirs
        else:
            assert mine.dtype == theirs.dtype
            assert mine.tolist() == theirs.tolist()
    return True


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_mapped_data_equals_data_in_memory(form: str, target: str, tmp_path: Path) -> None:
    weights = np.arange(ROWS) if target == "int" else None
    groups = np.arange(ROWS) // 2 if target == "bool" else None
    data = prepare(FORMS[form], TARGETS[target], sample_weight=weights, groups=groups, seed=3)
    data.save(tmp_path / "deep" / "data")
    again = Prepared.open(tmp_path / "deep" / "data")
    assert again.schema == data.schema
    assert [type(label) for label in again.schema.classes] == [type(label) for label in data.schema.classes]
    assert (again.notes, again.full_size, again.valid_size) == (data.notes, data.full_size, data.valid_size)
    assert again.fingerprint == data.fingerprint
    for size in (1, 2, 17, data.full_size):
        assert same(data.train(size), again.train(size))
    assert same(data.valid(), again.valid())


@pytest.mark.parametrize("form", FORMS)
def test_samples_are_nested_and_rows_keep_their_targets(form: str) -> None:
    """The target is the number of the row."""
    rows = FORMS[form]
    data = prepare(rows, np.arange(ROWS) + 0.5, split=Split(none=True))
    everything = data.train(ROWS)
    order = (everything.y - 0.5).astype(int)
    assert sorted(order) == list(range(ROWS))
    small = data.train(20)
    assert small.y.tolist() == everything.y[:20].tolist()
    assert equal(small.X, everything.X[:20])
    back = np.argsort(order)
    unshuffled = everything.X.iloc[back] if isinstance(everything.X, pd.DataFrame) else everything.X[back]
    if form == "polars":
        assert unshuffled.equals(rows)
    elif form == "pandas":
        assert unshuffled["number"].tolist() == rows["number"].tolist()
        assert list(unshuffled["category"].astype(object).fillna("?")) == list(
            rows["category"].astype(object).fillna("?")
        )
    elif data.schema.form == "sparse":
        assert abs(unshuffled - rows).nnz == 0
    elif data.schema.form == "matrix":
        assert np.array_equal(unshuffled, rows.astype(unshuffled.dtype), equal_nan=unshuffled.dtype.kind == "f")


def test_a_frame_keeps_the_types_of_its_columns() -> None:
    made = prepare(FRAME, LABELS).train(9).X
    kept = [name for name in FRAME if name not in {"objects", "day"}]  # objects that are text or dates get those types
    assert made[kept].dtypes.tolist() == FRAME[kept].dtypes.tolist()
    assert list(made.columns) == list(FRAME.columns)
    assert str(made["day"].dtype).startswith("datetime64")


def test_data_without_validation_rows_can_be_saved(tmp_path: Path) -> None:
    for name, rows in FORMS.items():
        prepare(rows, LABELS, split=Split(none=True)).save(tmp_path / name)
        data = Prepared.open(tmp_path / name)
        assert (data.full_size, data.valid_size, len(data.valid().y)) == (ROWS, 0, 0)


def test_mapped_arrays_are_read_only_views(tmp_path: Path) -> None:
    for form in ("float32", "csr"):
        prepare(FORMS[form], LABELS).save(tmp_path / form)
        rows = Prepared.open(tmp_path / form).train(10).X
        values = rows if form == "float32" else rows.data
        assert type(values) is np.ndarray
        assert not values.flags.owndata
        assert not values.flags.writeable


def test_the_fingerprint_depends_on_data_seed_and_split() -> None:
    changed = NUMBERS.copy()
    changed[3, 2] += 1e-12
    frame = FRAME.assign(text=["a", "c", None] * 20)
    made = [
        prepare(NUMBERS, LABELS),
        prepare(changed, LABELS),
        prepare(NUMBERS.astype(np.float32), LABELS),
        prepare(NUMBERS, LABELS[::-1]),
        prepare(NUMBERS, LABELS, seed=1),
        prepare(NUMBERS, LABELS, split=Split(0.4)),
        prepare(NUMBERS, LABELS, sample_weight=np.ones(ROWS)),
        prepare(NUMBERS, LABELS, groups=np.arange(ROWS)),
        prepare(FRAME, LABELS),
        prepare(frame, LABELS),
    ]
    assert len({data.fingerprint for data in made}) == len(made)


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from data.forms import FORMS, LABELS;"
        "from pydaub.data import prepare;"
        "print(*[prepare(rows, LABELS).fingerprint for rows in FORMS.values()])"
    )
    tests = str(Path(__file__).parents[1])
    printed = subprocess.run([sys.executable, "-c", script, tests], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [prepare(rows, LABELS).fingerprint for rows in FORMS.values()]


@pytest.mark.slow("memory")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_opening_a_big_matrix_takes_little_memory(tmp_path: Path) -> None:
    big = np.zeros((200_000, 64), dtype=np.float32)  # 51 MB
    big[:, 0] = np.arange(len(big))
    prepare(big, np.arange(len(big)) % 2, split=Split(0.01), columns=False).save(tmp_path / "big")
    script = """
import sys
from pathlib import Path
from pydaub.data import Prepared
def private():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
before = private()
sample = Prepared.open(Path(sys.argv[1])).train(190_000)
total = sum(float(sample.X[start : start + 1000].sum()) for start in range(0, 190_000, 1000))
print(private() - before)
"""
    printed = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "big")], capture_output=True, text=True, check=True
    ).stdout
    assert int(printed) < 10_000  # kB; the labels are 1,520 of them


@pytest.mark.parametrize("size", [0, -1, 43, 1.5, "3", None, True])
def test_a_size_is_a_number_of_training_rows(size: Any) -> None:
    data = prepare(NUMBERS, LABELS)
    with pytest.raises(
        InputError, match=r"`size` must be (from 1 to 42, the number of training rows|a whole number), got"
    ):
        data.train(size)
    numpys: Any = np.int64(42)
    assert len(data.train(numpys).y) == 42


class Interrupted(MatrixRows):
    def write(self, stem: Path) -> None:
        super().write(stem)
        raise KeyboardInterrupt


def test_an_interrupted_save_leaves_nothing_behind(tmp_path: Path) -> None:
    data = prepare(NUMBERS, LABELS)
    rows: Any = Interrupted(NUMBERS[:18])
    data._valid = data._valid._replace(rows=rows)  # noqa: SLF001  # an interrupt between two files
    with pytest.raises(KeyboardInterrupt):
        data.save(tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    data = prepare(NUMBERS, LABELS)
    data.save(tmp_path / "data")
    with pytest.raises(InputError, match=r"`folder` must be new or empty, got .*data. Name another one"):
        data.save(tmp_path / "data")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="`folder` must be new or empty"):
        data.save(tmp_path / "file")
    with pytest.raises(InputError, match=r"The rows cannot be saved in .*: Not a directory"):
        data.save(tmp_path / "file" / "data")


def test_a_folder_without_prepared_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be a file of prepared data that can be read, got No such file"):
        Prepared.open(tmp_path / "none")
    for form in ("float64", "csr", "pandas"):
        folder = tmp_path / form
        prepare(FORMS[form], LABELS).save(folder)
        part = next(file for file in sorted(folder.iterdir()) if "train.rows" in file.name)
        part.write_bytes(part.read_bytes()[:40])
        with pytest.raises(InputError, match="must be a folder of prepared data, got"):
            Prepared.open(folder)
    about = tmp_path / "csr" / "prepared.json"
    fields = json.loads(about.read_text())
    about.write_text(json.dumps({**fields, "format": 99, "crc": None}))
    with pytest.raises(InputError, match="must be of format 1, got 99"):
        Prepared.open(tmp_path / "csr")
    about.write_text("{")
    with pytest.raises(InputError, match="must be a folder of prepared data"):
        Prepared.open(tmp_path / "csr")


def test_a_part_of_the_validation_rows_is_a_stratified_part_of_every_larger_one() -> None:
    rng = np.random.default_rng(0)
    y = np.sort(rng.choice(["a", "b", "rare"], size=3000, p=[0.7, 0.29, 0.01]))
    held = prepare(np.arange(6000.0).reshape(3000, 2), y)
    assert same(held.valid(10_000), held.valid())
    before: set[float] = set()
    for size in (3, 50, 200, 899):
        part = held.valid(size)
        rows = set(part.X[:, 0].tolist())
        assert len(rows) == len(part.y) == size
        assert rows <= set(held.valid().X[:, 0].tolist())
        assert before <= rows
        assert set(part.y) == {"a", "b", "rare"}, "no class is missing"
        assert np.mean(part.y == "a") == pytest.approx(0.7, abs=1.5 / size + 0.01) or size == 3
        before = rows


def test_a_part_has_the_weights_and_groups_of_its_rows() -> None:
    values = np.arange(300.0)
    held = prepare(values[:, None], values, sample_weight=values, groups=values.astype(int), task="regression")
    part = held.valid(20)
    assert part.X.ravel().tolist() == part.y.tolist() == np.asarray(part.weights).tolist()
    assert len(np.asarray(part.groups)) == 20


def test_which_rows_a_part_has_is_worked_out_once_for_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(300.0)
    held = prepare(values[:, None], np.where(values % 3, "often", "seldom"))
    held.save(tmp_path / "data")
    expected = held.valid(20).X.tolist()

    def opened() -> Prepared:
        found = Prepared.open(tmp_path / "data")
        found.shared = tmp_path / "shared"
        return found

    assert opened().valid(20).X.tolist() == expected, "there is no such folder"
    (tmp_path / "shared").mkdir()
    assert opened().valid(20).X.tolist() == expected
    (kept,) = (tmp_path / "shared").iterdir()
    with monkeypatch.context() as context:
        context.setattr(prepared, "shuffled", None)
        assert opened().valid(20).X.tolist() == expected, "read from the file"
    whole = kept.read_bytes()
    flipped = (whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(len(whole)))
    for damage in (b"", whole[:-8], whole + whole, *flipped):
        kept.write_bytes(damage)
        assert opened().valid(20).X.tolist() == expected
