"""A reducer in Python, which a column of golden lakes has by the name of this module."""

import pyarrow as pa
import pyarrow.compute as pc

import keylake as kl


@kl.reducer(state=pa.struct([("least", pa.int64()), ("most", pa.int64())]))
class Range:
    """The largest contribution minus the smallest."""

    def contribute(self, values: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays([values, values], ["least", "most"])

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        least = pc.min_element_wise(older.field(0), newer.field(0))
        most = pc.max_element_wise(older.field(1), newer.field(1))
        return pa.StructArray.from_arrays([least, most], ["least", "most"])

    def value(self, states: pa.Array) -> pa.Array:
        return pc.subtract(states.field(1), states.field(0))
