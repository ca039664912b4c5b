"""Files in an object store (S3, Google Cloud Storage), or anywhere else that fsspec can read.

pyarrow itself reads `s3://` and `gs://`; other addresses need fsspec and its package for them. Credentials come from
the environment or the files of these services, never from an address, which is written to journals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from pydaub.errors import InputError, one_line

NATIVE: Final = ("s3", "gs", "gcs")  # which pyarrow reads by itself
# What may follow a question mark in an address. None of it is secret.
SETTINGS: Final = ("scheme", "region", "endpoint_override", "retry_limit_seconds")
ANONYMOUS: Final = "anonymous"
WILD: Final = frozenset("*[")  # characters of a pattern


class About(NamedTuple):
    """What `stat` returns of a file in a store, by the same names as for a local file."""

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True, order=True)
class Stored:
    """A file in a store, with as much of the interface of a path as readers need."""

    address: str
    place: str = field(compare=False)  # within the store
    system: Any = field(compare=False, repr=False)  # of pyarrow

    def __str__(self) -> str:
        return self.address

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.place.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the name."""
        return Path(self.name).suffix

    def stat(self) -> About:
        """Return the size and the time of change."""
        found = _reached(self.address, lambda: self.system.get_file_info(self.place))
        return About(found.size or 0, found.mtime_ns or 0)

    def native(self) -> pa.NativeFile:
        """Return the file, opened for reading at any position."""
        return _reached(self.address, lambda: self.system.open_input_file(self.place))

    def read_bytes(self) -> bytes:
        """Return the content."""
        with self.native() as file:
            return bytes(_reached(self.address, file.read))


File: TypeAlias = Path | Stored


def native(file: File) -> pa.NativeFile:
    """Return a file, local or in a store, opened for reading at any position."""
    return file.native() if isinstance(file, Stored) else pa.OSFile(str(file))


def is_address(source: object) -> bool:
    """Whether this is the address of a file in a store, not a path.

    >>> is_address("s3://bucket/rows.parquet"), is_address("rows.parquet")
    (True, False)
    """
    scheme, separator, _ = str(source).partition("://")
    return bool(separator) and scheme.replace("+", "").replace("-", "").isalnum()


def located(source: str | Path) -> str | Path:
    """Return a path, also of an address that begins with `file://`, or another address."""
    if not is_address(source):
        return Path(source)
    scheme, _, rest = str(source).partition("://")
    return Path(unquote(rest.removeprefix("localhost"))) if scheme == "file" else str(source)


def found_at(address: str) -> tuple[list[Stored], list[str]]:
    """Return the files at an address, in the order of their names, and the names of folders beside them.

    Each part of the address may be a pattern with `*` or brackets; then there may be no file. A question mark begins
    the settings.
    """
    from pyarrow import fs  # noqa: PLC0415  # not needed for local files

    system, place, settings = _opened(address)
    scheme = address.partition("://")[0]

    def stored(path: str) -> Stored:
        return Stored(f"{scheme}://{path.lstrip('/') if scheme in NATIVE else path}{settings}", path, system)

    parts = place.split("/")
    fixed = next((number for number, part in enumerate(parts) if not WILD.isdisjoint(part)), None)
    if fixed is None:
        about = _reached(address, lambda: system.get_file_info(place))
        if about.type == fs.FileType.File:
            return [stored(place)], []
        if about.type == fs.FileType.NotFound:
            raise InputError(f"{address} must be a file that can be read, got no such file.")
    base = "/".join(parts[:fixed])
    selector = fs.FileSelector(base, recursive=fixed is not None and fixed < len(parts) - 1)
    listed = sorted(_reached(address, lambda: system.get_file_info(selector)), key=lambda each: each.path)
    if fixed is not None:
        listed = [each for each in listed if _matches(each.path, parts)]
    files = [stored(each.path) for each in listed if each.type == fs.FileType.File]
    return files, [each.base_name for each in listed if each.type == fs.FileType.Directory and fixed is None]


def _matches(path: str, parts: list[str]) -> bool:
    own = path.split("/")
    return len(own) == len(parts) and all(fnmatchcase(one, part) for one, part in zip(own, parts, strict=True))


def _opened(address: str) -> tuple[Any, str, str]:
    """Return the file system of an address, the place in it, and the settings at the end of the address."""
    from pyarrow import fs  # noqa: PLC0415  # as above

    base, _, query = address.partition("?")
    scheme, _, rest = base.partition("://")
    bucket, _, path = rest.partition("/")
    unknown = [each for each in query.split("&") if each and each.partition("=")[0] not in SETTINGS]
    if unknown or bucket.rpartition("@")[0] not in {"", ANONYMOUS}:
        raise InputError(
            f"An address must contain no credentials, and no settings other than {', '.join(SETTINGS)}, got others"
            f" after {scheme}://. Give credentials in the environment, as for the service's own tools."
        )
    settings = f"?{query}" if query else ""
    if scheme in NATIVE:
        if not bucket:
            raise InputError(f"{address} must name a bucket, as in {scheme}://bucket/path, got none.")
        system, place = _reached(address, lambda: fs.FileSystem.from_uri(f"{scheme}://{bucket}{settings}"))
        return system, f"{place.rstrip('/')}/{path}".rstrip("/"), settings
    if find_spec("fsspec") is None:
        raise InputError(
            f"{address} must begin with s3:// or gs://, or fsspec must be installed, got neither. Install it with"
            " `pip install fsspec`, or copy the file."
        )
    from fsspec.core import url_to_fs  # noqa: PLC0415  # an optional library

    system, place = _reached(address, lambda: url_to_fs(base))
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(place).rstrip("/"), ""


def _reached(address: str, call: Any) -> Any:  # noqa: ANN401  # any call of a store's library
    """Return what a call to a store returns; report any error in one line."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001  # fsspec's packages raise exceptions of their own
        raise InputError(f"{address} must be a file that can be read, got {one_line(error).rstrip('.')}.") from None
