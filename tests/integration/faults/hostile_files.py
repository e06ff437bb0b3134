"""Reads of a table whose files somebody has changed on purpose, as a process of its own: seed, first number, count.

Each input is a table with one changed file. A read gives rows or one of our errors, within seconds and a bounded
memory, and writes nothing. What breaks this is printed as a line, and an input that ends the process is the last one
that was named.
"""

import json
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pyarrow as pa

import keylake as kl
import keylake.local

SECONDS, MEMORY_BYTES = 20, 3 << 30
OF_JAVA = ("\n", "org.apache", "java.")  # what no error has that a user sees
MARKER_BYTES, RAW = 16, -zlib.MAX_WBITS
ODD_NUMBERS = (0, -1, 1, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, 2**64, 10**40, 0.5, 1e300)
ODD_TEXTS = ("", "\x00", "a" * 5000, "../../../outside", "/etc/hostname", "file:///", "struct<a:", "bucket[0]")
ODD_BYTES = (b"\xff" * 4, b"\x7f" * 8, b"\x00" * 8, b"\x80" * 10, b"\xff\xff\xff\x7f", b"\x01")
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.int64()))]
)


class Other(kl.Table, name="hostile.other"):
    """Another table of the lake."""

    id: int = kl.key()
    a: int | None = kl.column()


def mutated(content: bytes, draw: Random) -> bytes:
    """Bytes with one to three changes: bits, odd numbers, parts that are gone, doubled or elsewhere."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(changed) or 1)
        end = min(len(changed), at + draw.choice((1, 4, 40, 400)))
        match draw.randrange(6):
            case 0:
                changed[at : at + 1] = bytes([changed[at] ^ 1 << draw.randrange(8)]) if changed else b"?"
            case 1:
                odd = draw.choice(ODD_BYTES)
                changed[at : at + len(odd)] = odd
            case 2:
                del changed[at:end]
            case 3:
                changed[at:at] = changed[at:end]
            case 4:
                changed[at:at] = draw.randbytes(draw.choice((1, 8, 64)))
            case _:
                del changed[at:]
    return bytes(changed)


def mutated_json(text: bytes, draw: Random) -> bytes:
    """JSON in which one value is another one, is gone, or is deep."""
    whole = json.loads(text)
    places: list[tuple[Any, Any]] = []
    waiting = [whole]
    while waiting:
        each = waiting.pop()
        keys = each if isinstance(each, dict) else range(len(each))
        places.extend((each, key) for key in keys)
        waiting.extend(each[key] for key in keys if isinstance(each[key], dict | list))
    holder, key = draw.choice(places)
    match draw.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = draw.choice(ODD_NUMBERS)
        case 2:
            holder[key] = draw.choice(ODD_TEXTS)
        case 3:
            holder[key] = draw.choice((None, True, [], {}, [[]], {"": {}}))
        case 4:
            other, name = draw.choice(places)
            holder[key] = json.loads(json.dumps(other[name])) if _has(other, name) else None
        case _:
            deep = "[" * 3000 + "]" * 3000
            return json.dumps(whole).encode().replace(b'"properties"', f'"deep": {deep}, "properties"'.encode(), 1)
    return json.dumps(whole).encode()


def _has(holder: Any, name: Any) -> bool:
    return name in holder if isinstance(holder, dict) else name < len(holder)


def mutated_entries(content: bytes, draw: Random) -> bytes:
    """An Avro file whose entries are changed, and whose frame and compression are whole; it has no checksum."""
    begin = content.index(content[-MARKER_BYTES:]) + MARKER_BYTES
    count, at = _number(content, begin)
    size, at = _number(content, at)
    packer = zlib.compressobj(wbits=RAW)
    entries = zlib.decompressobj(RAW).decompress(content[at : at + size])
    packed = packer.compress(mutated(entries, draw)) + packer.flush()
    return content[:begin] + _encoded(count) + _encoded(len(packed)) + packed + content[-MARKER_BYTES:]


def _number(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at


def _encoded(number: int) -> bytes:
    """A number that is not negative."""
    rest, parts = number << 1, bytearray()
    while rest > 127:
        parts.append(rest & 127 | 128)
        rest >>= 7
    return bytes((*parts, rest))


def mutated_footer(content: bytes, draw: Random) -> bytes:
    """A Parquet file with another footer, without the checksum that would tell it."""
    length = struct.unpack("<I", content[-8:-4])[0]
    footer = content[-8 - length : -8][: -38 - 4] + b"\x00"  # our extension is the last field of it
    footer = mutated(footer, draw)
    return content[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"


MUTATIONS: dict[str, tuple[tuple[str, Callable[[bytes, Random], bytes]], ...]] = {
    "*.metadata.json": (("bytes", mutated), ("json", mutated_json)),
    "snap-*.avro": (("bytes", mutated), ("entries", mutated_entries)),
    "*-m0.avro": (("bytes", mutated), ("entries", mutated_entries)),
    "*.parquet": (("bytes", mutated), ("footer", mutated_footer)),
}


def made(folder: Path) -> str:
    """The name of a new table of two files."""
    keylake.local.create(Other, folder)
    with keylake.local.open(folder) as opened:
        table = opened.create(kl.TableSpec.from_arrow(SCHEMA, name="hostile.rows", key="id", buckets=1))
        table.upsert([{"id": n, "a": n, "t": f"text {n}", "l": [n]} for n in range(60)])
        table.update([{"id": n, "a": -n} for n in range(30)])
        return table.name


def read(folder: Path, name: str) -> None:
    with keylake.local.open(folder) as opened:
        table = opened.table(name)
        table.read().to_arrow()
        table.get(id=3)
        table.history()
        table.check("pages")


def listing(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def late(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"no answer within {SECONDS} s")


def main(seed: int, first: int, count: int) -> None:
    warnings.simplefilter("ignore")
    around = Path(tempfile.mkdtemp(prefix="hostile-"))
    folder = around / "lake"
    name = made(folder)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, late)
    before = listing(around)
    for number in range(first, first + count):
        draw = Random(f"{seed} {number}")
        pattern = draw.choice(list(MUTATIONS))
        how, change = draw.choice(MUTATIONS[pattern])
        file = max(folder.rglob(pattern), key=lambda path: path.stat().st_mtime_ns)
        good, times = file.read_bytes(), file.stat()
        print(f"input {number}: {how} of {pattern}", file=sys.stderr, flush=True)
        file.write_bytes(change(good, draw))
        signal.alarm(SECONDS)
        try:
            read(folder, name)
        except kl.KeylakeError as error:
            if "\n" in str(error) or "Traceback" in str(error):
                print(f"input {number}: {how} of {pattern}: more than a line: {error}")
        except BaseException as error:  # noqa: BLE001  # all others are what is looked for
            print(f"input {number}: {how} of {pattern}: {type(error).__name__}: {str(error)[:200]}")
        finally:
            signal.alarm(0)
        file.write_bytes(good)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        if listing(around) != before:
            print(f"input {number}: {how} of {pattern}: files were written: {listing(around) ^ before}")
    shutil.rmtree(around)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
