"""The command `demo`: streams that know different columns of the same rows, and what a reader sees."""

from __future__ import annotations

from typing import Annotated

import typer

import keylake as kl
from keylake.cli.opened import USUAL_LAKE
from keylake.cli.shown import JsonOption, show, show_result

TABLE = "demo.user_profile"
DemoLake = Annotated[str, typer.Option("--lake", envvar="KEYLAKE_LAKE", help="The directory of the lake; it is made.")]


def demo(lake: DemoLake = USUAL_LAKE, as_json: JsonOption = False) -> None:
    """Make a small table in a lake, and show how its rows merge.

    Three streams write to it, one of them late; the row of one key is explained, value by value.
    """

    class UserProfile(
        kl.Table, name=TABLE, buckets=2, versions="explicit"
    ):  # here: commands without it need no pydantic
        """A user, of whom several streams know some columns."""

        user_id: int = kl.key()
        city: str | None = kl.column()
        clicks: int | None = kl.column(reduce=kl.Sum())
        score: float | None = kl.column()

    with kl.connect(warehouse=lake) as found:
        if TABLE in found.tables():
            found.drop(TABLE)
        profiles = found.create(UserProfile)
        profiles.update(
            [{"user_id": 7, "city": "Oslo"}, {"user_id": 8, "city": "Bergen"}], version=10, stream="accounts"
        )
        profiles.update([{"user_id": 7, "clicks": 3, "score": 0.5}], version=12, stream="web")
        profiles.update([{"user_id": 7, "clicks": 2, "score": 0.9}], version=14, stream="web")
        profiles.update([{"user_id": 7, "city": "Tromsø", "score": 0.1}], version=9, stream="replay")
        if as_json:
            row = profiles.get(user_id=7)
            show({"lake": lake, "table": TABLE, "row": row and row.model_dump()}, as_json)
            return
        typer.echo(f"{TABLE} in {lake}: four commits, of which the last one came late.\n")
        show_result(profiles.history(), as_json)
        typer.echo("\nThe merged row of user 7, and where each value comes from:\n")
        show_result(profiles.explain_row(user_id=7), as_json)
        typer.echo(f"\nGo on: keylake get {TABLE} 7 --lake {lake}")
