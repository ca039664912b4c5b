"""The page is put together from all files in `static`, and a story in it is never read as markup."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from pydaub.dashboard.page import MARKUP, SCRIPTS, STYLES, assembled

STATIC = files("pydaub.dashboard") / "static"


def test_every_file_in_static_is_part_of_the_page() -> None:
    assert sorted(entry.name for entry in STATIC.iterdir()) == sorted([MARKUP, *STYLES, *SCRIPTS])
    page = assembled("title", "nonce")
    for name in (*STYLES, *SCRIPTS):
        assert (STATIC / name).read_text(encoding="utf-8") in page


def test_scripts_only_define_things_until_the_last_one_starts_the_page() -> None:
    assert SCRIPTS[-1] == "main.js"
    for name in SCRIPTS:
        text = (STATIC / name).read_text(encoding="utf-8")
        assert text.startswith("//"), "a comment says what the file does and what it uses"
        statements = re.findall(r"^[^\s/})\]].*", text, flags=re.MULTILINE)
        defining = re.compile(r"(async )?function |const |let ")
        others = [line for line in statements if not defining.match(line)]
        assert others == (["start();"] if name == "main.js" else []), name


def test_no_two_scripts_define_the_same_name() -> None:
    page = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS)
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
