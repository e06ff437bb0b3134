"""The examples of public docstrings that need a lake: they are there, and what they call has these names.

Without a server: most of them speak of rows and commits that only a reader has.
"""

import ast
import inspect
from collections.abc import Iterator

import pytest

import keylake as kl
import keylake.local
from integration.documents.examples import examples, has_example, public

# What names in examples stand for; in those of keylake.local, a lake and a table are others.
ON_A_SERVER = {"kl": kl, "lake": kl.Lake, **dict.fromkeys(("profiles", "draft", "ranker", "orders"), kl.KeyedTable)}
LOCAL = {"keylake": keylake, "lake": keylake.local.LocalLake, "profiles": keylake.local.LocalTable}
NOTHING_TO_SHOW = {"Lake.close", "LocalLake.close", "Maintenance.pause", "Maintenance.resume", "Trigger.forget"}

EXAMPLES = examples()


def test_what_people_call_has_an_example() -> None:
    lacking = {
        thing.__qualname__
        for _, thing in public()
        if inspect.isfunction(thing) and thing.__module__.startswith("keylake") and not has_example(thing)
    }
    assert lacking == NOTHING_TO_SHOW


def calls(code: str, known: dict[str, object]) -> Iterator[tuple[str, object, list[str]]]:
    """The calls of members of what is known: the member's name, what it is a member of, and the named arguments."""
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            owner = known.get(node.func.value.id)
            if owner is not None:
                yield node.func.attr, owner, [each.arg for each in node.keywords if each.arg is not None]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_calls_what_is_there(name: str) -> None:
    known = LOCAL if name.startswith("keylake.local") else ON_A_SERVER
    for member, owner, arguments in calls(EXAMPLES[name], known):
        called = getattr(owner, member)
        parameters = inspect.signature(called).parameters.values()
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
        assert takes_any or set(arguments) <= {each.name for each in parameters}, member
