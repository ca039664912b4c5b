from __future__ import annotations

import errno
import json
import math
import multiprocessing
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.commands import mixed, written
from pydaub import InputError
from pydaub.data import Schema
from pydaub.data.checksums import opened, sealed
from pydaub.runs.folder import Request, RunFolder, check_unused, new_path

WHOLE = Request(
    data="x.csv",
    target="label",
    learners="tree,mine.py",
    strategy="daub",
    parameters={"bound": "line", "train_bound": False},
    first_size=20,
    ratio="2",
    sizes="paper",
    scoring="roc_auc",
    validation="y.csv",
    fraction=0.4,
    group="family",
    time="day",
    drop=("flag", "a,b"),
    kinds={"zip": "categorical"},
    task="classification",
    encoding="latin-1",
    seed=7,
    refit=True,
    reuse=False,
    metrics="none",
)


@pytest.fixture
def made(tmp_path: Path) -> RunFolder:
    """A folder in which nothing has been run yet."""
    request = Request(data=str(written(mixed(), tmp_path / "x.csv")), target="label", drop=("flag",))
    return RunFolder.create(tmp_path / "run", request, request.load().schema)


@pytest.mark.parametrize("request_", [WHOLE, replace(WHOLE, cv=3, validation=None), Request(data="openml:61")])
def test_what_was_asked_for_comes_back(tmp_path: Path, made: RunFolder, request_: Request) -> None:
    RunFolder.create(tmp_path / "other" / "run", request_, made.schema())
    opened = RunFolder(tmp_path / "other" / "run")
    assert opened.request == request_


def test_the_schema_comes_back(made: RunFolder) -> None:
    before = made.request.load().schema
    assert made.schema() == replace(before, classes=())
    kinds = {column.name: column.kind for column in made.schema().columns}
    assert kinds == {
        "id": "identifier", "x": "numeric", "holes": "numeric", "zip": "numeric", "town": "categorical",
        "member": "boolean", "day": "date", "story": "text", "same": "constant", "family": "numeric",
        "price": "numeric", "stars": "numeric",
    }  # fmt: skip


def test_data_is_read_again_where_a_kill_came_before_it_was_laid_down(made: RunFolder) -> None:
    again = made.data()
    again.save(made.path / "data")
    Path(made.request.data).unlink()
    assert made.data().fingerprint == again.fingerprint
    shutil.rmtree(made.path / "data")
    with pytest.raises(InputError, match=r"x\.csv must be a file that can be read, got no such file"):
        made.data()


def test_a_run_is_resumed_only_with_the_rows_that_it_began_with(tmp_path: Path) -> None:
    """Killed before the rows were saved, with a source that has changed since."""
    rows = mixed()
    request = Request(data=str(written(rows, tmp_path / "x.csv")), target="label", drop=("flag",))
    data = request.load()
    folder = RunFolder.create(tmp_path / "run", request, data.schema, data.fingerprint)
    assert folder.data().fingerprint == data.fingerprint
    for changed in (rows.rename(columns={"x": "z"}), rows.assign(x=rows["x"] + 1), rows.iloc[1:]):
        written(changed, tmp_path / "x.csv")
        with pytest.raises(InputError, match=r"x\.csv must hold the same rows as when the run began, got others"):
            RunFolder(folder.path).data()
    data.save(folder.path / "data")
    assert RunFolder(folder.path).data().fingerprint == data.fingerprint, "the saved rows are those of the run"


