"""The public names of the package as lines of text: functions with their signatures, classes with their members."""

import builtins
import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType

from pydantic import BaseModel

import keylake
from keylake._table.earlier_names import Alias
from keylake._table.handle import Namespace
from keylake.types import Stored

PACKAGE = Path(keylake.__file__).parent

# What Python calls where objects are used with `with`, `[]`, `in`, `for`, `len` and `()`.
PROTOCOLS = ("__call__", "__contains__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__")


class Words(str):
    """The text of an annotation, which a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def names() -> list[str]:
    """The names of `keylake.__all__`, each described."""
    return [line for name in sorted(keylake.__all__) for line in described(name, getattr(keylake, name))]


def modules() -> list[str]:
    """Every module that people import, with its names; one that is not a name of `keylake` is described."""
    return [line for path in sorted(PACKAGE.iterdir()) if is_public(path) for line in of_module(f"keylake.{path.stem}")]


def is_public(path: Path) -> bool:
    """A file or a folder is a module without a leading underscore."""
    is_module = path.suffix == ".py" or (path / "__init__.py").exists()
    return is_module and not path.name.startswith("_")


def of_module(name: str) -> Iterator[str]:
    """The names that a module lists; without a list, the names of `keylake` that it defines."""
    module = importlib.import_module(name)
    yield f"module {name}"
    for own in sorted(getattr(module, "__all__", None) or defined_in(module)):
        value = getattr(module, own)
        if own in keylake.__all__ and getattr(keylake, own) is value:
            yield f"{name}.{own}"
        else:
            yield from described(f"{name}.{own}", value)


def defined_in(module: ModuleType) -> list[str]:
    """The names of `keylake` that this module defines."""
    return [
        name
        for name, value in vars(module).items()
        if name in keylake.__all__
        and getattr(keylake, name) is value
        and (value.__module__ == module.__name__ or not value.__module__.startswith("keylake"))
    ]


def described(name: str, value: object) -> Iterator[str]:
    """A line for a function or a constant; for a class a line for itself and one for each member."""
    stored = [each.type for each in getattr(value, "__metadata__", ()) if isinstance(each, Stored)]
    if stored:
        yield f"{name} = {annotation(typing.get_args(value)[0])} as {stored[0]!r}"
    elif inspect.isclass(value):
        yield from of_class(name, value)
    elif inspect.isfunction(value):
        yield from of_function(name, value)
    else:
        yield f"{name} = {constant(value)}"


def of_class(name: str, value: type) -> Iterator[str]:
    bases = [base.__name__ for base in value.__mro__[1:] if is_shown(base)]
    yield f"class {name}({', '.join(bases)})" if bases else f"class {name}"
    fields: dict[str, object] = getattr(value, "__dataclass_fields__", {})
    if issubclass(value, BaseModel):
        fields = dict(value.model_fields)
        yield from (f"{name}({field})" for field in model_fields(value))
    else:
        yield f"{name}{signature(value)}"
    for member in sorted(dir(value)):
        is_spoken = not member.startswith("_") or member in PROTOCOLS
        owner = next((each for each in value.__mro__ if member in vars(each)), None)
        if is_spoken and member not in fields and owner is not None and owner.__module__.startswith("keylake"):
            yield from of_member(f"{name}.{member}", vars(owner)[member])


def is_shown(base: type) -> bool:
    """A base class is one that users of the class know."""
    is_builtin = base.__module__ == builtins.__name__ and base not in (object, BaseException)
    return is_builtin or base.__name__ in keylake.__all__


def model_fields(model: type[BaseModel]) -> Iterator[str]:
    """What the constructor of a model takes; how values are checked is no part of it."""
    types = typing.get_type_hints(model)
    for name, field in model.model_fields.items():
        text = f"{name}: {annotation(types[name])}"
        yield text if field.is_required() else f"{text} = {constant(field.get_default(call_default_factory=True))}"


def of_member(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Alias):
        yield from of_function(name, value.verb)
    elif (namespace := namespace_of(value)) is not None:
        yield from of_class(name, namespace)
    elif isinstance(value, property) and value.fget is not None:
        yield f"{name}: {annotation(inspect.signature(value.fget).return_annotation)}"
    elif isinstance(value, cached_property):
        yield f"{name}: {annotation(inspect.signature(value.func).return_annotation)}"
    elif isinstance(value, classmethod | staticmethod):
        yield from (f"{type(value).__name__} {line}" for line in of_function(name, value.__func__))
    elif inspect.isfunction(value):
        yield from of_function(name, value)
    elif not isinstance(value, MemberDescriptorType | GetSetDescriptorType | dict):  # a slot, or what pydantic is told
        yield f"{name} = {constant(value)}"


def namespace_of(value: object) -> type[Namespace] | None:
    """The class of the verbs that a table has under a name."""
    if not isinstance(value, property) or value.fget is None:
        return None
    returned = vars(keylake.table).get(str(inspect.signature(value.fget).return_annotation))
    return returned if inspect.isclass(returned) and issubclass(returned, Namespace) else None


def of_function(name: str, value: object) -> Iterator[str]:
    """The signature of a function, and those by which type checkers know it."""
    yield f"{name}{signature(value)}"
    for each in typing.get_overloads(value):
        yield f"overload {name}{signature(getattr(each, '__func__', each))}"


def signature(value: object) -> str:
    """How a function or a class is called."""
    try:
        found = inspect.signature(value)
    except ValueError:  # one that Python's own errors have
        return "(...)"
    words = {name: Words(each.annotation) for name, each in found.parameters.items() if is_text(each.annotation)}
    parameters = [
        each.replace(annotation=words.get(name, each.annotation), default=default(each))
        for name, each in found.parameters.items()
    ]
    returned = found.return_annotation
    returned = Words(returned) if is_text(returned) else returned
    return plain(str(found.replace(parameters=parameters, return_annotation=returned)))


def is_text(annotated: object) -> bool:
    return isinstance(annotated, str)


def default(parameter: inspect.Parameter) -> object:
    """The default of a parameter, without quotes around it where it is shown as text."""
    given = parameter.default
    return Words(given.__name__) if inspect.isclass(given) and given is not inspect.Parameter.empty else given


def annotation(value: object) -> str:
    return plain(value if isinstance(value, str) else inspect.formatannotation(value))


def constant(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {constant(of)}' for key, of in value.items())}}}"
    return value.__name__ if inspect.isclass(value) else plain(repr(value))


def plain(text: str) -> str:
    """Without the modules that names lie in, which may move, and without places in memory."""
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return re.sub(
        r"\b(?:keylake|keylake_pipelines|typing|collections\.abc|pyarrow\.lib|pydantic\.types)\.(?:\w+\.)*(?=[A-Z])",
        "",
        text,
    )
