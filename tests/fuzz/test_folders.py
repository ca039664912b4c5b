"""The folder of a run, with files that are damaged, forged, exchanged, missing or of another kind."""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.commands import Finished, call
from fuzz.rule import a_few, content, fuzzed, holds, nested, scalars
from fuzz.test_files import damage
from pydaub.data.checksums import SEAL, sealed

pytestmark = pytest.mark.filterwarnings("ignore")

JUNK = ["fitted/x.pkl", "fitted/a-1-nan.pkl", "fitted/-.pkl", "learners/x.pkl", "steering/x.command", "data/x", "plots"]
LOOKING = [("show",), ("show", "--json"), ("report",), ("plot", "--formats", "svg"), ("predict",), ("steer", "pause")]
plain = scalars.filter(lambda value: not isinstance(value, bytes | complex | tuple | type))
absurd = nested(plain, 3)
WAYS = ["values"] * 3 + ["away"] * 4 + ["bytes", "version", "gone", "pipe", "folder", "loop", "junk"]
MADE = ["report.html", "notes.txt", "processes.txt", "page.json", "plots", "steering", "curves.csv", "encoded"]
PRIVATE = "this-is-private"
VERSION = re.compile(r'("(?:format|pydaub|version|python|scikit-learn)"\s*:\s*)("[^"]*"|\d+)')


def replaced(draw: Any, value: Any) -> Any:
    """Return a JSON value in which one value, anywhere, is another, missing or nested deeply."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        name = draw(st.sampled_from([*value]))
        if not draw(st.integers(0, 5)):
            return {other: held for other, held in value.items() if other != name}
        return {**value, name: replaced(draw, value[name])}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], replaced(draw, value[place]), *value[place + 1 :]]
    return draw(absurd)


def resealed(lines: list[str]) -> list[str]:
    """Return the lines of a journal with checksums that fit, as somebody makes them who knows how."""
    made, crc = list[str](), 0
    for line in lines:
        body = line.rpartition(',"crc"')[0] or line.removesuffix("}")
        crc = zlib.crc32(body.encode(errors="replace"), crc)
        made.append(f'{body},"crc":"{crc:08x}"}}')
    return made


def written(draw: Any, path: Path) -> None:
    """Exchange the values of a JSON file, or of some lines of a journal; its checksums are left out, or forged."""
    text = path.read_text(errors="replace")
    lines = (text.splitlines() if path.suffix == ".jsonl" else [text]) or [""]
    forged = draw(st.booleans())
    for place in {draw(st.integers(0, len(lines) - 1)) for _ in range(draw(st.integers(1, 2)))}:
        held = None  # of a line that was damaged before
        with suppress(ValueError, RecursionError):
            held = json.loads(lines[place])
        held = replaced(draw, held)
        if isinstance(held, dict):
            held.pop(SEAL, None)
            if path.suffix == ".json" and forged:
                with suppress(ValueError, RecursionError):
                    held = json.loads(sealed(held))
        lines[place] = json.dumps(held) if draw(st.integers(0, 9)) else "[" * 100_000
    if path.suffix == ".jsonl" and forged:
        lines = resealed(lines)
    elif path.suffix == ".jsonl":
        lines = [line.rpartition(',"crc"')[0] + "}" if ',"crc"' in line else line for line in lines]
    path.write_text("\n".join([*lines, ""]), errors="replace")


def of_another_time(draw: Any, path: Path) -> None:
    """Name other versions of the format or of libraries."""
    other = draw(st.sampled_from(["0", "2", "99", '"0.0.1"', '"9.9"', "null", '""', "-1", "1e400"]))
    text = path.read_text(errors="replace")
    path.write_text(VERSION.sub(lambda found: found[1] + other, text, count=draw(st.integers(1, 3))))
    if path.suffix == ".jsonl" and draw(st.booleans()):
        path.write_text("\n".join([*resealed(path.read_text(errors="replace").splitlines()), ""]))


def led_away(draw: Any, folder: Path, path: Path) -> None:
    """Put a link, or another name, of a file that is not of the run."""
    away = folder.parent / "private"
    away.mkdir(exist_ok=True)
    (away / "file").write_text(draw(st.sampled_from(["", PRIVATE, "{}"])))
    path = draw(st.sampled_from([path, *(folder / name for name in MADE)]))
    path.unlink(missing_ok=True)
    if draw(st.booleans()):
        path.symlink_to(away / draw(st.sampled_from(["", "file", "new"])))
    else:
        path.hardlink_to(away / "file")


def exchanged(way: str, path: Path) -> None:
    """Put something else where a file was, or nothing."""
    path.unlink()
    if way == "pipe":
        os.mkfifo(path)
    elif way == "folder":
        path.mkdir()
    elif way == "loop":
        path.symlink_to(path)


def disturbed(draw: Any, folder: Path) -> None:
    """Damage one file of the folder in one way, or add one that does not belong there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    named = [path for path in files if path.suffix in {".json", ".jsonl"}]
    path = draw(st.sampled_from([*named * 3, *files]))
    match draw(st.sampled_from(WAYS)):
        case "values" if path in named:
            written(draw, path)
        case "version" if path in named:
            of_another_time(draw, path)
        case "away":
            led_away(draw, folder, path)
        case "gone" | "pipe" | "folder" | "loop" as way:
            exchanged(way, path)
        case "junk":
            junk = folder / draw(st.sampled_from(JUNK))
            junk.parent.mkdir(exist_ok=True)
            if not junk.exists():
                junk.write_bytes(draw(st.binary(max_size=20)))
        case _:
            path.write_bytes(draw(damage(path.read_bytes())))


