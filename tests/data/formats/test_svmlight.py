from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from pydaub import InputError
from pydaub.data import Source, read

LARGE = (10**8, 2**31 - 2, 2**31 - 1, 2**31, 2**63, 10**30)
CONTENT = b"# a remark\n1 1:0.5 3:2\n-1 2:1.5\n1 1:1 # another\n"


def svm(folder: Path, content: bytes, name: str = "x.svm") -> Source:
    (folder / name).write_bytes(content)
    return read(folder / name)


@pytest.mark.parametrize("name", ["x.svm", "x.libsvm", "x.svmlight", "x.svm.gz", "x.libsvm.bz2"])
def test_features_keep_their_numbers(name: str, tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT, mtime=0) if name.endswith("gz") else bz2.compress(CONTENT)
    source = svm(tmp_path, packed if name.endswith(("gz", "bz2")) else CONTENT, name)
    assert source.rows.toarray().tolist() == [[0, 0.5, 0, 2], [0, 0, 1.5, 0], [0, 1, 0, 0]]
    assert source.target is not None
    assert source.target.tolist() == [1, -1, 1]


def test_two_files_that_count_differently_are_not_shifted(tmp_path: Path) -> None:
    """A file without feature 0 may still count from 0."""
    assert svm(tmp_path, b"1 0:1 2:5\n").rows[0, 2] == svm(tmp_path, b"1 2:5\n").rows[0, 2] == 5


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.svm", b"", "must hold rows, got 0 rows and no feature"),
        ("x.svm", b"1\n0\n", "must hold rows, got 2 rows and no feature"),
        ("x.svm", b"hello world\n", "must be an svmlight file, got something else: .*hello"),
        *(("x.svm", b"1 %d:1\n" % number, "must number its features below 100,000,000, got") for number in LARGE),
        ("x.svm", b"1,2 1:1\n", "must be an svmlight file, .*1,2.* with one target"),
        ("x.svm", b"1 3:1 2:1\n", "features in rising order"),
        ("x.svm.gz", b"1 1:1\n", "must be an svmlight file, got something else"),
        ("x.svm.bz2", b"1 1:1\n", "must be an svmlight file, got something else"),
        ("x.svm.gz", gzip.compress(CONTENT, mtime=0)[:-9], "must be an svmlight file, got something else"),
    ],
)
def test_a_file_that_is_not_svmlight_is_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        svm(tmp_path, content, name)
