"""A pipeline that runs beside a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import keylake as kl


@contextmanager
def running(definition: kl.Pipeline, lake: kl.Lake) -> Iterator[None]:
    """The pipeline runs in a thread."""
    ending = threading.Event()
    thread = threading.Thread(target=kl.run_pipeline, args=(definition, lake), kwargs={"ending": ending})
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
