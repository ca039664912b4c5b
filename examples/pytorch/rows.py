"""Write rows of text, pieces of Python's own standard library, to train.jsonl and dev.jsonl."""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

LENGTH = 257  # bytes of a row


def main() -> None:
    """Cut the files into pieces of equal length; one in twenty is for validation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=120_000, help="rows to train on, at most")
    wanted = parser.parse_args().rows
    files = sorted(Path(os.__file__).parent.rglob("*.py"))
    files = [file for file in files if "site-packages" not in file.parts]
    pieces = []
    for file in files:
        text = file.read_bytes().decode("ascii", errors="ignore")
        pieces += [text[start : start + LENGTH] for start in range(0, len(text) - LENGTH, LENGTH)]
    random.Random(0).shuffle(pieces)
    dev = max(min(wanted, len(pieces)) // 20, 100)
    for name, rows in (("dev", pieces[:dev]), ("train", pieces[dev : dev + wanted])):
        Path(f"{name}.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), encoding="utf-8")
        print(f"{name}.jsonl: {len(rows):,} rows")


if __name__ == "__main__":
    main()
