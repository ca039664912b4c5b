"""One finished run for all tests that only look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.pages import finished


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run with three learners."""
    return finished(tmp_path_factory.mktemp("finished"))
