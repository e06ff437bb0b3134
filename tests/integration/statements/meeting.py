"""A statement that is held between its read and its commit, so that others commit first."""

import threading
from collections.abc import Callable
from pathlib import Path
from time import sleep

from pyspark.sql.types import BooleanType

import keylake as kl


def register_gate(lake: kl.Lake) -> str:
    """A condition of SQL, with a directory for `{}`, that says that it has begun and is true once it may be."""

    def wait(directory: str) -> bool:
        try:
            Path(directory, "begun").touch(exist_ok=False)
        except FileExistsError:
            return True  # Spark may ask twice, and the others need a place to run
        while not Path(directory, "go").exists():
            sleep(0.01)
        return True

    lake.spark.udf.register("gate", wait, BooleanType())
    return "(SELECT every(gate('{}')) FROM range(1))"


def register_turnstile(lake: kl.Lake) -> str:
    """The same for a statement that is held each time that it is run: files `begun-1`, `go-1`, and so on."""

    def wait(directory: str) -> bool:
        number = len(list(Path(directory).glob("begun-*"))) + 1
        Path(directory, f"begun-{number}").touch()
        while not Path(directory, f"go-{number}").exists():
            sleep(0.01)
        return True

    lake.spark.udf.register("turnstile", wait, BooleanType())
    return "(SELECT every(turnstile('{}')) FROM range(1))"


def started(run: Callable[[], object]) -> tuple[threading.Thread, list[Exception]]:
    """A thread that runs it, and what it raises."""
    failed: list[Exception] = []

    def caught() -> None:
        try:
            run()
        except Exception as error:  # noqa: BLE001 - looked at by the test
            failed.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    return thread, failed


def meet(directory: Path, run: Callable[[], object], meanwhile: Callable[[], object]) -> None:
    """Run a statement with the gate of a directory, and the other thing after it was planned and before it commits."""
    thread, failed = started(run)
    while not (directory / "begun").exists() and thread.is_alive():
        sleep(0.01)
    try:
        meanwhile()
    finally:
        (directory / "go").touch()
        thread.join()
    if failed:
        raise failed[0]


def meet_each_time(directory: Path, run: Callable[[], object], meanwhile: Callable[[], object]) -> None:
    """Run a statement with the turnstile of a directory, and the other thing whenever it is held there."""
    thread, failed = started(run)
    number = 1
    while thread.is_alive():
        if (directory / f"begun-{number}").exists():
            meanwhile()
            (directory / f"go-{number}").touch()
            number += 1
        sleep(0.01)
    thread.join()
    if failed:
        raise failed[0]
