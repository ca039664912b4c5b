"""The data sets of the paper's experiments, from published files or from smaller copies.

    python experiments/datasets.py                            # list the data sets and where they come from
    python experiments/datasets.py susy                       # download, verify, keep
    python experiments/datasets.py susy --file SUSY.csv.gz    # the same from a published file that you have
    python experiments/datasets.py covtype --file openml:1596 # or from OpenML, or its .arff or .parquet file

The paper splits each data set 70/30 and trains on 38,500 rows. So 55,000 rows are kept of a larger file, drawn with a
fixed seed: 70 % of them are 38,500. (The paper validates on all of the other 30 %, we on the 16,500 drawn rows.) If the
checksum of a file is known, the file must have it; every file must have the expected rows, columns and classes. The
kept file records the name and checksum of its source. An interrupted download continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from published import LIBSVM, ROWS, TARGET, File, checksum, download, draw, from_openml, read_rows, verify

from pydaub.data import read
from pydaub.data.formats.openml import PREFIX
from pydaub.data.formats.synthetic import PAPER_ROWS
from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

HERE: Final = Path(__file__).parent
KEPT: Final = HERE / "data"  # made from published files; not committed
COPIES: Final = HERE.parent.parent / "shared" / "data"  # smaller copies, if there is such a folder beside the checkout
UCI: Final = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class DataSet:
    """A data set of the experiments.

    Parameters
    ----------
    name
        Name on the command line and in file names.
    title
        Name in tables and figures.
    area
        Application area, as in the paper.
    file
        The published file.
    copy
        A smaller copy of it.
    rule
        How the label is defined, if it is not the published one.
    copy_rule
        The same for the copy, if it differs.
    derived
        Function that computes the label from the published one.
    difference
        How the copy differs from what the paper used.
    in_paper
        Whether the paper's experiments include it.
    """

    name: str
    title: str
    area: str
    file: File | None = None
    copy: File | None = None
    rule: str = ""
    copy_rule: str = ""
    derived: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]] | None = None
    difference: str = ""
    in_paper: bool = True


def _since_2002(years: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (years >= 2002).astype(np.int64)  # noqa: PLR2004  # the median year


DATA_SETS: Final = {
    data_set.name: data_set
    for data_set in (
        DataSet("parity", "PARITY", "artificial", rule="the parity of 5 of 16 binary features, 11 of which distract"),
        DataSet(
            "higgs",
            "HIGGS",
            "signal processing",
            File(
                f"{UCI}/00280/HIGGS.csv.gz",
                11_000_000,
                28,
                2,
                0,
                "ea302c18164d4e3d916a1e2e83a9a8d07069fa6ebc7771e4c0540d54e593b698",
            ),
            File("higgs.parquet", 25_970, 28, 2),
            difference="25,970 of 11,000,000 rows",
        ),
        DataSet(
            "buzz",
            "Buzz",
            "social media",
            File(
                f"{UCI}/00248/classification.tar.gz",
                140_707,
                77,
                2,
                -1,
                member="Twitter-Absolute-Sigma-500.data",
            ),
            File("buzz_tomshardware_rs500.parquet", 7_905, 96, 2),
            rule="as published: whether there was a buzz, absolute labelling with sigma = 500 (the paper does not say)",
            copy_rule="as published: whether there was a buzz, relative labelling with sigma = 500",
            difference="the Tom's Hardware part, not Twitter's: 7,905 rows, 96 features",
        ),
        DataSet(
            "covtype",
            "Cover Type",
            "forestry",
            File(
                f"{UCI}/covtype/covtype.data.gz",
                581_012,
                54,
                7,
                -1,
                "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
            ),
            File("covtype.parquet", 100_000, 54, 7),
            difference="100,000 of 581,012 rows",
        ),
        DataSet(
            "songs",
            "Million Songs",
            "music",
            File(f"{UCI}/00203/YearPredictionMSD.txt.zip", 515_345, 90, 2, 0, member=".txt"),
            File("yearprediction_msd_part.parquet", 8_162, 90, 2),
            rule="whether a song is of 2002 (the median year) or later; the paper does not say which rule it used",
            derived=_since_2002,
            difference="8,162 of 515,345 rows",
        ),
        DataSet(
            "susy",
            "SUSY",
            "high-energy physics",
            File(
                f"{UCI}/00279/SUSY.csv.gz",
                5_000_000,
                18,
                2,
                0,
                "be56cb5598da8ece4b13912230ee713bab8b3431a7d118e0054ffdf3a2f25664",
            ),
            File("susy_lowlevel8.parquet", 20_997, 8, 2),
            difference="20,997 of 5,000,000 rows, 8 of 18 features",
        ),
        DataSet(
            "sensit",
            "Vehicle Sensing",
            "vehicle mgmt.",
            File(f"{LIBSVM}/multiclass/vehicle/combined.bz2", 78_823, 100, 3, 0),
        ),
        DataSet(
            "blogfeedback",
            "BlogFeedback",
            "social media",
            copy=File("blogfeedback.parquet", 60_021, 280, 2),
            rule="whether there is a comment within a day",
            in_paper=False,
        ),
        DataSet("connect4", "Connect-4", "games", copy=File("connect4.parquet", 67_557, 42, 3), in_paper=False),
        DataSet("adult", "Adult", "census", copy=File("adult.parquet", 48_842, 14, 2), in_paper=False),
        DataSet("electricity", "Electricity", "energy", copy=File("electricity.parquet", 45_312, 8, 2), in_paper=False),
    )
}


def data_set(name: str) -> DataSet:
    """Return the data set of this name."""
    if name not in DATA_SETS:
        raise InputError(f"`data` must be one of {', '.join(DATA_SETS)}, got {name!r}.")
    return DATA_SETS[name]


def source(name: str, kept: Path = KEPT, copies: Path = COPIES) -> tuple[str, str]:
    """Return the source for `pydaub.data.load`, and a description of where it comes from."""
    wanted = data_set(name)
    if name == "parity":
        return f"parity:{PAPER_ROWS}", "made as the paper says"
    path = kept / f"{name}.parquet"
    if path.is_file():
        return str(path), f"{_about(path)['file']}, as published"
    copy = wanted.copy
    if copy is None or not (copies / copy.address).is_file():
        raise InputError(f"{name} must be in {kept}, got no such file. {_advice(wanted, copies)}")
    words = f"{copy.address}, a smaller copy" + (f": {wanted.difference}" if wanted.difference else "")
    if copy.rows <= ROWS:
        return str(copies / copy.address), words
    drawn = kept / f"{name}.copy.parquet"
    if not drawn.is_file():
        frame = pd.read_parquet(copies / copy.address)
        _write(drawn, draw(frame), verify(frame, copy, copies / copy.address))
    return str(drawn), words


def _advice(wanted: DataSet, copies: Path) -> str:
    if wanted.file:
        return f"Fetch it: python experiments/datasets.py {wanted.name} (with --file if you have {wanted.file.name})."
    return f"There is only a copy of it: put {wanted.copy.address if wanted.copy else 'it'} into {copies}."


def present(kept: Path = KEPT, copies: Path = COPIES) -> list[str]:
    """Return the names of the data sets that are available."""
    return [
        name
        for name, one in DATA_SETS.items()
        if name == "parity"
        or (kept / f"{name}.parquet").is_file()
        or (one.copy and (copies / one.copy.address).is_file())
    ]


def keep(name: str, path: str | Path, kept: Path = KEPT) -> Path:
    """Verify a published file or `openml:ID`, draw rows from it, keep them, and return the path."""
    wanted = data_set(name)
    file = wanted.file
    if file is None:
        raise InputError(f"{name} must have a published file, got none. It has {wanted.copy and wanted.copy.address}.")
    if str(path).startswith(PREFIX):
        whole = from_openml(read(str(path)), path, file)
        frame, rows, origin = draw(whole), len(whole), str(path)
    else:
        path = Path(path)
        origin = f"{path.name} with SHA-256 {checksum(path, file)}"
        frame, rows = read_rows(path, file)
    if rows != file.rows:
        raise InputError(f"{path} must hold {file.rows:,} rows, got {rows:,}. Fetch it again.")
    if wanted.derived:
        frame[TARGET] = wanted.derived(frame[TARGET].to_numpy())
    verify(frame, replace(file, rows=len(frame)), path)
    target = kept / f"{name}.parquet"
    _write(target, frame, {"file": origin, "rows": rows})
    return target


def _write(path: Path, frame: pd.DataFrame, about: dict[str, Any]) -> None:
    """Write rows with metadata, atomically."""
    slim = frame.apply(_slim).reset_index(drop=True)
    table = pa.Table.from_pandas(slim, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), "about": json.dumps(about)})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pq.write_table(table, part, compression="zstd")
    part.rename(path)


def _slim(column: pd.Series[Any]) -> pd.Series[Any]:
    if not pd.api.types.is_numeric_dtype(column):
        return column
    whole = (column == column.round()).all() and column.abs().max() < 2**31
    return column.astype(np.int32 if whole else np.float32)


def _about(path: Path) -> dict[str, Any]:
    metadata = pq.read_schema(path).metadata or {}
    found: dict[str, Any] = json.loads(metadata.get(b"about", b"{}"))
    return found


def main() -> None:
    """List the data sets, or fetch one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="?", help="data set to fetch; without a name, all are listed")
    parser.add_argument("--file", help="the published file, if you have it, or openml:ID")
    parser.add_argument("--kept", type=Path, default=KEPT, help="folder to keep it in")
    parser.add_argument("--copies", type=Path, default=COPIES, help="folder with smaller copies")
    arguments = parser.parse_args()
    try:
        if arguments.name is None:
            for name in DATA_SETS:
                print(f"{name:13} {_where(name, arguments.kept, arguments.copies)}")
            return
        wanted = data_set(arguments.name)
        if wanted.file is None:
            print(_where(wanted.name, arguments.kept, arguments.copies))
            return
        fetched = arguments.kept / "downloads"
        path = arguments.file or download(wanted.file.address, fetched)
        try:
            print(f"{keep(wanted.name, path, arguments.kept)}: verified and kept.")
        finally:
            if arguments.file is None:
                Path(path).unlink()  # its rows are kept, or it was not valid
    except InputError as error:
        sys.exit(f"{error}")


def _where(name: str, kept: Path, copies: Path) -> str:
    copy = DATA_SETS[name].copy
    if name in present(kept, copies) and copy and copy.rows > ROWS and not (kept / f"{name}.parquet").is_file():
        return f"{copy.address}, a smaller copy"  # without drawing rows from it now
    try:
        return source(name, kept, copies)[1]
    except InputError as error:
        return f"not available. {error}"


if __name__ == "__main__":
    main()
