"""Definitions of pipelines and tables that nobody means well: a definition, or one of our errors."""

import json
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import keylake as kl
from integration.random_runs import FIRST, seeds

GOOD = """
source: {type: mysql, hostname: 127.0.0.1, port: 3306, username: admin, password: "0123", tables: 'adb.\\.*'}
sink: {type: keylake}
route:
  - {source-table: 'adb.\\.*', sink-table: 'ods.<>', replace-symbol: '<>', description: "one: to one"}
transform:
  - {source-table: adb.web, projection: 'a, UPPER(b) AS b', filter: id > 10, primary-keys: id}
pipeline: {name: "a pipeline"}
"""
PARTS = (
    *("&a", "*a", "<<: *a", "!!python/object:os.system", "? ", "- ", ": ", "|", ">", "{", "}", "[", "]", "'", '"'),
    *("${HOME}", "${", "\t", "\x00", "\ud7ff", "%YAML 9.9", "---", "...", "0x", "1e999", "2026-99-99", "~", "9" * 5000),
)
SPECS = sorted((Path(__file__).parents[2] / "cases" / "spec").glob("*.json"))


def changed(text: str, draw: Random) -> str:
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(text))
        end = at + draw.choice((0, 1, 5, 30))
        text = text[:at] + draw.choice((*PARTS, text[at:end] * 2, "", chr(draw.randrange(1, 0xD800)))) + text[end:]
    return text


@pytest.mark.parametrize("seed", seeds(1, 40))
def test_yaml_that_is_changed_at_random(tmp_path: Path, seed: int) -> None:
    draw, file = Random(seed), tmp_path / "pipeline.yaml"
    for _ in range(120):
        text = changed(GOOD, draw)
        file.write_bytes(text.encode() if draw.random() < 0.9 else text.encode("utf-16"))
        with suppress(kl.KeylakeError):
            kl.Pipeline.load(file)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe\x00",
        b"source: " + b"[" * 20_000,
        b"source: " + b"{a: " * 20_000,
        b"a: &a [x, x, x, x, x, x, x, x, x]\n"
        + b"".join(b"%c: &%c [%s]\n" % (n + 1, n + 1, b", ".join([b"*%c" % n] * 9)) for n in range(ord("a"), ord("m"))),
        b"a: &a {b: *a}",
    ],
    ids=["no UTF-8", "deep lists", "deep maps", "aliases of aliases", "an alias of itself"],
)
def test_yaml_that_is_made_to_exhaust(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_bytes(content)
    with pytest.raises(kl.DefinitionError):
        kl.Pipeline.load(file)


@pytest.mark.parametrize("seed", seeds(1, 40))
def test_specs_that_are_changed_at_random(seed: int) -> None:
    draw = Random(FIRST - seed)
    texts = [json.dumps(json.loads(path.read_text())["spec"]) for path in SPECS if path.stem != "refused"]
    for _ in range(150):
        text = changed(draw.choice(texts), draw)
        with suppress(kl.KeylakeError):
            kl.TableSpec.from_json(text)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000, '{"key": ' + "9" * 10_000 + "}", "\x00"]
)
def test_specs_that_are_made_to_exhaust(text: str) -> None:
    with pytest.raises(kl.DefinitionError):
        kl.TableSpec.from_json(text)
