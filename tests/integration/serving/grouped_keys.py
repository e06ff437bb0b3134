"""Tables whose keys are in groups."""

import pyarrow as pa

import keylake as kl
from integration.twin import Twin, fresh_name
from integration.writing.key_types import KEYS


def create(lake: kl.Lake, key: dict[str, pa.DataType], buckets: int, groups: int, hash_name: str) -> Twin:
    schema = pa.schema([*(pa.field(name, type_, nullable=False) for name, type_ in key.items()), ("a", pa.int64())])
    spec = kl.TableSpec.from_arrow(
        schema, name=fresh_name("key_groups"), key=list(key), versions="explicit", buckets=buckets, groups=groups,
        hash=hash_name,
    )  # fmt: skip
    return Twin.create(lake, spec, schema)


def keys_of_all_types(*but: str) -> tuple[dict[str, pa.DataType], list[dict[str, object]]]:
    """The types of a key with a column of each, and keys that have every value at least once."""
    columns = {f"k{number}": KEYS[kind] for number, kind in enumerate(KEYS) if kind not in but}
    longest = max(len(values) for _, values in columns.values())
    keys = [{name: values[row % len(values)] for name, (_, values) in columns.items()} for row in range(longest)]
    return {name: type_ for name, (type_, _) in columns.items()}, keys
