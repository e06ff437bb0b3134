"""All commands, and what a process tells of errors."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keylake.cli import changing, checking, loading, reading, registering, repairing, serving
from keylake.cli.demo import demo
from keylake.cli.doctor import doctor
from keylake.cli.shown import tell
from keylake.errors import KeylakeError, ServerMissingPlugin, ServerUnreachable, Unsupported
from keylake.extension import extensions, hint

REFUSED, WRONGLY_TYPED, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130

_OF_ANY_COMMAND = ("--lake", "--catalog")
_NO_PAGER = "--no-pager"


class _Commands(TyperGroup):
    """The commands, whose options of the lake may also stand in front of them, and `--no-pager` behind them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words of a call, with options that stand in front of the command behind it."""
        no_pager = [word for word in args if word == _NO_PAGER]
        options, words = _in_front([word for word in args if word != _NO_PAGER])
        if words and not words[0].startswith("-"):
            is_group = isinstance(self.get_command(ctx, words[0]), TyperGroup)
            behind = 2 if is_group else 1  # `branch list` is a command of two words
            words = [*words[:behind], *options, *words[behind:]]
        found: list[str] = super().parse_args(ctx, [*no_pager, *words])
        return found


def _in_front(words: list[str]) -> tuple[list[str], list[str]]:
    """The options of the lake with which a call begins, and its other words."""
    taken = 0
    while taken < len(words) and words[taken].partition("=")[0] in _OF_ANY_COMMAND:
        taken += 1 if "=" in words[taken] else 2
    return words[:taken], words[taken:]


app = typer.Typer(
    name="keylake",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keylake {importlib.metadata.version('keylake')}")
        raise typer.Exit


@app.callback()
def keylake(
    _version_: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
    no_pager: Annotated[bool, typer.Option(_NO_PAGER, help="Print tables longer than the screen at once.")] = False,
) -> None:
    """Keyed tables on Apache Iceberg: tables, rows, history and upkeep from the command line.

    The options --lake, --catalog and --no-pager may stand before a command or behind it.
    """
    if no_pager:
        os.environ["PAGER"] = ""


# Keys may be negative numbers, which begin as options do.
WITH_KEYS = {"ignore_unknown_options": True}

app.command()(demo)
app.command()(loading.load)
app.command()(registering.register)
for reads in (reading.tables, reading.show, reading.sql, reading.history, reading.watch, reading.changes):
    app.command()(reads)
app.command(context_settings=WITH_KEYS)(reading.get)
for looks in (reading.health, reading.report, checking.check):
    app.command()(looks)
app.command("explain-row", context_settings=WITH_KEYS)(reading.explain_row)
app.add_typer(changing.branch, name="branch")
for changes in (changing.compact, changing.move, changing.publish, changing.undo):
    app.command()(changes)
app.command()(repairing.rollback)
app.command("cherry-pick")(repairing.cherry_pick)
for whole in (repairing.clean, repairing.drop):
    app.command()(whole)
for extension in extensions():
    try:
        extension.add_commands(app)
    except Unsupported as refused:  # the other commands do without
        tell(str(refused))
app.command()(serving.serve)
app.command("server-conf")(serving.server_conf)
app.command()(serving.token)
app.command()(doctor)


def _is_unknown(words: list[str]) -> bool:
    """The words begin with a command that is not there."""
    known = {each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands}
    known.update(str(group.name) for group in app.registered_groups)
    words = [word for word in words if word != _NO_PAGER]
    typed = next((word for word in _in_front(words)[1] if not word.startswith("-")), None)
    return typed is not None and typed not in known


def main() -> None:
    """Run the command that was typed, and end the process with its status."""
    try:
        app()
    except SystemExit as end:
        if end.code == WRONGLY_TYPED and hint() and _is_unknown(sys.argv[1:]):
            tell(hint())
        raise
    except (ServerUnreachable, ServerMissingPlugin) as error:
        tell(str(error))
        sys.exit(UNREACHABLE)
    except KeylakeError as error:
        tell(str(error))
        sys.exit(REFUSED)
    except BrokenPipeError:  # `keylake sql ... | head`
        sys.stderr.close()
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
