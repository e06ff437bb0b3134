"""The errors of a definition, as sentences that have no values of secrets."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KINDS = {
    "int": "a whole number",
    "bool": "true or false",
    "string": "text",
    "model": "a mapping of keys",
    "dict": "a mapping of keys",
    "mapping": "a mapping of keys",
    "tuple": "a list",
    "time_delta": "a length of time such as '1 minute'",
}


def said(
    error: ErrorDetails,
    within: str,
    *,
    value: str | None = None,
    known: Sequence[str] = (),
    ignored: Sequence[str] = (),
) -> str:
    """The sentence of an error of pydantic; `value` is what was written, where it may be shown.

    >>> said({"type": "missing", "loc": ("hostname",), "msg": "", "input": {}}, "MySql")
    'MySql.hostname is missing.'
    """
    place = ".".join((within, *map(str, error["loc"]))).strip(".")
    context: Mapping[str, Any] = error.get("ctx", {})
    kind = error["type"]
    is_secret = isinstance(error["input"], SecretStr)
    place = place or "The pipeline"
    was = (
        f"is {value}"
        if value is not None and not is_secret
        else "is empty"
        if error["input"] is None
        else "does not fit"
    )
    match kind:
        case "missing":
            return f"{place} is missing."
        case "extra_forbidden" | "unexpected_keyword_argument":
            name = str(error["loc"][-1])
            owner = place.removesuffix(f".{name}")
            return f"{owner} has no key {name!r}. {near(name, known, ignored)}".rstrip()
        case "union_tag_invalid":
            tags = [tag.strip("' ") for tag in str(context["expected_tags"]).split(",")]
            tag = str(context["tag"])
            return f"{place}.type is {tag!r}. {near(tag, tags)}"
        case "union_tag_not_found":
            return f"{place}.type is missing."
        case "literal_error" | "enum":
            words = re.findall(r"'([^']+)'", str(context["expected"]))
            hint = near(value.strip("'"), words) if value and len(words) > 1 else ""
            return f"{place} {was}. Use {' or '.join(words)}. {hint if 'mean' in hint else ''}".rstrip()
        case "value_error":
            return f"{place} {context['error']}"
        case "greater_than_equal":
            return f"{place} {was}. Use at least {context['ge']}."
        case "less_than_equal":
            return f"{place} {was}. Use at most {context['le']}."
        case _:
            wanted = next((text for word, text in _KINDS.items() if kind.startswith(word)), None)
            return f"{place} {was}. Use {wanted}." if wanted else f"{place}: {error['msg']}."


def without_followers(errors: Sequence[ErrorDetails], names: Sequence[str]) -> list[ErrorDetails]:
    """The errors without those of keys that are missing because they are spelled wrongly."""
    wrong = [str(each["loc"][-1]) for each in errors if each["type"] == "extra_forbidden"]
    meant = {name for each in wrong for name in difflib.get_close_matches(each, names, n=1)}
    return [each for each in errors if each["type"] != "missing" or str(each["loc"][-1]) not in meant]


def near(name: str, names: Sequence[str], ignored: Sequence[str] = ()) -> str:
    """The name that may have been meant, as a question, or else a list of all names without the ignored ones.

    >>> near("hostnam", ["hostname", "port"]), near("zork", ["hostname", "port"])
    ("Did you mean 'hostname'?", 'There are: hostname, port.')
    """
    found = difflib.get_close_matches(name, [*names, *ignored], n=1)
    if found:
        return f"Did you mean {found[0]!r}?"
    return f"There are: {', '.join(names)}." if names else ""
