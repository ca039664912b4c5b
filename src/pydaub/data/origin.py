"""The files from which data was prepared, and whether they have changed since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple, Self

from pydaub.data.formats import files_of
from pydaub.data.formats.stores import is_address
from pydaub.data.names import listed
from pydaub.errors import InputError

ORIGIN: Final = "source.json"


class Origin(NamedTuple):
    """A file, folder or glob, with the size and the time of change of each of its files."""

    source: str
    files: dict[str, list[int]]

    @classmethod
    def of(cls, source: str | Path) -> Self:
        """Return the files of a source as they are now."""
        path = source if is_address(source) else Path(source).absolute()
        found = {str(each): each.stat() for each in files_of(path)}
        return cls(str(path), {name: [about.st_size, about.st_mtime_ns] for name, about in found.items()})

    def changes(self) -> str:
        """Return what has changed since, in words; nothing if all is as it was, or if the source is gone."""
        path = Path(self.source)
        try:
            now = self.of(self.source).files
        except InputError:
            if path.is_dir() and any(path.iterdir()):
                raise
            return ""
        differing = {
            "added": [name for name in now if name not in self.files],
            "removed": [name for name in self.files if name not in now],
            "changed": [name for name in now if name in self.files and now[name] != self.files[name]],
        }
        return ", ".join(
            f"{listed((Path(name).name for name in names), 3)} {what}" for what, names in differing.items() if names
        )

    def to_json(self) -> str:
        """Return it as text, which `refuse_changed` reads."""
        return json.dumps(self._asdict(), indent=1)


def refuse_changed(folder: Path) -> None:
    """Raise if the source of prepared data has changed since, so that no run is on old rows by accident."""
    path = folder / ORIGIN
    if not path.is_file():
        return
    try:
        origin = Origin(**json.loads(path.read_text(encoding="utf-8")))
        changes = origin.changes()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} must be a file that can be read, got {error.strerror}.") from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is damaged. Remove it to use the rows as they are, or prepare them again.") from None
    if changes:
        raise InputError(
            f"{folder} must hold the rows of {origin.source}, got changes there since it was prepared: {changes}."
            f" Prepare it again into a new folder, or remove {path} to use the rows as they were."
        )
