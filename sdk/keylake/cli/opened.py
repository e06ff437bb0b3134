"""The lake that a command works on."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import keylake as kl
from keylake._server.address import TOKEN, with_token
from keylake.cli.without_pandas import without_pandas
from keylake.errors import KeylakeError, ServerUnreachable

if TYPE_CHECKING:
    from keylake.local import LocalLake

LakeOption = Annotated[
    str,
    typer.Option(
        "--lake",
        envvar="KEYLAKE_LAKE",
        help=f"A directory, or the address of a server, sc://host:15002; its token is in {TOKEN}.",
    ),
]
CatalogOption = Annotated[str, typer.Option("--catalog", envvar="KEYLAKE_CATALOG", help="The catalog in Spark.")]
TableArgument = Annotated[str, typer.Argument(help="A keyed table with its namespace, as in features.clicks.")]
BranchOption = Annotated[str | None, typer.Option("--branch", help="A branch of the table; main unless said.")]
USUAL_LAKE, USUAL_CATALOG = "./lake", "lake"


@contextmanager
def opened(lake: str, catalog: str) -> Generator[kl.Lake]:
    """The lake, open until the command is done."""
    if lake.startswith("sc://"):
        with kl.connect(_with_token(lake), catalog=catalog) as found:
            yield found
    else:
        if not lake or not Path(lake).is_dir():
            raise ServerUnreachable(
                f"There is no lake in {lake!r}. Name a directory, or the address of a server, sc://host:15002, with "
                "--lake or KEYLAKE_LAKE, or make a lake: keylake demo."
            )
        with kl.connect(warehouse=lake, catalog=catalog) as found:
            yield found


@contextmanager
def opened_or_made(lake: str, catalog: str) -> Generator[kl.Lake]:
    """The lake, open until the command is done; a directory becomes one."""
    if lake.startswith("sc://"):
        with opened(lake, catalog) as found:
            yield found
    else:
        with kl.connect(warehouse=lake, catalog=catalog) as found:
            yield found


@contextmanager
def local_lake(lake: str, catalog: str) -> Generator[LocalLake | None]:
    """The lake of a directory, which is read without a server; None where a server has to be asked."""
    from keylake import local

    try:
        found = None if lake.startswith("sc://") else local.open(lake, catalog=catalog)
    except KeylakeError:  # the server makes a lake of a directory, and says what is wrong
        found = None
    if found is None:
        yield None
    else:
        with found, without_pandas():
            yield found


def asking(lake: kl.Lake) -> AbstractContextManager[None]:
    """A context in which an error of rows of frames, also one of Spark itself, becomes one sentence."""
    return lake._session.asking()  # pyright: ignore[reportPrivateUsage]


def _with_token(url: str) -> str:
    """The address with the token that the environment has; one on the command line is seen by all users."""
    if any("sc://" in word and "token=" in word for word in sys.argv[1:]):
        raise typer.BadParameter(f"the token is on the command line, where others see it; put it into {TOKEN}")
    return with_token(url)


def branch_of(table: kl.KeyedTable, branch: str | None) -> kl.KeyedTable:
    """The table, or one of its branches; none is made by being named."""
    if branch is None or branch == "main":
        return table
    known = {row["name"] for row in table.branches().collect()}
    if branch not in known:
        names = ", ".join(sorted(known)) or "none"
        raise kl.TableNotFound(f"The table {table.name!r} has no branch {branch!r}; it has {names}.")
    return table.branch(branch)
