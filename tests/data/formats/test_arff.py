from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pydaub import InputError
from pydaub.data import Source, read

HEADER = """% made by hand
@RELATION 'some data'

@attribute width NUMERIC
@Attribute 'leaf length' real
@attribute "it's" integer
@ATTRIBUTE colour {red, 'dark blue', "it's"}
@attribute note string
@attribute when date "yyyy-MM-dd HH:mm:ss"
@attribute Class {yes,no}
@data
"""
ROWS = """1.5,2,3,red,hello,'2020-01-02 10:00:00',yes
% a remark
?,?,?,?,?,?,?

-1e3 , 0 ,7, 'dark blue' , 'a, b \\'c\\'' ,"2021-01-02 10:00:00", no
1,1,1,"it's",'?','2020-01-02 10:00:00',yes
"""


def arff(folder: Path, content: str | bytes, name: str = "x.arff") -> Source:
    raw = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(gzip.compress(raw, mtime=0) if name.endswith("gz") else raw)
    return read(folder / name)


@pytest.mark.parametrize("name", ["x.arff", "x.arff.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_features_of_the_format(name: str, end: str, tmp_path: Path) -> None:
    source = arff(tmp_path, (HEADER + ROWS).replace("\n", end), name)
    rows = source.rows
    assert source.label == "Class"
    assert list(rows) == ["width", "leaf length", "it's", "colour", "note", "when", "Class"]
    assert rows["width"].fillna(-1).tolist() == [1.5, -1, -1000, 1]
    assert rows["colour"].cat.categories.tolist() == ["red", "dark blue", "it's"]
    assert rows["colour"].astype(object).fillna("-").tolist() == ["red", "-", "dark blue", "it's"]
    assert rows["note"].fillna("-").tolist() == ["hello", "-", "a, b 'c'", "?"]
    assert rows["when"].iloc[2] == pd.Timestamp("2021-01-02 10:00")
    assert rows["Class"].astype(object).fillna("-").tolist() == ["yes", "-", "no", "yes"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_both_parsers_agree(quote: str, tmp_path: Path) -> None:
    header = "@relation r\n@attribute a numeric\n@attribute b string\n@attribute c {x,'y z',w}\n@data\n"
    body = f"1,hello world,x\n-2.5,?,{quote}y z{quote}\n?,{quote}a, b{quote},w\n 3 , t ,x\n"
    quick = arff(tmp_path, header + body)
    careful = arff(tmp_path, header + body.replace("hello", f"{quote}hel\\lo world{quote}").replace(" world,", ","))
    pd.testing.assert_frame_equal(quick.rows.drop(columns="b"), careful.rows.drop(columns="b"))
    assert quick.rows["b"].fillna("-").str.strip().tolist() == ["hello world", "-", "a, b", "t"]
    assert careful.rows["b"].fillna("-").tolist() == ["hello world", "-", "a, b", "t"]
    assert quick.label == "c"


def test_sparse_rows(tmp_path: Path) -> None:
    header = "@relation r\n@attribute a numeric\n@attribute b {no,yes}\n@attribute c numeric\n@data\n"
    source = arff(tmp_path, header + "{0 1.5, 1 yes}\n{}\n{ 2 ?,0 3 }\n{1 'yes'}\n")
    assert source.rows["a"].tolist() == [1.5, 0, 3, 0]
    assert source.rows["b"].tolist() == ["yes", "no", "no", "yes"]
    assert np.isnan(source.rows["c"].iloc[2])
    assert source.label is None
    for body in ("{0 1", "{7 1}", "{0}", "1,yes,2\n{0 1}"):
        with pytest.raises(InputError, match=r"must have (sparse rows such as|3 values in every row)"):
            arff(tmp_path, header + body)
    with pytest.raises(InputError, match="must have numbers in 'a', as declared, got 'x'"):
        arff(tmp_path, header + "{0 x}")


def test_the_default_date_format(tmp_path: Path) -> None:
    rows = arff(tmp_path, "@relation r\n@attribute d DATE\n@data\n2020-05-06T07:08:09\n").rows
    assert rows["d"].tolist() == [pd.Timestamp("2020-05-06 07:08:09")]


A = "@relation r\n@attribute a numeric\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must hold rows, got an empty file"),
        ("a,b\n1,2\n", "must be an ARFF file, got no line `@data` in it"),
        ("@data\n1\n", "must be an ARFF file, got no `@attribute` in it"),
        (A + "@data\n", "must hold rows, got none after `@data`"),
        (A + "@data\n% nothing\n", "must hold rows, got none after `@data`"),
        (A + "@attribute\n@data\n1\n", "must declare attributes as `@attribute name type`, got '@attribute'"),
        (A + "@attribute b complex\n@data\n1,2\n", "must declare 'b' as numeric, .*, got 'complex'"),
        (A + "@attribute b relational\n@data\n1,2\n", "got 'relational'. Relational attributes are not read"),
        (A + "@attribute a real\n@data\n1,2\n", "must not name two columns alike, got 'a'"),
        (A + "@data\nx\n", "must have numbers in 'a', as declared, got 'x'"),
        (A + "@data\n1,2\n", "must have 1 values in every row, one for each attribute, got 2 in '1,2'"),
        (A + "@attribute b {x}\n@data\n1,y\n", "must have declared values only in 'b', got 'y'"),
        (A + "@attribute b string\n@data\n1,'open\n", "must separate values by commas and close its quotes, got"),
        (A + "@attribute b date\n@data\n1,yesterday\n", "must have dates as declared in 'b', got"),
        (A + "@attribute b date 'EEE'\n@data\n1,Mon\n", "must give 'b' a format of yyyy, .*, got 'EEE'"),
        (b"\xff\xfe@data", "must be UTF-8 text, got UTF-16 text. Name its encoding: --encoding utf-16"),
    ],
)
def test_a_file_that_is_not_arff_is_refused(content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        arff(tmp_path, content)
