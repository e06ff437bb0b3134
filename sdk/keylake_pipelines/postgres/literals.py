"""Texts of PostgreSQL that hold several values, or bytes, as JSON."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from json.encoder import encode_basestring as quoted

_BOUNDS = re.compile(r"(?:\[[-\d:]+\])+=")
_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")', flags=re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", flags=re.DOTALL)


def to_base64(text: str) -> str:
    r"""Bytes that PostgreSQL shows in hexadecimal digits.

    >>> to_base64(r"\x00ff10")
    'AP8Q'
    """
    return b64encode(bytes.fromhex(text[2:])).decode()


def map_json(text: str) -> str:
    r"""An hstore as an object.

    >>> map_json(r'"a"=>"1", "b\"c"=>NULL')
    '{"a":"1","b\\"c":null}'
    """
    return "{" + ",".join(f"{_unescaped(key)}:{_unescaped(value)}" for key, value in _pairs(text)) + "}"


def _pairs(text: str) -> list[tuple[str, str | None]]:
    return [(match[1], match[2]) for match in _PAIR.finditer(text)]


def _unescaped(text: str | None) -> str:
    return "null" if text is None else quoted(_ESCAPED.sub(r"\1", text))


def array_json(text: str, json: Callable[[str], str], delimiter: str = ",") -> tuple[str, int]:
    """An array as a list, lists of its rows where it has several dimensions, and how many it has (0 when empty).

    Bounds that do not begin with 1 are left out: a list has none.

    >>> array_json('{1,NULL,3}', str), array_json('{}', str)
    (('[1,null,3]', 1), ('[]', 0))
    >>> array_json('[0:1][1:2]={{a,"b,c"},{"NULL",""}}', quoted)
    ('[["a","b,c"],["NULL",""]]', 2)
    """
    if text.startswith("["):
        bounds = _BOUNDS.match(text)
        text = text[bounds.end() :] if bounds else text
    out: list[str] = []
    depth = deepest = 0
    parts = re.finditer(rf'[{{}}{delimiter}]|"((?:[^"\\]|\\.)*)"|[^{{}}{delimiter}"]+', text, flags=re.DOTALL)
    for part in parts:
        found = part[0]
        if found == "{":
            depth += 1
            deepest = max(deepest, depth)
            out.append("[")
        elif found == "}":
            depth -= 1
            out.append("]")
        elif found == delimiter:
            out.append(",")
        elif found[0] == '"':
            out.append(json(_ESCAPED.sub(r"\1", part[1])))
        else:
            out.append("null" if found == "NULL" else json(found))
    return "".join(out), 0 if text == "{}" else deepest