def test_damaged_rows_are_named_and_can_be_prepared_again(made: RunFolder) -> None:
    data = made.data()
    data.save(made.path / "data")
    path = next((made.path / "data").glob("train.rows.*"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{path.name} does not match its checksum. Prepare .* if you remove"):
        made.data()
    shutil.rmtree(made.path / "data")
    assert made.data().fingerprint == data.fingerprint


def test_what_a_kill_leaves_is_not_in_the_way(tmp_path: Path, made: RunFolder) -> None:
    schema = made.schema()
    (made.path / "schema.json").unlink()
    made.data()
    assert made.schema() == schema
    (made.path / "schema.json").write_bytes(b"")
    made.data()
    assert made.schema() == schema
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / ".run.json.0123").write_text("{")
    assert RunFolder.create(tmp_path / "begun", made.request, schema).request == made.request


def test_a_folder_is_claimed_without_hard_links_too(
    tmp_path: Path, made: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    assert RunFolder.create(tmp_path / "other", made.request, made.schema()).request == made.request
    (tmp_path / "other" / "schema.json").unlink()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        RunFolder.create(tmp_path / "other", made.request, made.schema())


def test_the_result_is_written_for_other_programs(made: RunFolder) -> None:
    made.finish({"selected": "tree"})
    assert json.loads((made.path / "result.json").read_text()) == {"selected": "tree"}


def test_a_folder_with_files_is_left_alone(tmp_path: Path, made: RunFolder) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.tex").write_text("precious")
    found = {
        made.path: r"that of a run. `pydaub resume .*` continues it",
        tmp_path / "used": "one with 'thesis.tex'. Name",
    }
    for path, got in found.items():
        for refuse in (check_unused, lambda path: RunFolder.create(path, made.request, made.schema())):
            with pytest.raises(InputError, match=f"must be a new or empty folder, got {got}"):
                refuse(path)
    assert [path.name for path in (tmp_path / "used").iterdir()] == ["thesis.tex"]
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", made.request, made.schema())


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("x.csv", "x.csv must be a new or empty folder, got a file"),
        ("x.csv/run", "Cannot write to the folder "),
        ("/proc/run", "Cannot write to the folder "),
    ],
)
def test_a_folder_that_cannot_be(tmp_path: Path, made: RunFolder, place: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        RunFolder.create(tmp_path / place, made.request, made.schema())


@pytest.mark.parametrize("place", ["nowhere", "x.csv", "."])
def test_what_is_no_run(tmp_path: Path, made: RunFolder, place: str) -> None:
    assert made
    with pytest.raises(InputError, match="must be the folder of a run, got "):
        RunFolder(tmp_path / place)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"5", b"{}", b"[" * 100_000, b"9" * 5000, b"NaN", b'{"request": {"data": NaN}}',
        b"\xff\xfe", b'{"request": 5}', b'{"request": {}}', b'{"request": {"data": 5}}',
        *(
            json.dumps({"request": {"data": "x.csv", name: value}}).encode()
            for name, value in [
                ("cv", "3"), ("first_size", 2.5), ("seed", "x"), ("drop", 5), ("kinds", []), ("ratio", 2),
                ("learners", ["tree"]), ("fraction", "x"), ("refit", "yes"), ("target", 1), ("scoring", {}),
            ]
        ),
    ],
)  # fmt: skip
def test_a_damaged_request(made: RunFolder, content: bytes) -> None:
    (made.path / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json is damaged: "):
        RunFolder(made.path)


def test_what_a_later_version_asks_is_passed_over(made: RunFolder) -> None:
    path = made.path / "run.json"
    about: dict[str, Any] = opened(path)
    about["request"]["colour"] = "blue"
    path.write_text(sealed(about))
    assert RunFolder(made.path).request == made.request


@pytest.mark.parametrize(
    "content", [None, b"", b"{", b"{}", b"[1]", b"\xff", b'{"columns": [{"nom": 1}]}', b"[" * 100_000]
)
def test_a_damaged_schema(made: RunFolder, content: bytes | None) -> None:
    if content is None:
        (made.path / "schema.json").unlink()
    else:
        (made.path / "schema.json").write_bytes(content)
    with pytest.raises(InputError, match=r"schema\.json is damaged: "):
        made.schema()


@pytest.mark.parametrize("value", [None, True, -1, 1.5, math.nan, 10**400, "x", "x" * 10_000, [], {}, [[]]])
def test_a_schema_with_other_values_is_damaged(made: RunFolder, value: Any) -> None:
    path = made.path / "schema.json"
    whole = json.loads(path.read_text())
    for name in ("form", "task", "features", "columns", "target"):
        if (name == "target" and (value is None or isinstance(value, str))) or (name == "columns" and value == []):
            continue
        path.write_text(json.dumps({**whole, name: value}))
        with pytest.raises(InputError, match=r"schema\.json is damaged: .{1,300}$"):
            made.schema()
    for name in ("name", "kind", "missing"):
        if name == "name" and isinstance(value, str):
            continue
        if name == "missing" and value == 10**400:
            continue
        path.write_text(json.dumps({**whole, "columns": [{**whole["columns"][0], name: value}, *whole["columns"][1:]]}))
        with pytest.raises(InputError, match=r"schema\.json is damaged: .{1,300}$"):
            made.schema()


@pytest.mark.parametrize("name", ["journal.jsonl", "schema.json", "model.json", "page.json"])
def test_a_pipe_in_the_folder_is_not_waited_for(made: RunFolder, name: str) -> None:
    (made.path / name).unlink(missing_ok=True)
    os.mkfifo(made.path / name)
    with pytest.raises(InputError, match=f"{name} must be a file, got a pipe"):
        RunFolder(made.path)


@pytest.mark.parametrize(
    ("data", "stem"),
    [
        ("data/adult.csv", "adult"),
        ("x.csv.gz", "x"),
        ("openml:61", "openml-61"),
        ("größe 1.csv", "größe-1"),
        ("...", "run"),
        ("../..", "run"),
        ("a\nb\x1b[31m.csv", "a-b-31m"),
    ],
)
def test_a_new_folder_is_named_for_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, stem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = set()
    for _ in range(3):
        path = new_path(data)
        assert path.parent == Path("pydaub-runs")
        assert path.name.startswith(f"{stem}-2")
        assert path not in taken
        path.mkdir(parents=True)
        taken.add(path)


def test_of_runs_that_begin_at_the_same_time_each_gets_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = Schema("matrix", "classification", 1)
    context = multiprocessing.get_context("fork")
    with context.Pool(16) as pool:
        paths = pool.starmap(_created, [(Request("data.csv", seed=seed), schema, None) for seed in range(48)])
    assert len({*paths}) == 48
    assert [RunFolder(tmp_path / path).request.seed for path in paths] == list(range(48)), "with its own request"
    assert not list(tmp_path.rglob(".*")), "nothing is left behind"
    with context.Pool(16) as pool:
        paths = pool.starmap(_created, [(Request("data.csv", seed=seed), schema, "named") for seed in range(16)])
    (won,) = [seed for seed, path in enumerate(paths) if path]
    assert RunFolder(tmp_path / "named").request.seed == won


def _created(request: Request, schema: Schema, path: str | None) -> str:
    try:
        return str(RunFolder.create(Path(path) if path else None, request, schema).path)
    except InputError as error:
        return "" if "must be a new or empty folder, got " in str(error) else f"another error: {error}"
