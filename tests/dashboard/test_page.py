"""The page is put together from all files in `static`, and a story in it is never read as markup."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from pydaub.dashboard.page import (
    LIST_MARKUP,
    LIST_SCRIPTS,
    LIST_STYLES,
    MARKUP,
    SCRIPTS,
    STYLES,
    assembled,
    list_page,
)

STATIC = files("pydaub.dashboard") / "static"


def test_every_file_in_static_is_part_of_a_page() -> None:
    used = {MARKUP, *STYLES, *SCRIPTS, LIST_MARKUP, *LIST_STYLES, *LIST_SCRIPTS}
    assert {entry.name for entry in STATIC.iterdir()} == used
    page, listed = assembled("title", "nonce"), list_page("nonce")
    for name in (*STYLES, *SCRIPTS):
        assert (STATIC / name).read_text(encoding="utf-8") in page
    for name in (*LIST_STYLES, *LIST_SCRIPTS):
        assert (STATIC / name).read_text(encoding="utf-8") in listed


@pytest.mark.parametrize(("scripts", "last"), [(SCRIPTS, "start();"), (LIST_SCRIPTS, "startList();")])
def test_scripts_only_define_things_until_the_last_one_starts_the_page(scripts: tuple[str, ...], last: str) -> None:
    for name in scripts:
        text = (STATIC / name).read_text(encoding="utf-8")
        assert text.startswith("//"), "a comment says what the file does and what it uses"
        statements = re.findall(r"^[^\s/})\]].*", text, flags=re.MULTILINE)
        defining = re.compile(r"(async )?function |const |let ")
        others = [line for line in statements if not defining.match(line)]
        assert others == ([last] if name == scripts[-1] else []), name


@pytest.mark.parametrize("scripts", [SCRIPTS, LIST_SCRIPTS])
def test_no_two_scripts_define_the_same_name(scripts: tuple[str, ...]) -> None:
    page = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in scripts)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", page, flags=re.MULTILINE)
    assert len(names) == len(set(names))


def test_a_story_is_embedded_as_data() -> None:
    story = {"name": "</script><script>alert(1)</script>__NONCE__<!--STORY-->/*SCRIPT*/"}
    page = assembled("<title>", "n0nce", story)
    assert page.count("<script") == page.count("</script>") == 2
    assert "&lt;title&gt;" in page
    found = re.search(r'id="story">(.*?)</script>', page)
    assert found
    assert json.loads(found[1]) == story
