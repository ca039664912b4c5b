"""What reading gives, whatever the format, and the first steps that all text formats share."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydaub.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np

GZIP: Final = b"\x1f\x8b"
BOM: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Source:
    """Rows as they were read, before anything is decided about them.

    `rows` is a pandas frame or, of formats that are sparse, a CSR matrix. A target that is no column of `rows` is in
    `target`; `label` names the column that the source itself declares to be the target.
    """

    name: str
    rows: Any
    target: np.ndarray[Any, Any] | None = None
    label: str | None = None


def content(path: Path, encoding: str | None) -> str:
    """Return the text of a file, gzipped or not, and refuse what is none."""
    raw = path.read_bytes()
    if raw.startswith(GZIP):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} must be a whole gzip file, got: {error}. Fetch or write it again.") from None
    try:
        text = raw.decode(encoding or "utf-8")
    except LookupError:
        raise InputError(f"`encoding` must be one that Python knows, such as latin-1, got {encoding!r}.") from None
    except UnicodeError as error:
        where = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(
            f"{path} must be {encoding or 'UTF-8'} text, got something else{where}. "
            "Name its encoding, for example --encoding latin-1."
        ) from None
    text = text.removeprefix(BOM)
    if "\0" in text:
        raise InputError(
            f"{path} must be text, got zero bytes in it. Name its encoding (--encoding utf-16?) or format."
        )
    if not text.strip():
        raise InputError(f"{path} must hold rows, got an empty file.")
    return text


def checked_names(names: Iterable[object], where: str) -> list[str]:
    """Return column names as text, blank ones by their position, and refuse two that are the same."""
    found = [str(name).strip() or f"column {position}" for position, name in enumerate(names, start=1)]
    twice = list(dict.fromkeys(name for name in found if found.count(name) > 1)) if len(set(found)) < len(found) else []
    if twice:
        raise InputError(f"{where} must not name two columns alike, got {listed(twice)} more than once. Rename them.")
    return found


def listed(names: Iterable[object], shown: int = 8) -> str:
    """Return names in quotes, the first few of many."""
    everything = [repr(name) for name in names]
    rest = f" and {len(everything) - shown} more" if len(everything) > shown else ""
    return ", ".join(everything[:shown]) + rest
