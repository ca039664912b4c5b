"""Data larger than memory: prepared exactly, in bounded memory, and resumed after a kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather

from cli.commands import call, refused
from pydaub import FolderTrouble, InputError
from pydaub.data import load
from pydaub.data.outofcore.external import LEAST_MEMORY, Wanted, prepare_out_of_core
from pydaub.data.prepared import Prepared

LEAST = LEAST_MEMORY
MB = 1 << 20


def table(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Return rows that each have a unique number, with a rare class."""
    rng = np.random.default_rng(seed)
    own = rng.permutation(rows) * 7.5
    label = np.where(rng.random(rows) < 0.02, "rare", np.where(own % 2 > 0.9, "yes", "no"))
    return pd.DataFrame({"own": own, "noise": rng.normal(size=rows), "label": label})


def prepared(path: Path, out: Path, target: str = "label", memory: int = LEAST, **wanted: Any) -> Prepared:
    return prepare_out_of_core(Wanted(str(path), target, **wanted), out, memory)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def small_blocks(monkeypatch: pytest.MonkeyPatch, block: float = 3e-5, bucket: float = 2e-4) -> None:
    """Divide a small file into many blocks, buckets and checkpoints."""
    monkeypatch.setattr("pydaub.data.outofcore.external.BLOCK_SHARE", block)
    monkeypatch.setattr("pydaub.data.outofcore.plan.BUCKET_SHARE", bucket)
    monkeypatch.setattr("pydaub.data.outofcore.scatter.CHECKPOINT", 3)


RARE: dict[str, tuple[list[Any], Any]] = {  # columns whose last value alone says their kind
    "numbers": ([0, 1], 2),
    "decimals": ([0.0, 1.0], 0.5),
    "pair": (["yes", "no"], "maybe"),
    "same": ([7, 7], 8),
    "word": (["a", "a"], "b"),
    "flag": ([0, 0], 1),
    "answer": (["yes", "yes"], "NO"),
    "missing": ([1, 1], None),
    "boolean": ([True, False], True),
    "constant": ([3, 3], 3),
    "many": (["Yes", "yes"], " no "),
    "day": (["2020-01-01", "2020-01-01"], "2020-01-02"),
}


