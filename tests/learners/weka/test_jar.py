"""Where WEKA is found, what a jar is seen to hold, and what is said when something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from pydaub.errors import InputError
from pydaub.learners.weka import jar as where
from pydaub.learners.weka.jar import DEBIAN, VARIABLE, jar, obstacle, use_jar
from weka_here import needs_old_weka, needs_weka, newer_weka


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")


def made_jar(path: Path, version: str = "3-8-6", *classes: str) -> Path:
    with ZipFile(path, "w") as archive:
        archive.writestr("weka/core/version.txt", version)
        for name in classes:
            archive.writestr(name.replace(".", "/") + ".class", b"")
    return path


@needs_old_weka
def test_debians_jar_is_found_and_holds_everything() -> None:
    assert jar().paths == (DEBIAN,)
    assert jar().version.startswith("3.6.")
    assert "weka.classifiers.trees.BFTree" in jar().classes
    assert obstacle("weka.classifiers.trees.BFTree") == ""


def test_a_jar_that_is_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_jar(tmp_path / "weka.jar", "3-8-6", "weka.classifiers.trees.J48")
    with ZipFile(tmp_path / "package.jar", "w") as archive:
        archive.writestr("weka/classifiers/trees/SimpleCart.class", b"")
    monkeypatch.chdir(tmp_path)
    assert use_jar(f"weka.jar{os.pathsep}package.jar") == f"{tmp_path}/weka.jar{os.pathsep}{tmp_path}/package.jar"
    monkeypatch.chdir("/")
    assert (jar().version, len(jar().paths)) == ("3.8.6", 2)
    assert jar().classes == {"weka.classifiers.trees.J48", "weka.classifiers.trees.SimpleCart"}
    assert use_jar(None) == os.environ[VARIABLE]  # what was said before holds


def test_versions_are_as_weka_itself_calls_them(tmp_path: Path) -> None:
    use_jar(str(made_jar(tmp_path / "weka.jar", "3-9-8-SNAPSHOT")))
    assert jar().version == "3.9.8-SNAPSHOT"


def test_a_jar_that_has_changed_is_read_again(tmp_path: Path) -> None:
    path = made_jar(tmp_path / "weka.jar", "3-8-6")
    use_jar(str(path))
    assert jar().version == "3.8.6"
    made_jar(path, "3-9-1")
    os.utime(path, (1, 1))
    assert jar().version == "3.9.1"


@pytest.mark.parametrize("named", ["nowhere.jar", ".", "text.jar", "other.jar", "broken.jar"])
def test_what_is_no_jar_of_wekas_is_refused(named: str, tmp_path: Path) -> None:
    (tmp_path / "text.jar").write_text("no archive")
    with ZipFile(tmp_path / "other.jar", "w") as archive:
        archive.writestr("a.class", b"")
    (tmp_path / "broken.jar").write_bytes((tmp_path / "other.jar").read_bytes()[:-9])
    use_jar(str(tmp_path / named))
    with pytest.raises(InputError, match=f"must name WEKA's jar, got '{tmp_path}"):
        jar()


def test_without_a_jar_the_command_that_mends_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "DEBIAN", "/nowhere/weka.jar")
    with pytest.raises(InputError, match="`sudo apt install weka` does it; elsewhere name its jar with `--weka-jar`"):
        jar()


def test_without_jpype_the_command_that_mends_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "find_spec", lambda _: None)
    assert obstacle() == "JPype is not installed. `pip install 'pydaub[weka]'` does it."
    code = """
import sys
sys.modules["jpype"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "jpype" else found(name, *rest)
from pydaub import InputError, WekaClassifier
try:
    WekaClassifier().fit([[1], [2]], ["a", "b"])
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "WEKA must be usable here: JPype is not installed. `pip install 'pydaub[weka]'` does it.\n"


@needs_weka
def test_without_java_the_command_that_mends_it_is_told() -> None:
    code = """
import jpype
def nowhere():
    raise jpype.JVMNotFoundException("no JVM")
jpype.getDefaultJVMPath = nowhere
from pydaub.learners.weka.jar import obstacle
print(obstacle())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Java is not installed. `sudo apt install default-jre-headless` does it.\n"


def test_a_newer_weka_lacks_some_classes() -> None:
    use_jar(newer_weka())
    assert jar().version.startswith("3.9.")
    assert obstacle("weka.classifiers.trees.J48") == ""
    assert "has no weka.classifiers.trees.BFTree. WEKA 3.6" in obstacle("weka.classifiers.trees.BFTree")
