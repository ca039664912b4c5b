"""No file within a folder is reached through a link, whatever is done with it and wherever the link is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pydaub import InputError
from pydaub.within import Folder

WAYS: dict[str, Callable[[Folder, str], object]] = {
    "read": lambda folder, name: folder.read(name),
    "write": lambda folder, name: folder.write(name, b"mine"),
    "append": lambda folder, name: os.close(folder.open(name, os.O_RDWR | os.O_APPEND)),
    "create": lambda folder, name: os.close(folder.open(name, os.O_RDWR | os.O_CREAT)),
}
PRIVATE = b"private"


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder of somebody else, with a file in it."""
    place = tmp_path / "private"
    (place / "inner").mkdir(parents=True)
    for path in (place / "file", place / "inner" / "file"):
        path.write_bytes(PRIVATE)
    return place


def unchanged(private: Path) -> None:
    assert sorted(path.name for path in private.rglob("*")) == ["file", "file", "inner"]
    assert (private / "file").read_bytes() == (private / "inner" / "file").read_bytes() == PRIVATE


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "case",
    [
        ("file", "file", "file"),
        ("file", "nothing", "file"),
        ("file", "inner", "file"),
        ("inner", "inner", "inner/file"),
        ("inner", "inner", "inner/new"),
        ("outer", "", "outer/inner/file"),
    ],
)
def test_no_link_is_followed(private: Path, tmp_path: Path, way: str, case: tuple[str, str, str]) -> None:
    link, to, name = case
    root = tmp_path / "run"
    root.mkdir()
    (root / link).symlink_to(private / to)
    for folder, inner in ((Folder(root), name), (Folder(root, name.rpartition("/")[0]), name.rpartition("/")[2])):
        with pytest.raises(OSError, match="it is a link") as refused:
            WAYS[way](folder, inner)
        assert refused.value.filename == str(root / link)
        assert (root / link).is_symlink()
        unchanged(private)


def test_nothing_outside_has_a_name_within(private: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("../private/file", str(private / "file"), "x/../../private/file", ".."):
        for way in WAYS.values():
            with pytest.raises(OSError, match=r"within the folder|Is a directory"):
                way(Folder(tmp_path / "run"), name)
    unchanged(private)


def test_a_folder_is_not_made_through_a_link(private: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(private)
    folder = Folder(tmp_path, "link")
    folder.make()
    assert folder.names() == []
    with pytest.raises(OSError, match="it is a link"):
        folder.write("new", b"")
    with pytest.raises(OSError, match="it is a link"):
        Folder(tmp_path, "link/new").make()
    unchanged(private)


def test_the_folder_itself_may_be_reached_through_a_link(private: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(private)
    folder = Folder(tmp_path / "link")
    folder.write("inner/new", b"1", durable=True)
    assert (private / "inner" / "new").read_bytes() == folder.read("inner/new") == b"1"
    assert (folder.has("file"), folder.has("inner"), folder.has("inner/new"), folder.has("x/y")) == (
        True,
        False,
        True,
        False,
    )
    assert (folder.size("file"), folder.read("file", 3)) == (len(PRIVATE), PRIVATE[:3])
    assert folder.names() == ["file", "inner"]
    folder.remove("inner/new")
    folder.remove("inner/new")
    unchanged(private)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "inner").mkdir()
    for flags in (os.O_RDONLY, os.O_RDWR):
        with pytest.raises(OSError, match="must be a regular file"):
            Folder(tmp_path).open("pipe", flags)
    with pytest.raises(IsADirectoryError):
        Folder(tmp_path).open("inner")


def test_a_file_with_other_names_is_not_written_in_place(private: Path, tmp_path: Path) -> None:
    """An archive can unpack such a file: a name in its folder for a file that was there before."""
    os.link(private / "file", tmp_path / "shared")
    folder = Folder(tmp_path)
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_CREAT):
        with pytest.raises(OSError, match="it has other names"):
            folder.open("shared", flags)
    with pytest.raises(OSError, match="it has other names"):
        folder.open("shared", alone=True)
    assert folder.read("shared") == PRIVATE
    folder.write("shared", b"mine")
    unchanged(private)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    with pytest.raises(OSError, match="directory"):
        Folder(tmp_path).write("inner", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]


def test_links_in_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    for name in ("data", "other"):
        (tmp_path / name).symlink_to("/")
    with pytest.raises(InputError, match=r"other must be a file or a folder, got a link"):
        Folder(tmp_path).refuse_links(but=("data",))
    (tmp_path / "other").unlink()
    Folder(tmp_path).refuse_links(but=("data",))
