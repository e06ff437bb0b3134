"""The thread of the triggers outlives whatever fails in one of them."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

import keylake as kl
from keylake._server.statements import TablePath
from keylake._table.handle import Handle
from keylake._triggers.trigger import Trigger, What
from keylake._triggers.triggers import Triggers


class EachLook(Trigger):
    """Runs at every look, and keeps no position."""

    _kind: ClassVar[Any] = "trigger"

    def __init__(self, name: str, run: Callable[[Any], object], due: Callable[[], object] = lambda: None) -> None:
        super().__init__(Handle(None, TablePath("ns.t"), None), name, run)  # type: ignore[arg-type]
        self._asked = due

    def _at(self) -> int:
        return 0

    def _moved(self, before: int, to: int) -> bool:
        return True

    def _due(self, at: int) -> Iterator[tuple[int, Callable[[], What]]]:
        self._asked()
        yield 1, lambda: "this look"  # type: ignore[arg-type,return-value]


def raising(error: BaseException) -> Callable[..., object]:
    def run(*_: object) -> object:
        raise error

    return run


BROKEN = {
    "a look": (EachLook("broken", print, raising(KeyError("watermark"))), "KeyError: 'watermark'"),
    "a run": (EachLook("broken", raising(ZeroDivisionError("1/0"))), "ZeroDivisionError: 1/0"),
    "an exit": (EachLook("broken", raising(SystemExit("enough"))), "SystemExit: enough"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_error_in_one_trigger_keeps_none_of_the_others_from_running(what: str) -> None:
    broken, said = BROKEN[what]
    triggers = Triggers(None)  # type: ignore[arg-type]
    looks = threading.Semaphore(0)
    triggers._registered = {"broken": broken, "whole": EachLook("whole", lambda _: looks.release())}
    triggers.start(seconds=0.01)
    for _ in range(3):
        assert looks.acquire(timeout=30)
    assert triggers.is_started
    triggers.stop()
    assert not triggers.is_started
    failed = [entry for entry in triggers.log() if entry.error]
    assert failed
    assert {entry.trigger for entry in failed} == {"broken"}
    assert all(said in str(entry.error) and "the next run tries again" in str(entry.error) for entry in failed)
    with pytest.raises(kl.TriggerFailed, match=said.replace("/", ".")):
        triggers.run_due()
