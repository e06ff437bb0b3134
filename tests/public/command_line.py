"""The command line as lines of text: a line for a command, and one for each of its arguments and options."""

import inspect
import typing
from collections.abc import Iterator

import typer

from keylake.cli.app import app


def commands() -> list[str]:
    """Every command below `keylake`."""
    return list(below(typer.main.get_command(app), "keylake"))


def below(command: typing.Any, name: str) -> Iterator[str]:
    yield f"command {name}"
    yield from sorted(f"{name} {parameter(each)}" for each in command.params)
    for word, inner in sorted(getattr(command, "commands", {}).items()):
        yield from below(inner, f"{name} {word}")


def parameter(given: typing.Any) -> str:
    """The spellings of an option or the name of an argument, its type, its default, and its variable."""
    is_option = given.opts[0].startswith("-")
    names = "|".join([*given.opts, *given.secondary_opts]) if is_option else given.name.upper()
    need = "required" if given.required else f"= {given.default!r}"
    variable = f" from {given.envvar}" if given.envvar else ""
    return f"{names}: {inspect.formatannotation(given.type_descriptor.annotation)} {need}{variable}"
