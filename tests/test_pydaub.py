from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

import pytest

import pydaub

SCIKIT_LEARNS = {"DaubSearch", "Space", "WekaClassifier", "load"}  # they need it


def test_the_public_names_are_those_listed() -> None:
    helpers = {"annotations", "import_module", "Any", "TYPE_CHECKING"}
    public = {name for name in dir(pydaub) if not name.startswith("_")} - helpers
    modules = {module.name for module in pkgutil.iter_modules(pydaub.__path__)}
    assert public - modules == set(pydaub.__all__)
    assert sorted(pydaub.__all__, key=str.lower) == sorted(set(pydaub.__all__), key=str.lower)


def test_importing_needs_the_standard_library_alone() -> None:
    code = "import sys; before = {*sys.modules}; import pydaub; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded - set(sys.stdlib_module_names) == {"pydaub"}
    named = f"import sys; from pydaub import {', '.join({*pydaub.__all__} - SCIKIT_LEARNS)}"
    code = f"{named}; print({{'sklearn', 'pandas', 'numpy'}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"


def test_the_search_is_imported_when_it_is_used() -> None:
    from pydaub import DaubSearch  # noqa: PLC0415  # that is the point
    from pydaub.search import DaubSearch as defined  # noqa: PLC0415  # the same

    assert DaubSearch is defined
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        pydaub.nonsense  # noqa: B018  # that is the point


@pytest.mark.parametrize("name", pydaub.__all__)
def test_public_docstrings_name_every_parameter(name: str) -> None:
    value = getattr(pydaub, name)
    if not callable(value):
        return
    described = inspect.getdoc(value) or ""
    assert described
    plain = getattr(value, "_is_protocol", False) or (inspect.isclass(value) and "__init__" not in vars(value))
    given = [] if plain else list(inspect.signature(value).parameters)
    assert [each for each in given if each not in described and each not in {"args", "kwargs"}] == []
    if len(given) > 3:
        assert "Parameters\n" in described or "Attributes\n" in described, "numpydoc"
