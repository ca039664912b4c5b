"""What happens in a run, and what remains of it?"""

from typing import Final

RUNS: Final = "pydaub-runs"  # the folder for runs that are given no other
# The names of two files in the folder of a run.
ABOUT: Final = "run.json"  # what was asked for
JOURNAL: Final = "journal.jsonl"
LINKED: Final = ("data",)  # what may be a link there: rows that were prepared elsewhere may be too large to copy
