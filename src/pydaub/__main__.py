"""`python -m pydaub` is `pydaub`."""

from pydaub.cli import main

main()
