"""The commands of pipelines, in the order in which the command line lists them."""

import typer

from keylake.cli import checking
from keylake_pipelines.cli import control, running


def add_commands(app: typer.Typer) -> None:
    """Add the commands of pipelines to a command line, whose `check` takes the file of a pipeline, too, from now on."""
    app.registered_commands[:] = [each for each in app.registered_commands if each.callback is not checking.check]
    for command in (
        running.run,
        running.check,
        control.status,
        control.stop,
        control.restart,
        control.resume,
        control.skip,
        control.resnapshot,
        control.forget,
        control.retype,
    ):
        app.command()(command)
