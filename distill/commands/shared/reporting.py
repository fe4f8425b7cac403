"""A command that tells that it is still at work."""

from __future__ import annotations

import click

# Commands that may wait for what they are asked.
WAITING = {"search"}


class ReportingCommand(click.Command):
    """A command that off a terminal says now and then that it is still at work, whatever else it tells."""

    def invoke(self, ctx: click.Context) -> None:
        """Do what the command does, which returns nothing."""
        from ...system.progress import phase

        if self.name in WAITING:
            super().invoke(ctx)
            return
        with phase(str(self.name)):
            super().invoke(ctx)
