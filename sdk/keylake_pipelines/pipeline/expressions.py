"""The text of projections and filters: its parts, the columns that it names, and functions that Spark calls otherwise.

Spark parses and types expressions; what is found here is where one ends, and which columns it is made of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""\s+ | --[^\n]* | /\*.*?\*/
    | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.)*"
    | `(?:[^`]|``)*`
    | \d+(?:\.\d*)?(?:[eE][+-]?\d+)?[A-Za-z]* | [A-Za-z_]\w*
    | .""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"`(?:[^`]|``)*`|[A-Za-z_]\w*")
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")

# Functions of Flink CDC that Spark has under another name, and those that it has not, with what to write instead.
_OTHER_NAMES = {"timestamp_diff": "timestampdiff", "to_base64": "base64", "from_base64_binary": "unbase64"}
_INSTEAD = {
    "localtime": "date_format(now(), 'HH:mm:ss')",
    "current_time": "date_format(now(), 'HH:mm:ss')",
    "date_format_tz": "date_format(from_utc_timestamp(value, zone), format)",
    "from_base64": "CAST(unbase64(value) AS STRING)",
    "row": "struct(...) or named_struct(...)",
    "element": "element_at(value, 1)",
}
_BARE = {"localtimestamp": "localtimestamp()"}
_OPTIONAL_GROUP = ("regexp_extract", "regexp_extract_all")


@dataclass(frozen=True)
class Item:
    """A column of a projection: its text, and whether it stands for all columns."""

    text: str

    @property
    def is_all(self) -> bool:
        """The expression is a star."""
        return self.text in ("*", "\\*")


def items(projection: str) -> tuple[Item, ...]:
    r"""The columns of a projection.

    >>> [item.text for item in items(r"\*, concat(a, ', ', b) AS c, d")]
    ['\\*', "concat(a, ', ', b) AS c", 'd']
    """
    found, current, depth = [], "", 0
    for token in _tokens(projection):
        depth += (token in _OPENS) - (token in _CLOSES)
        if token == "," and depth == 0:
            found.append(current)
            current = ""
        else:
            current += token
    found.append(current)
    return tuple(Item(text.strip()) for text in found if text.strip())


def column_name(text: str) -> str | None:
    """The column that an expression is nothing but the name of.

    >>> column_name("`a b`"), column_name("upper(a)")
    ('a b', None)
    """
    return unquoted(text) if _NAME.fullmatch(text) else None


def without_alias(text: str, name: str) -> tuple[str, bool]:
    """An expression without the alias that Spark has found at its end, and whether there is one.

    >>> without_alias("upper(a) AS b", "b"), without_alias("a b", "b"), without_alias("s.b", "b")
    (('upper(a)', True), ('a', True), ('s.b', False))
    """
    tokens = [token for token in _tokens(text) if token.strip()]
    if len(tokens) < 2 or not _NAME.fullmatch(tokens[-1]) or unquoted(tokens[-1]) != name or tokens[-2] == ".":
        return text, False
    before = text[: text.rindex(tokens[-1])].rstrip()
    return (before[: -len(tokens[-2])].rstrip() if tokens[-2].lower() == "as" else before), True


def names_in(text: str, known: Collection[str]) -> tuple[str, ...]:
    """The columns of these that an expression names.

    >>> names_in("upper(City) || ' city' || `zip` || s.date", ["city", "zip", "upper", "date"])
    ('city', 'zip')
    """
    by_lower = {name.lower(): name for name in known}
    found: list[str] = []
    tokens = [token for token in _tokens(text) if token.strip()]
    for number, token in enumerate(tokens):
        name = by_lower.get(unquoted(token).lower()) if _NAME.fullmatch(token) else None
        is_field = number > 0 and tokens[number - 1] == "."
        is_function = token[0] != "`" and tokens[number + 1 : number + 2] == ["("]
        if name is not None and not is_field and not is_function:
            found.append(name)
    return tuple(dict.fromkeys(found))


def substituted(text: str, instead: Mapping[str, str]) -> str:
    """An expression in which these columns stand as other expressions.

    >>> substituted("Big AND t.big", {"big": "(a > 1)"})
    '(a > 1) AND t.big'
    """
    tokens = list(_tokens(text))
    by_lower = {name.lower(): other for name, other in instead.items()}
    for number, token in enumerate(tokens):
        is_field = "".join(tokens[:number]).rstrip().endswith(".")
        if _NAME.fullmatch(token) and not is_field and unquoted(token).lower() in by_lower:
            tokens[number] = by_lower[unquoted(token).lower()]
    return "".join(tokens)


def spark_text(text: str) -> str:
    """An expression with the functions of Flink CDC as Spark has them. Raises ValueError for those that it has not.

    >>> spark_text("TIMESTAMP_DIFF(DAY, a, LOCALTIMESTAMP)")
    'timestampdiff(DAY, a, localtimestamp())'
    """
    tokens = list(_tokens(text))
    for number, token in enumerate(tokens):
        lower = token.lower()
        after = next((each for each in tokens[number + 1 :] if each.strip()), "")
        before = next((each for each in reversed(tokens[:number]) if each.strip()), "")
        if before == "." or not _NAME.fullmatch(token):
            continue
        if after == "(" and lower in _OTHER_NAMES:
            tokens[number] = _OTHER_NAMES[lower]
        elif after != "(" and lower in _BARE and before.lower() != "as":
            tokens[number] = _BARE[lower]
        elif after == "[" and lower in ("array", "map"):
            raise ValueError(f"has {token}[...], which Spark has not: write {lower}(...).")
        elif after == "(" and lower in _OPTIONAL_GROUP and _arguments(tokens[number + 1 :]) == 2:
            raise ValueError(
                f"has {token} without a group, which is 0 in Flink CDC and 1 in Spark: write {lower}(text, pattern, 0)."
            )
        elif lower in ("localtime", "current_time") or (after == "(" and lower in _INSTEAD):
            raise ValueError(f"has {token}, which Spark has not: write {_INSTEAD[lower]}.")
    return "".join(tokens)


def unquoted(token: str) -> str:
    """A name without its backticks."""
    return token[1:-1].replace("``", "`") if token[0] == "`" else token


def _tokens(text: str) -> Iterator[str]:
    r"""The tokens of an expression, blanks among them; `\*` is one."""
    at = 0
    while at < len(text):
        if text.startswith("\\*", at):
            yield "\\*"
            at += 2
            continue
        found = _TOKEN.match(text, at)
        assert found is not None  # the last alternative is any character
        yield found[0]
        at = found.end()


def _arguments(tokens: list[str]) -> int:
    """The number of arguments that a call has whose tokens follow."""
    depth, count = 0, 1
    for token in tokens:
        depth += (token in _OPENS) - (token in _CLOSES)
        count += token == "," and depth == 1
        if depth == 0 and token in _CLOSES:
            break
    return count
