"""What must hold whatever is given: exit code 0, 1 or 2, one line of reason, no traceback, nothing half-written."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from cli.commands import Done
from pydaub import PydaubError
from pydaub.views.summary import CONTROLS

LONGEST = 2010  # characters of a reason

# Files and folders are made anew by every example, so that a fixture may serve all of them. Examples take long, so
# there are fewer than in other property tests.
fuzzed = settings(
    max_examples=settings.default.max_examples // 2,  # type: ignore[union-attr]  # conftest.py has set it
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

texts = st.text(max_size=8) | st.sampled_from(
    ["", " ", "a", "label", "=1+1", "\x1b[31m", "\u202e", "\0", "\ud800", "a\nb", '"', "'", "," * 3, "x" * 300, "../..",
     "-1", "--", "nan", "inf", "1e400", "1e-300", "1_000", "0x10", "٣", "9" * 400, "9999-12-31", "0001-01-01",
     "2020-02-30", "12:30", "NULL", "true", "{}", "[]", "%s%n", "${HOME}", "$(id)", "💥" * 5]
)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.sampled_from(
    [0, -1, 2**31, 2**63, 2**64, 10**400, math.nan, math.inf, -math.inf, 1e308, 5e-324, b"", b"\xff", (), 1j, object]
)  # fmt: skip


def nested(leaves: st.SearchStrategy[Any], most: int = 5) -> st.SearchStrategy[Any]:
    """Return these values, and lists and mappings of them."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=most
    )


values = nested(scalars)


def a_few(share: int, least: int) -> settings:
    """Return settings for examples that take seconds: one for `share` of the others, but so many at `least`."""
    phases = [Phase.explicit, Phase.reuse, Phase.generate]  # to shrink one would take minutes
    return settings(fuzzed, max_examples=max(least, fuzzed.max_examples // share), phases=phases)


def holds(done: Done, *, quiet: bool = False) -> None:
    """Check how a command ended. With `quiet`, nothing but its reason may be on stderr."""
    assert done.code in {0, 1, 2}, done
    assert "Traceback" not in done.err, done.err
    if done.code == 0:
        return
    reason = done.err.rstrip("\n").rpartition("\n")[2]
    assert reason.startswith("pydaub: "), done
    assert len(reason) > len("pydaub: ."), done
    assert len(reason) <= LONGEST, f"{len(reason)} characters: {reason[:300]}"
    assert not CONTROLS.search(reason), repr(reason)
    if done.code == 2:
        assert done.out == "", done
        assert not quiet or done.err.count("\n") == 1, done


def refused_or_done(call: Callable[[], Any]) -> Any:
    """Call a function of the library, which may refuse what it is given, in one line, and nothing else."""
    try:
        return call()
    except PydaubError as error:
        reason = str(error)
    assert reason
    assert "\n" not in reason, reason
    assert len(reason) <= LONGEST, f"{len(reason)} characters: {reason[:300]}"
    return None


def content(folder: Path) -> dict[str, bytes]:
    """Return everything in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else b"other"
        for path in sorted(folder.rglob("*"))
    }