@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_a_value_that_a_sample_lacks_counts(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column has the same kind as in memory, however rare the value is that decides."""
    monkeypatch.setattr("pydaub.data.outofcore.survey.SAMPLE", 100)
    rows = 3000
    data = pd.DataFrame({name: [*usual * (rows // 2 - 1), usual[0], rare] for name, (usual, rare) in RARE.items()})
    data["label"] = ["u", "v"] * (rows // 2)
    path = tmp_path / f"rows.{end}"
    data.to_parquet(path) if end == "parquet" else data.to_csv(path, index=False)
    small_blocks(monkeypatch)
    made, whole = prepared(path, tmp_path / "out"), load(path, "label")
    assert {each.name: each.kind for each in made.schema.columns} == {
        each.name: each.kind for each in whole.schema.columns
    }
    assert made.full_size == whole.full_size


@pytest.mark.parametrize("end", ["parquet", "csv", "feather", "folder"])
def test_every_row_occurs_once_and_every_prefix_is_stratified(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    frame, path = table(), tmp_path / f"data.{end}"
    if end == "folder":
        path.mkdir()
        for number, start in enumerate(range(0, len(frame), 1000)):
            frame[start : start + 1000].to_parquet(path / f"part-{number}.parquet")
    else:
        {"parquet": frame.to_parquet, "csv": lambda p: frame.to_csv(p, index=False), "feather": frame.to_feather}[end](
            path
        )
    data = prepared(path, tmp_path / "out", seed=3)
    assert not (tmp_path / "out.work").exists()
    train, valid = data.train(data.full_size), data.valid()
    found = pd.DataFrame(
        {"own": np.concatenate([train.X[:, 0], valid.X[:, 0]]), "label": np.concatenate([train.y, valid.y])}
    )
    expected = frame[["own", "label"]].sort_values("own", ignore_index=True)
    assert found.sort_values("own", ignore_index=True).astype(object).equals(expected.astype(object))
    assert abs(data.valid_size - 900) <= 2
    classes, counts = np.unique(train.y, return_counts=True)
    assert data.schema.classes == tuple(classes)
    for size in (3, 10, 50, 333, 1500, data.full_size):
        for label, count in zip(classes, counts, strict=True):
            here = (train.y[:size] == label).sum()
            assert here >= 1, "no sample lacks a class"
            assert abs(here - count * size / data.full_size) <= 2
    for label in classes:
        share = (valid.y == label).sum() / (frame.label == label).sum()
        assert abs(share - 0.3) < 0.02


def test_the_order_depends_on_the_seed_and_not_on_the_file(tmp_path: Path) -> None:
    rows = 20_000
    frame = pd.DataFrame({"own": np.arange(rows) + 0.5, "label": np.arange(rows) % 2})
    frame.to_parquet(tmp_path / "data.parquet")
    one, same, other = (
        prepared(tmp_path / "data.parquet", tmp_path / name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert one.fingerprint == same.fingerprint != other.fingerprint
    places = one.train(one.full_size).X[:, 0]
    assert abs(np.corrcoef(places, np.arange(len(places)))[0, 1]) < 5 / np.sqrt(len(places))
    halves = np.histogram(places[: len(places) // 10], bins=20, range=(0, rows))[0]
    expected = len(places) / 200
    assert ((halves - expected) ** 2 / expected).sum() < 19 + 5 * np.sqrt(2 * 19)


def test_it_finds_the_same_schema_and_rows_as_load(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 2000
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=rows),
            "flag": rng.integers(0, 2, rows),
            "town": np.array(["rome", "oslo", None], dtype=object)[rng.integers(0, 3, rows)],
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), "D"),
            "row": np.arange(rows),
            "same": 1,
            "gaps": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            "late": ["1"] * (rows - 1) + ["n/k"],  # numbers except for the last row
            "y": rng.choice([0, 1], rows),
        }
    )
    for name, write in {
        "data.csv": lambda path: frame.to_csv(path, index=False),
        "data.parquet": frame.to_parquet,
    }.items():
        write(tmp_path / name)
        found, loaded = prepared(tmp_path / name, tmp_path / f"{name}.out", "y"), load(tmp_path / name, "y")
        assert [(c.name, c.kind, c.missing) for c in found.schema.columns] == [
            (c.name, c.kind, c.missing) for c in loaded.schema.columns
        ]
        assert (found.schema.form, found.schema.task, found.schema.classes) == ("frame", "classification", (0, 1))
        assert found.train(100).X.dtypes.equals(loaded.train(100).X.dtypes)
        both = [pd.concat([data.train(data.full_size).X, data.valid().X]) for data in (found, loaded)]
        ordered = [each.sort_values("number", ignore_index=True) for each in both]
        pd.testing.assert_frame_equal(*ordered)


def test_a_target_of_numbers_is_a_regression(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=500), "y": rng.normal(size=500)})
    frame.loc[::50, "y"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    data = prepared(tmp_path / "data.csv", tmp_path / "out", "y", fraction=0.2)
    assert (data.schema.task, data.full_size, data.valid_size) == ("regression", 392, 98)
    assert "Rows without a target were left out: 10." in data.notes


KILLED = """
import sys, os
from pathlib import Path
from pydaub.data.outofcore import external, plan, scatter
external.BLOCK_SHARE, plan.BUCKET_SHARE, scatter.CHECKPOINT = 3e-5, 2e-4, 3
left = int(sys.argv[3])
def progress(stage, share):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), 9)
external.prepare_out_of_core(external.Wanted(sys.argv[1], "label"), Path(sys.argv[2]), external.LEAST_MEMORY, progress)
"""


def interrupted(path: Path, out: Path, after: int) -> bool:
    """Prepare a file, but stop after this many reports of progress; return whether it was stopped."""
    left = after

    def progress(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    try:
        prepare_out_of_core(Wanted(str(path), "label"), out, LEAST, progress)
    except KeyboardInterrupt:
        return True
    return False


def test_an_interrupted_preparation_is_resumed_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    path, out = tmp_path / "data.parquet", tmp_path / "out"
    table(1000).to_parquet(path, row_group_size=500)
    prepared(path, tmp_path / "whole")
    stops = 0
    for after in (1, 5, 11, 14, 3, 30, 10_000):
        if not interrupted(path, out, after):
            break
        stops += 1
        assert not out.exists(), "it appears only when it is complete"
    assert stops >= 4
    assert contents(out) == contents(tmp_path / "whole")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data.parquet", "out", "whole"]


@pytest.mark.slow("processes")
def test_a_killed_preparation_is_resumed_with_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    path = tmp_path / "data.parquet"
    table(1000).to_parquet(path, row_group_size=500)
    prepared(path, tmp_path / "whole")
    out = tmp_path / "out"
    kills = 0
    for after in (5, 20, 11, 9, 20, 10_000):  # in the first pass, in the second, and in the third
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(out), str(after)], check=False)
        kills += done.returncode == -signal.SIGKILL
        if done.returncode == 0:
            break
        assert not out.exists(), "it appears only when it is complete"
    assert kills >= 4
    assert contents(out) == contents(tmp_path / "whole")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data.parquet", "out", "whole"]


@pytest.mark.parametrize("text", [True, False], ids=["with text", "only numbers"])
def test_the_output_does_not_depend_on_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, text: bool
) -> None:
    monkeypatch.setattr("pydaub.data.outofcore.gather.BATCH", 2**12)
    path, seen = tmp_path / "data.parquet", []
    frame = table(2000)
    if text:
        frame["town"] = frame["noise"].map(lambda noise: "Ulm" if noise > 1 else None if noise > 0 else "Köln")
    frame.to_parquet(path)
    for memory, block, bucket in ((LEAST, 3e-5, 2e-4), (2 * LEAST, 1e-4, 2e-3), (10 * LEAST, 0.1, 0.2)):
        small_blocks(monkeypatch, block, bucket)
        prepared(path, tmp_path / str(memory), memory=memory)
        seen.append(contents(tmp_path / str(memory)))
    assert seen[0] == seen[1] == seen[2]


def test_a_note_names_classes_with_few_validation_rows(tmp_path: Path) -> None:
    table(3000).to_parquet(tmp_path / "data.parquet")
    few = prepared(tmp_path / "data.parquet", tmp_path / "few", validation_rows=300)
    assert (few.valid_size, prepared(tmp_path / "data.parquet", tmp_path / "all").notes) == (300, ())
    assert [re.sub(r".*: '", "", note) for note in few.notes] == ["rare' (6). More `validation_rows` would help."]


def test_values_that_are_no_numbers_and_classes_that_differ_by_spaces_are_noted(tmp_path: Path) -> None:
    frame = table(3000)
    frame["size"] = [f"{number / 7:.3f}" for number in range(2999)] + ["oops"]
    frame["label"] = frame["label"].where(frame.index % 10 > 0, " " + frame["label"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    notes = "\n".join(prepared(tmp_path / "data.csv", tmp_path / "out").notes)
    assert (
        "Column 'size' counts as identifier, not as numeric: nearly all of its values look like numbers, but 'oops'"
        in notes
    )
    assert "Classes that differ from others only by spaces: " in notes


def test_a_value_that_is_no_number_is_named_although_the_sample_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pydaub.data.outofcore.survey.SAMPLE", 500)
    monkeypatch.setattr("pydaub.data.outofcore.survey.MOST_LABELS", 1000)
    frame = table(3000)
    frame["size"] = ["oops", *(f"{number / 7:.3f}" for number in range(2999))]
    frame.to_csv(tmp_path / "data.csv", index=False)
    odd = "nearly all of its values look like numbers, but 'oops' cannot be read as one"
    notes = prepared(tmp_path / "data.csv", tmp_path / "out").notes
    assert any(note == f"Column 'size' counts as identifier, not as numeric: {odd}." for note in notes)
    with pytest.raises(InputError, match=f"`size` must be numbers or classes: {odd}"):
        prepared(tmp_path / "data.csv", tmp_path / "other", target="size")
    with pytest.raises(InputError, match="`size` must have classes of several rows, got more than 1,000 classes"):
        prepared(tmp_path / "data.csv", tmp_path / "other", target="size", task="classification")


def test_a_frame_is_opened_without_reading_the_rows_that_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pydaub.data.outofcore.gather.BATCH", 2**12)
    frame = table(2000)
    frame["town"] = np.where(frame["noise"] > 0, "Ulm", "Köln")
    frame.to_parquet(tmp_path / "data.parquet")
    rows = prepared(tmp_path / "data.parquet", tmp_path / "out").train(60).X
    path = tmp_path / "out" / "train.rows.arrow"
    with pa.ipc.open_file(path) as file:
        assert file.num_record_batches >= 10
    content = path.read_bytes()
    start, end = len(content) // 4, len(content) * 3 // 4
    path.write_bytes(content[:start] + bytes(end - start) + content[end:])
    again = Prepared.open(tmp_path / "out")
    assert again.train(60).X.equals(rows)
    with pytest.raises(FolderTrouble, match=r"The prepared rows could not be read: .* message"):
        _ = again.train(1000).X


def test_columns_whose_blocks_differ_get_one_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    rows = 900
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, rows).astype(float)
    target[::100] = np.nan
    late = np.arange(rows) >= rows // 2
    frame = pa.table(
        {
            "number": rng.normal(size=rows),
            "town": pa.array(
                [f"{'late' if each else 'town'} {n % 90}" for n, each in enumerate(late)]
            ).dictionary_encode(),
            "small": pa.array(rng.integers(0, 9, rows).astype(np.int8), mask=late & (rng.random(rows) < 0.5)),
            "y": pa.array(target, from_pandas=False),
        }
    )
    pq.write_table(frame, tmp_path / "data.parquet", row_group_size=200)
    data = prepared(tmp_path / "data.parquet", tmp_path / "out", "y")
    assert (data.schema.form, data.schema.task, data.schema.classes) == ("frame", "classification", (0, 1))
    assert data.full_size + data.valid_size == rows - 9
    found = pd.concat([data.train(data.full_size).X, data.valid().X]).sort_values("number", ignore_index=True)
    expected = frame.to_pandas()[~np.isnan(target)].sort_values("number", ignore_index=True)
    assert list(found["town"]) == list(expected["town"])
    assert np.array_equal(found["small"].to_numpy(float), expected["small"].to_numpy(float), equal_nan=True)


def test_a_type_that_one_block_contradicts_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    numbers, words = ["7", " 8"] * 300, ["true", "false"] * 300
    lines = [
        f"{first},{second},{place % 2}"
        for place, (first, second) in enumerate(zip(numbers + words, numbers * 2, strict=True))
    ]
    (tmp_path / "data.csv").write_text("\n".join(["mixed,spaced,y", *lines]) + "\n")
    data = prepared(tmp_path / "data.csv", tmp_path / "out", "y")
    assert {column.name: column.kind for column in data.schema.columns} == {"mixed": "categorical", "spaced": "numeric"}


@pytest.mark.slow("processes")
def test_a_killed_command_is_resumed(tmp_path: Path) -> None:
    path, out = tmp_path / "data.parquet", tmp_path / "out"
    table(200_000).to_parquet(path, row_group_size=5000)
    command = ["prepare", path, "--target", "label", "--out", out, "--memory", "400MB"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pydaub", *map(str, command)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    survey = tmp_path / "out.work" / "survey.json"
    while not survey.exists():
        assert process.poll() is None
    process.kill()
    process.wait()
    assert "must be free to work in" in _in_the_way(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pydaub", *map(str, command)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "survey" not in done.stderr, "the first pass is not repeated"
    assert "must be new or empty" in refused(*command[:-1], "4GB")
    assert "`cv` must go without prepared data" in refused("run", out, "--cv", "3")


def _in_the_way(folder: Path) -> str:
    (folder / "other.work").mkdir()
    (folder / "other.work" / "mine.txt").write_text("mine")
    said = refused("prepare", folder / "data.parquet", "--target", "label", "--out", folder / "other")
    assert (folder / "other.work" / "mine.txt").read_text() == "mine"
    return said


def test_the_second_pass_starts_again_if_a_file_is_shorter_than_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    path, out, work = tmp_path / "data.parquet", tmp_path / "out", tmp_path / "out.work"
    table(1000).to_parquet(path)
    prepared(path, tmp_path / "whole")
    for lost in ("some", "all"):
        assert interrupted(path, out, 25)
        lengths = json.loads((work / "scattered.json").read_text())["lengths"]
        name = max(lengths, key=lengths.__getitem__)
        assert lengths[name] > 0, "there is a checkpoint"
        if lost == "all":
            (work / name).unlink()
        else:
            os.truncate(work / name, lengths[name] - 1)
        prepared(path, out)
        assert contents(out) == contents(tmp_path / "whole")
        shutil.rmtree(out)


def test_names_may_be_longer_than_the_beginning_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of 60,000 columns are; progress is shown within a block too."""
    rows = pd.DataFrame({f"column {place}": np.arange(40.0) % (place % 9 + 2) for place in range(300)})
    path = tmp_path / "wide.csv"
    rows.assign(label=["yes", "no"] * 20).to_csv(path, index=False)
    expected = prepared(path, tmp_path / "one")
    assert expected.schema.features == 300
    monkeypatch.setattr("pydaub.data.outofcore.files.HEAD", 64)
    monkeypatch.setattr("pydaub.data.outofcore.survey.SHOWN", 100)
    shown: list[tuple[str, float]] = []
    wanted = Wanted(str(path), "label")
    again = prepare_out_of_core(wanted, tmp_path / "two", LEAST, lambda *told: shown.append(told))
    assert again.fingerprint == expected.fingerprint
    survey = [share for stage, share in shown if stage == "survey"]
    assert len(survey) == 5
    assert survey == sorted(survey)
    assert (survey[0], survey[-1]) == (0.0, 1.0)


