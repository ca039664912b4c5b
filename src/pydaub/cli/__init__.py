"""What can be asked on the command line? One file, some commands that belong together."""

from __future__ import annotations

# Each adds its commands to the app.
from pydaub.cli import inspecting, preparing, replay, running, steer, watch  # noqa: F401
from pydaub.cli.app import app, main

__all__ = ["app", "main"]
