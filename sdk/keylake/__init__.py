"""Primary-key tables on Apache Iceberg: write like an append, read like a scan, and be right.

The names are imported with the first one that is asked for: commands and readers without a server, which import modules
of their own, do not wait for those of sessions, joins and pictures.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keylake._public import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]
    from keylake._public import __all__ as __all__


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":  # tools ask a module for names such as __wrapped__
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    public = vars(import_module(f"{__name__}._public"))
    if name in public:
        found: object = public[name]
    else:
        from keylake.extension import extended

        found = extended(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    public: list[str] = import_module(f"{__name__}._public").__all__
    return sorted({*globals(), *public})