@pytest.mark.skipif(os.getuid() != 0 or sys.platform != "linux", reason="mounts a small disk")
@pytest.mark.parametrize(("form", "sizes"), [("matrix", (1, 2)), ("frame", (1, 2, 3))])
def test_a_full_disk_is_reported_and_the_preparation_resumed(form: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    frame, path, disk = table(60_000), tmp_path / "data.parquet", tmp_path / "disk"
    if form == "frame":
        frame["town"] = np.where(frame.noise > 0, "rome", "oslo")
    frame.to_parquet(path, row_group_size=5000)
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=False).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        for size in sizes:  # too small for the buckets, or for the output
            subprocess.run(["mount", "-o", f"remount,size={size}m", disk], check=True)
            with pytest.raises(
                InputError, match=r"with room for the rows twice, got No space left on device: .* to resume"
            ):
                prepared(path, disk / "out")
            assert [each.name for each in disk.iterdir()] == ["out.work"]
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        data = prepared(path, disk / "out")
        assert data.fingerprint == prepared(path, tmp_path / "out").fingerprint
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_other_options_start_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    path, out = tmp_path / "data.parquet", tmp_path / "out"
    table(1000).to_parquet(path)
    assert interrupted(path, out, 9)
    assert (tmp_path / "out.work" / "asked.json").exists()
    data = prepared(path, out, seed=5)
    fresh = prepared(path, tmp_path / "fresh", seed=5)
    assert data.fingerprint == fresh.fingerprint


