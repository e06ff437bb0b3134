"""The page of the format names every property by which the server and the reader without one understand each other."""

import re
from pathlib import Path

from keylake._definition.spec_json import PropertyForm
from keylake.local import names

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "sdk/docs/format.md").read_text()
TABLES = ROOT / "server_plugins/tables/src/main/java/io/keylake/tables"
# Of plain tables that a keyed table is copied to, and of tables with equality deletes: not of keyed tables.
OF_PLAIN_TABLES = ("keylake.copy.", "keylake.applies-equality-deletes")


def test_properties_of_summaries_and_tables() -> None:
    sources = "".join(path.read_text() for path in TABLES.rglob("*.java"))
    in_java = set(re.findall(r'"(keylake\.[a-z_.-]+)"', sources))
    named = set(re.findall(r"keylake\.[a-z_.-]+[a-z_.]", PAGE))
    wanted = {name.rstrip(".") for name in (*in_java, *names.KNOWN) if not name.startswith(OF_PLAIN_TABLES)}
    assert not sorted(wanted - {name.rstrip(".") for name in named})


def test_names_of_the_reader_without_a_server_are_those_of_the_server() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "server_plugins").rglob("src/main/**/*.java"))
    in_java = set(re.findall(r'"(keylake\.[a-z_.-]+)"', sources))
    known = {*names.OF_SUMMARIES, *names.KNOWN, names.FILE, names.KEY_FILTERS}
    prefixes = {name for name in known if name.endswith(".") and any(each.startswith(name) for each in in_java)}
    assert sorted(known - in_java - prefixes) == []


def test_members_of_the_spec() -> None:
    for member in PropertyForm.model_fields:
        assert f"`{member}`" in PAGE, member
