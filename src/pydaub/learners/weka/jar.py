"""Find WEKA's jar, read its version and classes, and report what is missing on this machine.

A jar is a zip archive, so that this needs no Java.
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
NOT_WEKA: Final = f"`--weka-jar`, {VARIABLE} or the run must name WEKA's jar, got {{}}."


@dataclass(frozen=True, slots=True)
class Jar:
    """WEKA's jar, followed by those of its packages if any, with its version and the names of all classes."""

    paths: tuple[str, ...]
    version: str
    classes: frozenset[str]


def use_jar(path: str | None) -> str | None:
    """Make this process and its children use a jar, and return its absolute path, or None if no jar is named.

    `path` is WEKA's jar, optionally followed by jars of WEKA packages, separated as on a class path. None keeps the
    jar that the environment variable PYDAUB_WEKA_JAR names.
    """
    named = path or os.environ.get(VARIABLE)
    if named:
        os.environ[VARIABLE] = os.pathsep.join(str(Path(part).absolute()) for part in named.split(os.pathsep) if part)
    return os.environ.get(VARIABLE) or None


def use_named_jar(path: str | None) -> str | None:
    """Use a jar as `use_jar` does; raise if a path was given that is not WEKA's jar, even where no learner needs it."""
    used = use_jar(path)
    if path:
        jar()
    return used


def jar() -> Jar:
    """Return the jar to use: the one that the user named, or else the one of Debian and Ubuntu."""
    named = os.environ.get(VARIABLE, "")
    if not named and not Path(DEBIAN).is_file():
        raise InputError(
            f"WEKA is not installed: there is no {DEBIAN}. Install it with `sudo apt install weka`,"
            f" or name its jar with `--weka-jar` or in {VARIABLE}."
        )
    paths = tuple(part for part in (named or DEBIAN).split(os.pathsep) if part)
    for path in paths:
        if not Path(path).is_file():
            raise InputError(NOT_WEKA.format(f"{path!r}, which is not a file"))
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
            raise InputError(NOT_WEKA.format(f"{path!r}: {error}")) from None
    if not version:
        raise InputError(NOT_WEKA.format(f"{paths[0]!r}, which is another jar"))
    return Jar(paths, version, frozenset(classes))


def obstacle(class_name: str | None = None) -> str:
    """Return why WEKA or one of its classes cannot be used here, and what to do; empty if it can."""
    if find_spec("jpype") is None:
        return "JPype is not installed. Run `pip install 'pydaub[weka]'`."
    if not _java_is_installed(os.environ.get("JAVA_HOME")):
        return "Java is not installed. Run `sudo apt install default-jre-headless`."
    try:
        found = jar()
    except InputError as error:
        return str(error)
    if class_name is not None and class_name not in found.classes:
        return f"WEKA {found.version} has no {class_name}. WEKA 3.6, which Debian packages, has it."
    return ""


@lru_cache(maxsize=8)
def _java_is_installed(_home: str | None) -> bool:
    import jpype  # noqa: PLC0415  # optional, and slow to import

    try:
        jpype.getDefaultJVMPath()
    except (jpype.JVMNotFoundException, OSError):
        return False
    return True
