"""The names that verbs had before a table had namespaces. They stay for a release."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from keylake._table.branches import Branches
from keylake._table.changes import Feed
from keylake._table.experiments import Experiments
from keylake._table.files import Files
from keylake._table.handle import Verbs
from keylake._table.history import Commits
from keylake._table.layout import Layout
from keylake._table.serving import Serving
from keylake._table.states import States

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Alias(Generic[Arguments, Result]):
    """Another name of a verb that a namespace of the table has."""

    def __init__(self, namespace: str, verb: Callable[Concatenate[Any, Arguments], Result]) -> None:
        self._namespace = namespace
        self.verb = verb

    def __set_name__(self, owner: type, name: str) -> None:
        @wraps(self.verb)
        def of_any(table: Any, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
            return self._of(table)(*arguments, **named)

        called = "" if self.verb.__name__ == "__call__" else f".{self.verb.__name__}"
        of_any.__name__, of_any.__qualname__ = name, f"{owner.__qualname__}.{name}"
        of_any.__doc__ = f"The earlier name of `table.{self._namespace}{called}()`.\n\n{inspect.getdoc(self.verb)}"
        self.__doc__ = of_any.__doc__
        self._of_any = of_any

    def _of(self, table: Verbs) -> Callable[Arguments, Result]:
        """The verb in the namespace of a table."""
        found: Callable[Arguments, Result] = getattr(getattr(table, self._namespace), self.verb.__name__)
        return found

    @overload
    def __get__(self, table: None, owner: type) -> Callable[Concatenate[Any, Arguments], Result]: ...
    @overload
    def __get__(self, table: Verbs, owner: type) -> Callable[Arguments, Result]: ...
    def __get__(self, table: Verbs | None, owner: type) -> Callable[..., Result]:
        return self._of_any if table is None else self._of(table)


class EarlierNames(Verbs):
    """`table.drop_files(...)` is `table.files.drop(...)`, and so on."""

    runs = Alias("files", Files.runs)
    sections = Alias("files", Files.sections)
    drop_files = Alias("files", Files.drop)
    drop_files_plan = Alias("files", Files.drop_plan)
    move_files = Alias("files", Files.move)
    move_files_plan = Alias("files", Files.move_plan)
    restore_files = Alias("files", Files.restore)
    restore_files_plan = Alias("files", Files.restore_plan)
    drop_branch = Alias("branches", Branches.drop)
    touched_by_both = Alias("branches", Branches.touched_by_both)
    cherry_pick = Alias("branches", Branches.cherry_pick)
    cherry_pick_plan = Alias("branches", Branches.cherry_pick_plan)
    compaction_plan = Alias("layout", Layout.compaction_plan)
    compaction_policy = Alias("layout", Layout.compaction_policy)
    set_compaction_policy = Alias("layout", Layout.set_compaction_policy)
    retention_policy = Alias("layout", Layout.retention_policy)
    set_retention_policy = Alias("layout", Layout.set_retention_policy)
    clean = Alias("layout", Layout.clean)
    change_buckets = Alias("layout", Layout.change_buckets)
    rebucket = Alias("layout", Layout.rebucket)
    bucket_advice = Alias("layout", Layout.bucket_advice)
    refresh_merged = Alias("serving", Serving.refresh_merged)
    publish_iceberg = Alias("serving", Serving.publish_iceberg)
    publish_kv = Alias("serving", Serving.publish_kv)
    drop_experiment = Alias("experiments", Experiments.drop)
    archive = Alias("states", States.archive)
    history_branches = Alias("states", States.__call__)
    watermarks = Alias("commits", Commits.watermarks)
    offsets = Alias("commits", Commits.offsets)
    rollback = Alias("commits", Commits.rollback)
    adopt_commit = Alias("commits", Commits.adopt)
    undo_plan = Alias("commits", Commits.undo_plan)
    appended = Alias("feed", Feed.appended)
    stream_changes = Alias("feed", Feed.stream)
    undo_feed = Alias("feed", Feed.undo)
    consumers = Alias("feed", Feed.consumers)
    acknowledge = Alias("feed", Feed.acknowledge)
    drop_consumer = Alias("feed", Feed.drop_consumer)
