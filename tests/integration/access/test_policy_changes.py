"""Changes of the policy of a running server: what they take away is gone, and a mistake in them gives nothing."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import keylake as kl
from integration.access.guarded_server import Guarded, digest, guarded_server, make_shop, policy_text
from integration.prometheus import documented_settings, numbers
from integration.spark_processes import free_port

NORTH = "rows: \"region = 'north'\""
REFUSED = (kl.KeylakeError, PySparkException)


class Changing:
    """A server, and the file of its policy."""

    def __init__(self, guarded: Guarded, file: Path, port: int) -> None:
        self.guarded = guarded
        self.file = file
        self.port = port

    def write(self, text: str, until: Callable[[], bool]) -> None:
        """Replace the policy, and wait until it is in force."""
        new = self.file.with_suffix(".new")
        new.write_text(text)
        minute_ago = time.time() - 60
        os.utime(new, (minute_ago, minute_ago))
        new.replace(self.file)
        for _ in range(300):
            if until():
                return
            time.sleep(0.1)
        raise AssertionError("the policy was not taken within half a minute")

    def can(self, principal: str, statement: str) -> bool:
        try:
            self.guarded.of(principal).spark.sql(statement).collect()
        except REFUSED:
            return False
        return True

    def is_refused(self) -> int:
        """The metric by which the server says that it does not take its file."""
        return numbers(self.port)["access_policy_refused"]


@pytest.fixture(scope="module")
def server_of_changes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changing]:
    folder, port = tmp_path_factory.mktemp("changing"), free_port()
    with guarded_server(folder, documented_settings() | {"spark.ui.port": str(port)}) as guarded:
        make_shop(guarded.of("owner"))
        yield Changing(guarded, folder / "policy.yaml", port)


@pytest.fixture
def changing(server_of_changes: Changing) -> Iterator[Changing]:
    """The server, which has the policy of all tests before and after one."""
    yield server_of_changes
    orders = "SELECT id FROM lake.shop.orders"
    server_of_changes.write(policy_text(), lambda: server_of_changes.can("ana", orders))


def test_a_token_that_is_taken_back_ends_with_the_next_request(changing: Changing) -> None:
    notes = "SELECT id, secret FROM lake.shop.notes"
    assert changing.can("ana", notes)
    assert changing.can("cleo", "SHOW NAMESPACES IN lake")
    without = policy_text()
    for before in ("  ana: {", "[ana, dan]", "{who: ana,"):
        without = without.replace(before, before.replace("ana", "ann"))
    without = without.replace(digest("ana-token"), digest("another-token"))
    changing.write(without, lambda: not changing.can("ana", notes))
    with pytest.raises(REFUSED, match="of none of its principals"):
        changing.guarded.of("ana").spark.sql(notes).collect()
    with pytest.raises(kl.ServerRefused, match="of none of its principals"):
        changing.guarded.with_token("ana-token")
    assert changing.can("cleo", "SHOW NAMESPACES IN lake"), "sessions of others go on"
    changing.write(policy_text(), lambda: changing.can("ana", notes))


def test_a_frame_of_before_shows_nothing_that_was_taken_away(changing: Changing) -> None:
    """A session keeps plans that were analyzed, and views keep them, too."""
    spark = changing.guarded.of("ana").spark
    frames: list[DataFrame] = [
        spark.table("lake.shop.notes"),
        spark.sql("WITH n AS (SELECT id, secret FROM lake.shop.notes) SELECT * FROM n"),
    ]
    for frame in frames:
        assert len(frame.schema) > 1
        assert frame.count() == 2
    frames[0].createOrReplaceTempView("kept_notes")
    spark.table("lake.shop.orders").select("id", "email").createOrReplaceTempView("kept_orders")
    assert changing.can("ana", "SELECT * FROM kept_notes")
    assert changing.can("ana", "SELECT * FROM kept_orders")
    less = policy_text().replace("  - {who: ana, tables: lake.shop.notes, may: [read, write]}\n", "")
    less = less.replace(NORTH, "rows: \"region = 'nowhere'\"")
    changing.write(less, lambda: not changing.can("ana", "SELECT * FROM lake.shop.notes"))
    for frame in (*frames, spark.table("kept_notes"), spark.table("kept_orders")):
        with pytest.raises(REFUSED, match=r"ACCESS_DENIED|NOT_FOUND"):
            frame.collect()
    assert spark.sql("SELECT id FROM lake.shop.orders").collect() == []


def test_a_right_that_is_given_needs_no_new_session(changing: Changing) -> None:
    hidden = "SELECT id FROM lake.shop.hidden"
    assert not changing.can("eve", hidden)
    changing.write(
        policy_text() + "  - {who: eve, tables: lake.shop.hidden, may: read}\n", lambda: changing.can("eve", hidden)
    )


def test_a_session_loses_files_with_its_right(changing: Changing, tmp_path: Path) -> None:
    text = tmp_path / "some.txt"
    text.write_text("some")
    reads = f"SELECT * FROM text.`{text}`"
    files = policy_text() + "  - {who: cleo, may: [files, run_code]}\n"
    changing.write(files, lambda: changing.can("cleo", "SET spark.sql.runSQLOnFiles = true"))
    assert changing.can("cleo", reads)
    changing.write(policy_text(), lambda: not changing.can("cleo", reads))
    assert not changing.can("cleo", "SET spark.sql.runSQLOnFiles = true")


@pytest.mark.parametrize(
    "broken",
    [
        "principals: {",
        "",
        "rules: [{who: everyone, tables: '*', may: [read]}]",
        policy_text().replace("rows:", "row:"),
        policy_text().replace("secret.txt", "gone.txt"),
        policy_text() + "  - {who: ana, tables: '*', may: [read, everything]}\n",
    ],
    ids=["no-yaml", "empty", "no-principals", "misspelt-rows", "no-key", "unknown-right"],
)
def test_a_policy_with_a_mistake_changes_nothing(changing: Changing, broken: str) -> None:
    assert changing.is_refused() == 0
    changing.write(broken, lambda: changing.can("ana", "SELECT 1") and changing.is_refused() == 1)
    orders = changing.guarded.of("ana").spark.sql("SELECT id, email FROM lake.shop.orders").collect()
    assert [tuple(row) for row in orders] == [(1, "***@x")]
    assert not changing.can("ana", "SELECT id FROM lake.shop.hidden")
    said = [line for line in changing.guarded.server.log.read_text().splitlines() if "of before stays in force" in line]
    assert "policy.yaml is refused" in said[-1]
    changing.write(policy_text(), lambda: changing.is_refused() == 0)


def test_a_policy_that_is_gone_stays_in_force(changing: Changing) -> None:
    changing.file.unlink()
    for _ in range(300):
        assert changing.can("ana", "SELECT id FROM lake.shop.orders")
        assert not changing.can("ana", "SELECT id FROM lake.shop.hidden")
        if changing.is_refused():
            break
        time.sleep(0.1)
    assert changing.is_refused() == 1
