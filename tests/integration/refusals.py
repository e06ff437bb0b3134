"""What a refusal is: an error of the right kind, a sentence with the essential words, and a table as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyiceberg.exceptions import NoSuchTableError

import keylake as kl
from integration.raw import catalog_of


@contextmanager
def refused(lake: kl.Lake, table: str, error: type[kl.KeylakeError], *words: str) -> Iterator[None]:
    """The block raises the error, its sentence has the words, and no snapshot appears."""
    before = snapshots(lake, table)
    with pytest.raises(error) as raised:
        yield
    sentence = str(raised.value)
    assert type(raised.value) is error
    assert not [word for word in words if word not in sentence], sentence
    assert "\n" not in sentence, f"one sentence, and no trace of the server: {sentence}"
    assert "Exception" not in sentence, sentence
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert snapshots(lake, table) == before


@contextmanager
def refused_in_sql(lake: kl.Lake, table: str, kind: str, *words: str) -> Iterator[None]:
    """The same for plain SQL and plain frames, where Spark's own errors carry the sentence."""
    before = snapshots(lake, table)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the text is looked at below
        yield
    lines = [line for line in str(raised.value).replace("\\n", "\n").splitlines() if f"[KEYLAKE_{kind}]" in line]
    assert lines, str(raised.value)
    assert not [word for word in words if word not in lines[0]], lines[0]
    assert snapshots(lake, table) == before


def snapshots(lake: kl.Lake, table: str) -> list[int]:
    """The snapshots of a table, as another reader sees them; none when there is no such table."""
    try:
        found = catalog_of(lake).load_table(table)
    except NoSuchTableError:
        return []
    return [snapshot.snapshot_id for snapshot in found.snapshots()]
