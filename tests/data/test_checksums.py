from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.forms import FORMS, LABELS
from pydaub import InputError
from pydaub.data import Prepared, checksums, load, prepare
from pydaub.data.checksums import Damaged, check, opened, sealed

FIELDS = {"name": "J*ü\n", "numbers": [1, 2.5, None, 1e300], "nested": {"crc": "x", "yes": True}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of several pieces, of one and of none."""
    monkeypatch.setattr(checksums, "PIECE", 100)
    monkeypatch.setattr(checksums, "READ", 30)
    for name, size in {"a": 1000, "b": 250, "c": 7, "empty": 0}.items():
        (tmp_path / name).write_bytes(bytes(place * 7 % 251 for place in range(size)))
    return tmp_path


def test_a_changed_bit_is_noticed_anywhere(folder: Path) -> None:
    sums = checksums.checksums(folder)
    assert {name: (each["bytes"], len(each["crc"]) // 8) for name, each in sums.items()} == {
        "a": (1000, 10), "b": (250, 3), "c": (7, 1), "empty": (0, 0)
    }  # fmt: skip
    check(folder, sums)
    for name in ("a", "b", "c"):
        content = (folder / name).read_bytes()
        for place in range(0, len(content), 7):  # each block, and each bit of a byte
            changed = bytearray(content)
            changed[place] ^= 1 << place % 8
            (folder / name).write_bytes(changed)
            with pytest.raises(Damaged, match=f"{name} does not match its checksum"):
                check(folder, sums)
        (folder / name).write_bytes(content)
    check(folder, sums)


def test_a_file_of_another_length_is_noticed(folder: Path) -> None:
    sums = checksums.checksums(folder)
    for content, found in ((b"", "0"), (b"x" * 8, "8")):
        (folder / "c").write_bytes(content)
        with pytest.raises(Damaged, match=f"c has {found} bytes instead of 7"):
            check(folder, sums)
    (folder / "c").unlink()
    with pytest.raises(FileNotFoundError):
        check(folder, sums)


def test_of_very_large_files_the_beginnings_are_checked_and_a_note_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = checksums.checksums(folder)
    assert check(folder, sums) is None
    monkeypatch.setattr(checksums, "MOST", 500)
    assert "only the first" in str(check(folder, sums))
    content = (folder / "a").read_bytes()
    for place, noticed in ((50, True), (150, True), (950, False)):
        (folder / "a").write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        if noticed:
            with pytest.raises(Damaged):
                check(folder, sums)
        else:
            assert "only the first" in str(check(folder, sums))


def test_every_flipped_bit_of_a_sealed_file_is_noticed_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    content = sealed(FIELDS).encode()
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with suppress(ValueError, TypeError):
                found = opened(path)
                assert {name: found[name] for name in FIELDS} == FIELDS, f"bit {bit} of byte {place}"


def test_a_file_without_a_checksum_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(FIELDS))
    assert opened(tmp_path / "x.json") == FIELDS
    (tmp_path / "x.json").write_text(sealed(FIELDS).replace("2.5", "2.6"))
    with pytest.raises(Damaged, match=r"x.json does not match its checksum \(if you changed it yourself, remove"):
        opened(tmp_path / "x.json")


@pytest.mark.parametrize("form", ["float64", "csr", "pandas"])
def test_a_flipped_bit_of_prepared_rows_is_noticed_or_harmless(form: str, tmp_path: Path) -> None:
    prepared = prepare(FORMS[form], LABELS)
    prepared.save(tmp_path / "data")
    files = {path: path.read_bytes() for path in sorted((tmp_path / "data").iterdir())}

    @given(st.sampled_from(sorted(files)), st.floats(0, 1, exclude_max=True), st.integers(0, 7))
    def flip(path: Path, share: float, bit: int) -> None:
        changed = bytearray(files[path])
        place = int(share * len(changed))
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        try:
            if path.name == "prepared.json":
                with suppress(InputError):
                    found = Prepared.open(tmp_path / "data", checked=True)
                    assert (found.fingerprint, found.schema) == (prepared.fingerprint, prepared.schema)
            else:
                with pytest.raises(InputError, match=rf"{path.name} does not match its checksum. Prepare the data"):
                    load(tmp_path / "data", None)
        finally:
            path.write_bytes(files[path])

    flip()
    assert load(tmp_path / "data", None).fingerprint == prepared.fingerprint


def test_prepared_rows_without_checksums_are_opened(tmp_path: Path) -> None:
    prepare(FORMS["float64"], LABELS).save(tmp_path / "data")
    about = tmp_path / "data" / "prepared.json"
    fields = opened(about)
    del fields["files"]
    about.write_text(json.dumps(fields))
    assert load(tmp_path / "data", None).full_size