@fuzzed
@given(data=st.data())
def test_a_folder_is_shown_or_refused(data: st.DataObject, finished: Finished) -> None:
    with TemporaryDirectory() as place:
        folder = Path(shutil.copytree(finished.folder, Path(place) / "run"))
        for _ in range(data.draw(st.integers(1, 2))):
            disturbed(data.draw, folder)
        before, away = content(folder), content(folder.parent / "private")
        linked = any(path.is_symlink() for path in folder.iterdir())
        command, *more = data.draw(st.sampled_from(LOOKING))
        done = call(command, folder, *([finished.data] if command == "predict" else []), *more)
        holds(done)
        after = content(folder)
        made = {name for name in {*after, *before} if after.get(name) != before.get(name)}
        assert content(folder.parent / "private") == away, "no link leads out of it"
        assert not any(PRIVATE.encode() in after.get(name, b"") for name in made), "nor into it"
        assert PRIVATE not in done.out + done.err
        assert done.code == 2 or not linked
        assert not made or done.code == 0, made
        assert all(name.startswith(("report.html", "plots")) for name in made), "the rest is left as it was"


@pytest.mark.slow("random")
@a_few(20, least=3)
@given(data=st.data())
def test_a_folder_is_continued_or_refused(data: st.DataObject, finished: Finished) -> None:
    """With real workers. What was measured is kept."""
    with TemporaryDirectory() as place:
        folder = Path(shutil.copytree(finished.folder, Path(place) / "run"))
        journal = folder / "journal.jsonl"
        if data.draw(st.booleans()):  # as a kill leaves it
            journal.write_bytes(journal.read_bytes()[: data.draw(st.integers(0, journal.stat().st_size))])
        disturbed(data.draw, folder)
        before, away = journal.read_bytes() if journal.is_file() else b"", content(folder.parent / "private")
        done = call("resume", folder, "--jobs", 1, "--quiet", "--time-limit", "20s")
        holds(done)
        assert content(folder.parent / "private") == away, "no link leads out of it"
        if journal.is_file():
            whole = (
                before if done.code == 2 else before[: before.rfind(b"\n") + 1]
            )  # a run writes over a line that is cut
            assert journal.read_bytes().startswith(whole[:1000]), "what was measured is kept"
        if done.code == 0:
            assert call("show", folder).code == 0
