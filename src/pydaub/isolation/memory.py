"""How a child process learns its memory limit, and how libraries report that they ran into it."""

from __future__ import annotations

from typing import Final

MEMORY_VARIABLE: Final = "PYDAUB_MEMORY"  # set in a limited child to its limit in bytes; the JVM's heap size needs it

_MEMORY_WORDS: Final = (
    "bad_alloc",
    "bad_malloc",
    "Cannot allocate memory",
    "MemoryError",
    "Memory allocation",
    "out of memory",
    "insufficient memory",  # the JVM
    "Could not reserve enough space",  # the JVM
    "can't start new thread",  # no memory for the thread's stack
)


def mentions_memory(text: str) -> bool:
    """Return whether a message contains the words of a library that could not allocate memory."""
    return any(word in text for word in _MEMORY_WORDS)
