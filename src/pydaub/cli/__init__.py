"""What can be asked on the command line? One file, some commands that belong together."""

from __future__ import annotations

import atexit
import gc
import sys
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_INTERRUPTED: Final = 130  # as in shells


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Its imports take a moment, in which Ctrl-C must not end with a traceback."""
    began = time.monotonic()
    atexit.register(gc.freeze)  # else Python looks through everything once more before it ends: up to a second
    try:
        everything()
        from pydaub.cli.app import run_command

        run_command(arguments, began)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def everything() -> Any:  # noqa: ANN401  # a Typer, which is imported as late as can be
    """Return the app with all commands."""
    from pydaub.cli import (  # each adds its commands
        checking,  # noqa: F401
        cleaning,  # noqa: F401
        detached,  # noqa: F401
        doctor,  # noqa: F401
        exporting,  # noqa: F401
        inspecting,  # noqa: F401
        preparing,  # noqa: F401
        replay,  # noqa: F401
        running,  # noqa: F401
        steer,  # noqa: F401
        watch,  # noqa: F401
    )
    from pydaub.cli.app import app

    return app
