"""What can be asked on the command line? One file, some commands that belong together."""

from __future__ import annotations

import pydaub.cli.compare
import pydaub.cli.inspecting
import pydaub.cli.preparing
import pydaub.cli.replay
import pydaub.cli.reporting
import pydaub.cli.running
import pydaub.cli.steer
import pydaub.cli.watch  # noqa: F401  # each of the eight adds its commands to the app
from pydaub.cli.app import app, main

__all__ = ["app", "main"]