def parts(folder: Path, *places: int) -> None:
    folder.mkdir(exist_ok=True)
    for place in places:
        table(600, place).to_parquet(folder / f"part-{place}.parquet")


def _changes(folder: Path) -> str:
    (folder / "part-0.parquet").write_bytes((folder / "part-1.parquet").read_bytes())
    return "'part-0.parquet' changed"


def _adds(folder: Path) -> str:
    parts(folder, 2)
    return "'part-2.parquet' added"


def _removes(folder: Path) -> str:
    (folder / "part-1.parquet").unlink()
    return "'part-1.parquet' removed"


@pytest.mark.parametrize("change", [_adds, _removes, _changes])
def test_a_folder_that_changes_is_never_taken_for_what_it_was(
    change: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    source, out = tmp_path / "parts", tmp_path / "out"
    parts(source, 0, 1)
    glob = Path(f"{source}/*.parquet")
    prepared(glob, out)
    assert load(out, None).full_size == prepared(source, tmp_path / "before").full_size
    said = change(source)
    with pytest.raises(InputError, match=f"got changes there since it was prepared: {said}. Prepare it again"):
        load(out, None)
    with pytest.raises(InputError, match=r"`out` must be new or empty, .*no rows are added to prepared data"):
        prepared(glob, out)
    now = prepared(glob, tmp_path / "now")
    assert load(tmp_path / "now", None).fingerprint == now.fingerprint
    (out / "source.json").unlink()
    assert load(out, None).fingerprint != now.fingerprint, "the rows as they were"
    for path in source.iterdir():
        path.unlink()
    assert load(tmp_path / "now", None).fingerprint == now.fingerprint, "rows that are gone have not changed"


def test_a_file_that_is_added_while_a_folder_is_prepared_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    small_blocks(monkeypatch)
    source, out = tmp_path / "parts", tmp_path / "out"
    parts(source, 0, 1)

    def progress(stage: str, _: float) -> None:
        if stage == "scatter":
            parts(source, 2)

    with pytest.raises(
        InputError, match=r"must stay as it is while it is prepared, got changes: 'part-2.parquet' added"
    ):
        prepare_out_of_core(Wanted(str(source), "label"), out, LEAST, progress)
    assert not out.exists()
    data = prepared(source, out)
    assert data.full_size + data.valid_size == 1800
    assert interrupted(source, tmp_path / "other", 9)
    parts(source, 3)
    caplog.clear()
    data = prepared(source, tmp_path / "other")
    assert caplog.messages == ["other was begun with another source. It starts again."]
    assert data.full_size + data.valid_size == 2400, "what was begun with fewer files is not continued"


PEAK = """
import sys
from pydaub.cli import main
from pydaub.isolation.proc import peak
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
import os
print(peak(os.getpid()))
"""


@pytest.mark.slow("memory")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_memory_stays_within_its_limit_with_data_four_times_as_large(tmp_path: Path) -> None:
    limit, rows, width = 340_000_000, 19_200_000, 9  # few columns, because each takes time in every block
    path, rng = tmp_path / "big.parquet", np.random.default_rng(0)
    writer: Any = None
    for _ in range(30):
        block = rng.random((width, rows // 30))
        columns = {**{f"x{place}": block[place] for place in range(width)}, "y": (block[0] > 0.5).astype(np.int8)}
        batch = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, batch.schema, compression="none", use_dictionary=False)
        writer.write_table(batch, row_group_size=100_000)
    writer.close()
    assert path.stat().st_size > 4 * limit
    out = tmp_path / "out"
    command = ["prepare", path, "--target", "y", "--out", out, "--memory", f"{limit // 10**6}MB", "--quiet"]
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) <= limit
    path.unlink()
    data = Prepared.open(out)
    assert (data.full_size, data.valid_size) == (rows - 100_000, 100_000)
    assert abs(data.train(1_000_000).y.mean() - 0.5) < 0.003


def many(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    columns = {f"x{place}": rng.random(rows) for place in range(25)}
    return pa.table({**columns, "y": rng.integers(0, 2, rows).astype(np.int8)})


def write_dictionary(path: Path) -> None:
    """Write half a gigabyte of text as four megabytes, in one row group."""
    rows, rng = 400_000, np.random.default_rng(0)
    words = pa.array([f"{number} " * 400 for number in range(50)])
    texts = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 50, rows).astype(np.int32)), words)
    columns = {"u": rng.normal(size=rows), "s": texts, "y": rng.integers(0, 2, rows)}
    pq.write_table(pa.table(columns), path, row_group_size=rows)


