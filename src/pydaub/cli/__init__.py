"""What can be asked on the command line? One file, some commands that belong together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_INTERRUPTED: Final = 130  # as in shells


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Its imports take a moment, in which Ctrl-C must not end with a traceback."""
    try:
        everything()
        from pydaub.cli.app import run_command

        run_command(arguments)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def everything() -> Any:  # noqa: ANN401  # a Typer, which is imported as late as can be
    """Return the app with all commands."""
    from pydaub.cli import exporting, inspecting, preparing, replay, running, steer, watch  # noqa: F401  # each adds its own
    from pydaub.cli.app import app

    return app
