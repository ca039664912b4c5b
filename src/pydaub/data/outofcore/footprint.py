"""How much memory it takes to read a Parquet or Arrow file, told by the headers within it before a row is read.

Parquet is read a page of each column at a time, however large its row groups are; but a page, and a column's
dictionary, are unpacked as a whole. Arrow files are mapped, which takes no memory, unless they are packed: then a
batch is unpacked as a whole.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

HEADER: Final = 64  # bytes, in which the sizes at the beginning of a page's header are
INTEGER: Final = 5  # Thrift's compact protocol: the type of a 32-bit number
PAGE_SIZES: Final = (2, 3)  # fields of a page's header: bytes unpacked, bytes packed
STORED: Final = -1  # in the place of the unpacked length of what was not worth packing
HEADER_TABLE, BUFFERS, COMPRESSION = 2, 2, 3  # fields of Arrow's messages


def of_row_group(file: BinaryIO, group: Any, columns: Sequence[int], most: int) -> int:  # noqa: ANN401  # untyped
    """Return the bytes that these columns of a row group take while it is read; exact only if more than `most`."""
    chunks = [group.column(place) for place in columns]
    whole = sum(chunk.total_uncompressed_size + chunk.total_compressed_size for chunk in chunks)
    return whole if whole <= most else sum(_of_chunk(file, chunk) for chunk in chunks)


def _of_chunk(file: BinaryIO, chunk: Any) -> int:  # noqa: ANN401  # untyped
    places = [chunk.dictionary_page_offset, chunk.data_page_offset]
    return sum(_of_page(file, place) for place in places if place)


def _of_page(file: BinaryIO, place: int) -> int:
    """Return how large a page is, packed and unpacked: the second and third of the numbers at its beginning."""
    file.seek(place)
    found = dict(_numbers(file.read(HEADER)))
    return sum(found.get(field, 0) for field in PAGE_SIZES)


def _numbers(header: bytes) -> Iterator[tuple[int, int]]:
    """Yield the fields with which a structure of Thrift's begins, as far as they are 32-bit numbers."""
    place, field = 0, 0
    while place < len(header) and header[place] & 15 == INTEGER:
        field += header[place] >> 4
        place, value, shift = place + 1, 0, 0
        while place < len(header):
            value |= (header[place] & 127) << shift
            shift, place = shift + 7, place + 1
            if header[place - 1] < 128:  # noqa: PLR2004  # the last of its bytes
                break
        yield field, (value >> 1) ^ -(value & 1)


def of_batch(message: pa.Message) -> int:
    """Return the bytes that an Arrow batch takes while it is unpacked; none if it is not packed, and so is mapped."""
    about, body = bytes(message.metadata), message.body
    batch = _table(about, _field(about, _table(about, 0), HEADER_TABLE))
    if body is None or not _field(about, batch, COMPRESSION):
        return 0
    buffers = _table(about, _field(about, batch, BUFFERS))
    total = 0
    for number in range(_read("I", about, buffers)):
        place, length = _read("qq", about, buffers + 4 + 16 * number)
        if length:
            unpacked = _read("q", body.slice(place, 8).to_pybytes(), 0)
            total += length + (length if unpacked == STORED else unpacked)
    return total


def _table(about: bytes, place: int) -> int:
    """Return where a table or a list of flatbuffers is that this place refers to."""
    return place + int(_read("I", about, place))


def _field(about: bytes, table: int, number: int) -> int:
    """Return where a field of a table is, 0 if it is not there."""
    names = table - int(_read("i", about, table))
    if 4 + 2 * number >= _read("H", about, names):
        return 0
    offset = int(_read("H", about, names + 4 + 2 * number))
    return table + offset if offset else 0


def _read(kind: str, content: bytes, place: int) -> Any:  # noqa: ANN401  # one number or several
    found = struct.unpack_from(f"<{kind}", content, place)
    return found[0] if len(found) == 1 else found