def write_one_batch(path: Path) -> None:
    """Write 402 MB of numbers as one batch."""
    feather.write_feather(many(2_000_000), path, compression="uncompressed", chunksize=2_000_000)


def write_frame(path: Path) -> None:
    """Write 400 MB of numbers and text."""
    rng, writer = np.random.default_rng(0), None
    words = pa.array([f"some words {number}" for number in range(5000)])
    for _ in range(10):
        rows = many(200_000).append_column("town", words.take(pa.array(rng.integers(0, 5000, 200_000))))
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows)
    if writer:
        writer.close()


def write_wide_text(path: Path) -> None:
    csv.write_csv(many(150_000), path)


@pytest.mark.slow("memory")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("d.parquet", write_dictionary),
        ("frame.parquet", write_frame),
        ("one.arrow", write_one_batch),
        ("t.csv", write_wide_text),
    ],
)
def test_memory_stays_within_its_limit_however_rows_are_stored(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    limit = 450_000_000
    write(tmp_path / name)
    command = ["prepare", tmp_path / name, "--target", "y", "--out", tmp_path / "out", "--memory", "450MB", "--quiet"]
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) <= limit


COPIES = """
import numpy as np
from sklearn.naive_bayes import GaussianNB

class Copies(GaussianNB):
    def fit(self, X, y):
        self.all_ = np.repeat(X, 2000, axis=0)
        return super().fit(X, y)

def learners(schema):
    return {"copies": Copies()}
"""


