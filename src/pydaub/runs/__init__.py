"""What happens in a run, and what remains of it?"""

from typing import Final

RUNS: Final = "pydaub-runs"  # the folder for runs that are given no other
# The names of two files in the folder of a run.
ABOUT: Final = "run.json"  # what was asked for
JOURNAL: Final = "journal.jsonl"
