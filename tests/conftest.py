"""Which kinds of slow tests run, and how many examples property tests draw."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is loaded: small matrices are quicker with one
os.environ.setdefault("OMP_NUM_THREADS", "1")  # and so is training on small samples

from forking import Forking

KINDS = {"ray", "weka", "memory", "random", "browser", "processes", "versions", "cluster"}

# No deadline: on a busy machine, one example may take long.
settings.register_profile("quick", deadline=None, max_examples=20, print_blob=True)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=25)
settings.register_profile("long", settings.get_profile("quick"), max_examples=1000)  # make fuzz
settings.load_profile("quick")

AS_FOR_USERS = ("isolation", "engines/cluster")  # tests of how servers start and end


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        metavar="KINDS",
        default="",
        help="run the slow tests of these kinds, separated by commas, instead of the quick ones: "
        + ", ".join(sorted(KINDS))
        + ". random alone includes the quick property tests, for --hypothesis-profile=thorough",
    )


def pytest_configure(config: pytest.Config) -> None:
    wanted = _wanted(config)
    if not wanted <= KINDS:
        raise pytest.UsageError(f"--slow must name kinds from {sorted(KINDS)}, got {sorted(wanted - KINDS)}")
    if "ray" in wanted and len(wanted) > 1:
        # Ray takes over the signals by which a JVM in the same process detects its own faults.
        raise pytest.UsageError("--slow=ray must be run in a process of its own, without other kinds")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files without slow tests of the kinds that `--slow` names: to collect all tests takes long."""
    wanted = _wanted(config)
    if not wanted or "random" in wanted or collection_path.suffix != ".py":
        return None
    return None if any(_marks(collection_path, kind) for kind in wanted) else True


@cache
def _marks(path: Path, kind: str) -> bool:
    """Return whether a file marks tests as slow of this kind."""
    text = path.read_text()
    return f'slow("{kind}")' in text or f"needs_{kind}" in text


@pytest.hookimpl(trylast=True)  # after Hypothesis has marked the property tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the quick tests, or the slow ones of the kinds that `--slow` names."""
    wanted = _wanted(config)
    chosen = [item for item in items if _is_chosen(item, wanted)]
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


def _wanted(config: pytest.Config) -> set[str]:
    return {kind for kind in config.getoption("slow").split(",") if kind}


def _is_chosen(item: pytest.Item, wanted: set[str]) -> bool:
    marker = item.get_closest_marker("slow")
    if marker is None:
        return not wanted or (wanted == {"random"} and item.get_closest_marker("hypothesis") is not None)
    (kind,) = marker.args
    if kind not in KINDS:
        raise pytest.UsageError(f"{item.nodeid}: the kind of a slow test must be one of {sorted(KINDS)}, got {kind!r}")
    if kind != "random" and not _marks(item.path, kind):  # `pytest_ignore_collect` would leave it out
        raise pytest.UsageError(f'{item.nodeid}: its file must contain slow("{kind}") or needs_{kind}')
    return kind in wanted


@pytest.fixture(scope="session")
def forking() -> Iterator[Forking]:
    with closing(Forking()) as forking:
        yield forking


@pytest.fixture(scope="module", autouse=True)
def _quick(request: pytest.FixtureRequest, forking: Forking) -> Iterator[None]:
    """Let runs start their server quickly (see `forking`), except in tests of just that."""
    place = request.path.relative_to(Path(__file__).parent)
    if any(name in str(place) for name in AS_FOR_USERS) or _wanted(request.config) & {"ray", "memory", "cluster"}:
        yield
    else:
        with forking.used():
            yield
