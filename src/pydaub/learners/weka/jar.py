"""Where is WEKA, what does it hold, and what is missing on this machine?

The jar is read as the archive that it is: no Java is needed to know its version and its classes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

from pydaub.errors import InputError

VARIABLE: Final = "PYDAUB_WEKA_JAR"
DEBIAN: Final = "/usr/share/java/weka.jar"
VERSION: Final = "weka/core/version.txt"


@dataclass(frozen=True, slots=True)
class Jar:
    """WEKA as it was found: its file, with those of its packages where some were named, version and classes."""

    paths: tuple[str, ...]
    version: str
    classes: frozenset[str]


def use_jar(path: str | None) -> str | None:
    """Have this process, and those that it starts, use this jar, and return its place: that of the environment if None.

    Jars of WEKA's packages may follow, as on a class path.
    """
    named = path or os.environ.get(VARIABLE)
    if named:
        os.environ[VARIABLE] = os.pathsep.join(str(Path(part).absolute()) for part in named.split(os.pathsep) if part)
    return os.environ.get(VARIABLE) or None


def jar() -> Jar:
    """Return the WEKA to use: the one that was named, or that of Debian and Ubuntu."""
    named = os.environ.get(VARIABLE, "")
    if not named and not Path(DEBIAN).is_file():
        raise InputError(
            f"WEKA must be installed, got no {DEBIAN}. `sudo apt install weka` does it;"
            f" elsewhere name its jar with `--weka-jar` or in {VARIABLE}."
        )
    paths = tuple(part for part in (named or DEBIAN).split(os.pathsep) if part)
    for path in paths:
        if not Path(path).is_file():
            raise InputError(
                f"`--weka-jar`, {VARIABLE} or the run must name WEKA's jar, got {path!r}, which is no file."
            )
    return _read(paths, tuple(Path(path).stat().st_mtime_ns for path in paths))


@lru_cache(maxsize=8)
def _read(paths: tuple[str, ...], _changed: tuple[int, ...]) -> Jar:
    version, classes = "", set[str]()
    for path in paths:
        try:
            with ZipFile(path) as archive:
                names = archive.namelist()
                classes.update(name[:-6].replace("/", ".") for name in names if name.endswith(".class"))
                if VERSION in names:
                    version = archive.read(VERSION).decode().strip().replace("-", ".", 2)  # 3-9-8-SNAPSHOT
        except (OSError, BadZipFile) as error:
            raise InputError(
                f"`--weka-jar`, {VARIABLE} or the run must name WEKA's jar, got {path!r}: {error}."
            ) from None
    if not version:
        raise InputError(
            f"`--weka-jar`, {VARIABLE} or the run must name WEKA's jar, got {paths[0]!r}, which is none of WEKA's."
        )
    return Jar(paths, version, frozenset(classes))


def obstacle(class_name: str | None = None) -> str:
    """Return why WEKA, or a class of it, cannot be used here, with the command that mends it; empty if it can."""
    if find_spec("jpype") is None:
        return "JPype is not installed. `pip install 'pydaub[weka]'` does it."
    if not _java_is_there(os.environ.get("JAVA_HOME")):
        return "Java is not installed. `sudo apt install default-jre-headless` does it."
    try:
        found = jar()
    except InputError as error:
        return str(error)
    if class_name is not None and class_name not in found.classes:
        return f"WEKA {found.version} has no {class_name}. WEKA 3.6, as Debian has it, does."
    return ""


@lru_cache(maxsize=8)
def _java_is_there(_home: str | None) -> bool:
    import jpype  # noqa: PLC0415  # optional, and slow to import

    try:
        jpype.getDefaultJVMPath()
    except (jpype.JVMNotFoundException, OSError):
        return False
    return True
