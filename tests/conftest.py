"""Property tests search on, with no limit on the time of one example: machines are noisy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("pydaub", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("pydaub")
