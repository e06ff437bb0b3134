"""Verbs of a local table as coroutines: each runs in a thread of asyncio, so the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

_Table = TypeVar("_Table")
_Words = ParamSpec("_Words")
_Result = TypeVar("_Result")


def awaited(
    verb: Callable[Concatenate[_Table, _Words], _Result],
) -> Callable[Concatenate[_Table, _Words], Coroutine[Any, Any, _Result]]:
    """The verb as a coroutine, called `a` and its name."""

    @functools.wraps(verb)
    async def in_thread(table: _Table, /, *words: _Words.args, **named: _Words.kwargs) -> _Result:
        return await asyncio.to_thread(verb, table, *words, **named)

    own, text = verb.__name__, verb.__doc__ or ""
    in_thread.__name__ = f"a{own}"
    in_thread.__qualname__ = verb.__qualname__.replace(own, f"a{own}")
    in_thread.__doc__ = f"The coroutine of `{own}`, run in a thread of asyncio.\n\n        {text}".replace(
        f"profiles.{own}(", f"await profiles.a{own}("
    )
    return in_thread
