"""A log that is begun and ended by a process behind REST, which has no words for the condition of a property."""

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.rest.endpoint import Endpoint
from integration.twin import fresh_name

SCHEMA = pa.schema([("id", pa.int64()), ("a", pa.int64())])


@pytest.mark.parametrize("says_its_type", [True, False])
def test_a_log_behind_rest(lake: kl.Lake, endpoint: Endpoint, says_its_type: bool) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("log"), key="id", buckets=1))
    properties = endpoint.properties()
    if not says_its_type:
        del properties["type"]
    with keylake.local.open(properties=properties) as local:
        here = local.table(table.name)
        here.log.begin()
        here.log.update({"id": 1, "a": 1})
        with pytest.raises(kl.DefinitionError, match="has a log already"):
            here.log.begin()
        assert table.log.move().entries == 1
        here.log.drop()
        assert here.read().to_arrow().to_pylist() == [{"id": 1, "a": 1}]
    with pytest.raises(kl.NothingToDo, match="has no log"):
        table.log.state()
