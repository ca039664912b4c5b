"""What is published beside the code: metadata, the recipe for conda, workflows and templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement

import pydaub
from cli.commands import SCHEMA

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
YAML = [*(ROOT / ".github").rglob("*.yml"), ROOT / "release/recipe.yaml", ROOT / "CITATION.cff"]


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml_can_be_parsed(path: Path) -> None:
    found = yaml.safe_load(path.read_text())
    assert found
    for job in found.get("jobs", {}).values():
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        for command in re.findall(r"\bmake ([a-z-]+)", " ".join(step.get("run", "") for step in job["steps"])):
            assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), command


def test_the_recipe_has_the_versions_of_the_project() -> None:
    recipe = yaml.safe_load((ROOT / "release/recipe.yaml").read_text())
    assert recipe["context"]["version"] == pydaub.__version__
    assert recipe["about"]["summary"] == PROJECT["description"]
    wanted = {each.name: str(each.specifier) for each in map(Requirement, PROJECT["dependencies"])}
    stated = dict(each.split() for each in recipe["requirements"]["run"])
    assert stated == {"python": PROJECT["requires-python"], **wanted}
    assert recipe["build"]["python"]["entry_points"] == [f"pydaub = {PROJECT['scripts']['pydaub']}"]


def test_the_changelog_has_this_version() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert first
    assert first[1] == pydaub.__version__


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    page = (ROOT / "docs/interface.md").read_text()
    for name in SCHEMA["$defs"]["doctor"]["required"] + SCHEMA["$defs"]["run"]["required"]:
        assert f"`{name}`" in page, name
