"""Finding WEKA's jar, reading it, and saying what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from pydaub.errors import InputError
from pydaub.learners.weka import jar as where
from pydaub.learners.weka.classifier import WekaClassifier
from pydaub.learners.weka.jar import DEBIAN, VARIABLE, jar, obstacle, use_jar
from weka_here import needs_old_weka, needs_weka, newer_weka


@pytest.fixture(autouse=True)
def _no_jar_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")


def made_jar(path: Path, version: str = "3-8-6", *classes: str) -> Path:
    with ZipFile(path, "w") as archive:
        archive.writestr("weka/core/version.txt", version)
        for name in classes:
            archive.writestr(name.replace(".", "/") + ".class", b"")
    return path


@needs_old_weka
def test_the_jar_of_debian_is_found_and_has_all_classes() -> None:
    assert jar().paths == (DEBIAN,)
    assert jar().version.startswith("3.6.")
    assert "weka.classifiers.trees.BFTree" in jar().classes
    assert obstacle("weka.classifiers.trees.BFTree") == ""


def test_a_jar_that_the_user_names_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_jar(tmp_path / "weka.jar", "3-8-6", "weka.classifiers.trees.J48")
    with ZipFile(tmp_path / "package.jar", "w") as archive:
        archive.writestr("weka/classifiers/trees/SimpleCart.class", b"")
    monkeypatch.chdir(tmp_path)
    assert use_jar(f"weka.jar{os.pathsep}package.jar") == f"{tmp_path}/weka.jar{os.pathsep}{tmp_path}/package.jar"
    monkeypatch.chdir("/")
    assert (jar().version, len(jar().paths)) == ("3.8.6", 2)
    assert jar().classes == {"weka.classifiers.trees.J48", "weka.classifiers.trees.SimpleCart"}
    assert use_jar(None) == os.environ[VARIABLE]  # keeps the previous jar


def test_the_version_is_written_as_in_weka(tmp_path: Path) -> None:
    use_jar(str(made_jar(tmp_path / "weka.jar", "3-9-8-SNAPSHOT")))
    assert jar().version == "3.9.8-SNAPSHOT"


def test_a_changed_jar_is_read_again(tmp_path: Path) -> None:
    path = made_jar(tmp_path / "weka.jar", "3-8-6")
    use_jar(str(path))
    assert jar().version == "3.8.6"
    made_jar(path, "3-9-1")
    os.utime(path, (1, 1))
    assert jar().version == "3.9.1"


@pytest.mark.parametrize("named", ["nowhere.jar", ".", "text.jar", "other.jar", "broken.jar"])
def test_other_files_are_refused(named: str, tmp_path: Path) -> None:
    (tmp_path / "text.jar").write_text("not an archive")
    with ZipFile(tmp_path / "other.jar", "w") as archive:
        archive.writestr("a.class", b"")
    (tmp_path / "broken.jar").write_bytes((tmp_path / "other.jar").read_bytes()[:-9])
    use_jar(str(tmp_path / named))
    with pytest.raises(InputError, match=f"must name WEKA's jar, got '{tmp_path}"):
        jar()


def test_a_missing_jar_is_reported_with_a_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "DEBIAN", "/nowhere/weka.jar")
    with pytest.raises(InputError, match="Install it with `sudo apt install weka`, or name its jar with `--weka-jar`"):
        jar()


def test_a_missing_jpype_is_reported_with_a_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "find_spec", lambda _: None)
    assert obstacle() == "JPype is not installed. Run `pip install 'pydaub[weka]'`."
    with pytest.raises(InputError, match=r"WEKA cannot be used: JPype is not installed. Run `pip install"):
        WekaClassifier().fit([[1], [2]], ["a", "b"])


@pytest.mark.slow("weka")
def test_pydaub_is_imported_without_jpype() -> None:
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
    assert done.stdout == "WEKA cannot be used: JPype is not installed. Run `pip install 'pydaub[weka]'`.\n"


@needs_weka
def test_a_missing_java_is_reported_with_a_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import jpype  # noqa: PLC0415  # optional

    def missing() -> str:
        raise jpype.JVMNotFoundException("no JVM")

    monkeypatch.setattr(jpype, "getDefaultJVMPath", missing)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")  # `obstacle` caches the answer for each value
    assert obstacle() == "Java is not installed. Run `sudo apt install default-jre-headless`."


def test_a_newer_weka_lacks_some_classes() -> None:
    use_jar(newer_weka())
    assert jar().version.startswith("3.9.")
    assert obstacle("weka.classifiers.trees.J48") == ""
    assert "has no weka.classifiers.trees.BFTree. WEKA 3.6" in obstacle("weka.classifiers.trees.BFTree")
