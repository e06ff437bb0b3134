"""Reducers that a user might write in Python, good ones and bad ones."""

import pyarrow as pa
import pyarrow.compute as pc

import keylake as kl


def struct(**members: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(members.values()), list(members))


@kl.reducer(state=pa.struct([("least", pa.int64()), ("most", pa.int64())]))
class Range:
    """The largest contribution minus the smallest."""

    def contribute(self, values: pa.Array) -> pa.Array:
        if pc.any(pc.equal(values, 13)).as_py():
            raise ValueError("13 is no number here")
        return struct(least=values, most=values)

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        return struct(
            least=pc.min_element_wise(older.field(0), newer.field(0)),
            most=pc.max_element_wise(older.field(1), newer.field(1)),
        )

    def value(self, states: pa.Array) -> pa.Array:
        return pc.subtract(states.field(1), states.field(0))


@kl.reducer(state=pa.struct([(name, pa.int64()) for name in ("count", "head", "tail", "best")]), ordered=True)
class Streak:
    """The longest stretch of contributions that are not 0."""

    def contribute(self, values: pa.Array) -> pa.Array:
        one = pc.cast(pc.not_equal(values, 0), pa.int64())
        return struct(count=pa.repeat(pa.scalar(1, pa.int64()), len(values)), head=one, tail=one, best=one)

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        count, head, tail, best = (older.field(place) for place in range(4))
        count2, head2, tail2, best2 = (newer.field(place) for place in range(4))
        return struct(
            count=pc.add(count, count2),
            head=pc.if_else(pc.equal(head, count), pc.add(head, head2), head),
            tail=pc.if_else(pc.equal(tail2, count2), pc.add(tail, tail2), tail2),
            best=pc.max_element_wise(best, best2, pc.add(tail, head2)),
        )

    def value(self, states: pa.Array) -> pa.Array:
        return states.field(3)


@kl.reducer(state=pa.struct([("text", pa.string())]), ordered=True)
class Joined:
    """All texts, with commas between them."""

    def contribute(self, values: pa.Array) -> pa.Array:
        return struct(text=values)

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        return struct(text=pc.binary_join_element_wise(older.field(0), newer.field(0), ","))

    def value(self, states: pa.Array) -> pa.Array:
        return states.field(0)


@kl.reducer(state=pa.struct([("mean", pa.float64())]))
class MeanOfMeans:
    """Forgets of how many each mean is."""

    def contribute(self, values: pa.Array) -> pa.Array:
        return struct(mean=values)

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        return struct(mean=pc.divide(pc.add(older.field(0), newer.field(0)), 2))

    def value(self, states: pa.Array) -> pa.Array:
        return states.field(0)


@kl.reducer(state=pa.struct([("value", pa.float64())]))
class Ranked:
    """Looks at other keys."""

    def contribute(self, values: pa.Array) -> pa.Array:
        return struct(value=values)

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        return struct(value=pc.max_element_wise(older.field(0), newer.field(0)))

    def value(self, states: pa.Array) -> pa.Array:
        return pa.array([float(place) for place in range(len(states))])


@kl.reducer(state=pa.struct([("least", pa.float64())]))
class TooLittle:
    """Gives fewer states than there are pairs."""

    def contribute(self, values: pa.Array) -> pa.Array:
        return struct(least=values)

    def combine(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        return older.slice(0, 0)

    def value(self, states: pa.Array) -> pa.Array:
        return states.field(0)


PLAIN = 7