@pytest.mark.slow("memory")
def test_a_learner_that_needs_all_rows_in_memory_fails_and_a_streaming_one_wins(tmp_path: Path) -> None:
    path, out = tmp_path / "data.parquet", tmp_path / "out"
    table(60_000).to_parquet(path)
    (tmp_path / "own.py").write_text(COPIES)
    assert call("prepare", path, "--target", "label", "--out", out, "--memory", "4GB").code == 0
    done = call(
        "run", out, "--learners", f"{tmp_path / 'own.py'},stream-naive-bayes", "--learner-memory", "200MB",
        "--strategy", "full", "--out", tmp_path / "run", "--jobs", 1,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert re.search(r"Failed: 1 x memory \(.+\): copies", done.out)
    assert "Learners that read the sample in blocks need less: --learners sklearn,streaming." in done.out
    assert "Selected stream-naive-bayes" in done.out


def test_a_run_uses_the_folder_without_copying_it(tmp_path: Path) -> None:
    path, out, run = tmp_path / "data.parquet", tmp_path / "out", tmp_path / "run"
    table(500).to_parquet(path)
    made = call("prepare", path, "--target", "label", "--out", out, "--memory", "4GB")
    assert made.code == 0, made.err
    assert "Next: pydaub run" in made.out
    assert "gather: 100 %" in made.err
    done = call("run", out, "--learners", "naive-bayes-gaussian", "--out", run, "--jobs", 1, "--json", "--quiet")
    assert done.code == 0, done.err
    assert done.json["full_size"] == Prepared.open(out).full_size
    assert (run / "data").is_symlink()
    assert (run / "data").resolve() == out.resolve()
    assert call("show", run).code == 0
    assert call("resume", run, "--quiet").code == 0
    assert "`target` must be 'label'" in refused("run", out, "--target", "own")
    assert "`drop` must be given when data is prepared" in refused("run", out, "--drop", "noise")


def _note(stages: list[str], stage: str, _share: float) -> None:
    stages.append(stage)


def test_nonsense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    table(50).to_parquet(path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "mixed" / "b.parquet").write_bytes(b"")
    (tmp_path / "uneven").mkdir()
    (tmp_path / "uneven" / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "uneven" / "b.csv").write_text("x,z\n1,2\n")
    (tmp_path / "torn.parquet").write_bytes(path.read_bytes()[:100])
    (tmp_path / "ragged.csv").write_text("x,y\n1,2\n3\n")
    (tmp_path / "same.csv").write_text("x,y\n1,2\n3,2\n")
    (tmp_path / "data.xlsx").write_bytes(b"PK")
    out = tmp_path / "out"
    for source, target, message in [
        (tmp_path / "nowhere", "y", "must be a file that can be read, got no such file"),
        (tmp_path / "empty", "y", "must hold files of one format"),
        (tmp_path / "mixed", "y", "must hold files of one format"),
        (tmp_path / "uneven", "y", "b.csv must have the columns of a.csv, got none named 'y'"),
        (tmp_path / "torn.parquet", "y", "must be a whole Parquet file"),
        (tmp_path / "ragged.csv", "y", "must have 2 columns in every line, as in its first, got 1"),
        (tmp_path / "same.csv", "y", "must have at least two classes"),
        (tmp_path / "data.xlsx", "y", "must end in"),
        (path, "nothing", "`target` must be a column"),
    ]:
        with pytest.raises(InputError, match=message):
            prepared(source, out, target)
        assert not out.exists()
    refusals: list[tuple[dict[str, Any], str]] = [
        ({"memory": 5}, "`memory` must leave at least"),
        ({"fraction": 1.5}, "`validation_fraction` must be between"),
        ({"validation_rows": 0}, "`validation_rows` must be at least 1"),
        ({"seed": -1}, "`seed` must not be negative"),
        ({"drop": ("nothing",)}, "`drop` must be a column"),
        ({"drop": ("label",)}, "must not be the column of `target`"),
        ({"kinds": {"own": "nonsense"}}, "The kind of 'own' must be among"),
        ({"kinds": {"nothing": "numeric"}}, "Kinds must be given for columns of the data, got 'nothing'"),
        ({"task": "regression"}, "must be numbers for a regression"),
    ]
    for wanted, message in refusals:
        stages: list[str] = []
        with pytest.raises(InputError, match=message):
            prepare_out_of_core(
                Wanted(str(path), "label", **{k: v for k, v in wanted.items() if k != "memory"}),
                out,
                wanted.get("memory", LEAST),
                partial(_note, stages),
            )
        assert not stages or "task" in wanted, "no row was read"
    (out / "something").mkdir(parents=True)
    with pytest.raises(InputError, match="`out` must be new or empty"):
        prepared(path, out)
    assert "must be more than the" in refused(
        "prepare", path, "--target", "label", "--out", tmp_path / "o", "--memory", "1MB"
    )
