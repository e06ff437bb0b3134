"""Definitions of pipelines as YAML: to and from text, with the place of everything that is wrong.

    text ── compose ──▶ nodes with marks ── scalars as text, ${NAME} filled in ──▶ data ── models ──▶ Pipeline
                             ▲                                                                │
                             └────────────── line and column ── where an error is ────────────┘

Scalars reach the models as they are written, so that `password: 0123` keeps its zero. Nothing that the environment has,
and no secret, gets into a sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, get_args

from pydantic import BaseModel, SecretStr, ValidationError

from keylake.errors import DefinitionError, Unsupported
from keylake_pipelines.definition.errors import near, said, without_followers
from keylake_pipelines.definition.fields import Definition, is_unused
from keylake_pipelines.definition.sources import SourceDefinition

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails
    from yaml.nodes import Node

_VARIABLE = re.compile(r"\$?\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"(, but found)? '[^']{2,}'")  # what YAML's parser says of a text: it may be a secret
_PLAIN = "tag:yaml.org,2002:"
_SOURCES: dict[str, type[Definition]] = {
    kind.model_fields["type"].default: kind for kind in get_args(get_args(SourceDefinition)[0])
}

_Definition = TypeVar("_Definition", bound=Definition)
Path: TypeAlias = tuple[str | int, ...]
_MOST_PARTS = 100_000


class _Found(Exception):  # noqa: N818 - it leaves this file as another error
    """An error at a place of the file."""

    def __init__(self, node: Node, sentence: str) -> None:
        super().__init__(sentence)
        self.place = node.start_mark.line + 1, node.start_mark.column + 1


def parsed(text: str, name: str, model: type[_Definition]) -> _Definition:
    """The definition that a YAML file has; `name` is that of the file in errors."""
    try:
        node = _composed(text, name)
        if (parts := _parts(node, {})) > _MOST_PARTS:
            raise DefinitionError(
                f"{name}: The file has {parts:,} parts, aliases counted; it may have {_MOST_PARTS:,}."
            )
        data = _data(node, ())
    except _Found as found:
        raise DefinitionError(_line(name, found.place, str(found))) from None
    except RecursionError:
        raise DefinitionError(f"{name}: The file has lists or mappings that are too deep. Write it flat.") from None
    try:
        return model.model_validate(data, strict=False, by_alias=True, by_name=False, context=name)
    except ValidationError as error:
        errors = error.errors()
        models = [_model(model, each["loc"]) for each in errors]
        known = [name for each in models for name in (*_known(each), *_known(each, ignored=True))]
        lines = [(_place(node, each), _sentence(node, each, model)) for each in without_followers(errors, known)]
        raise DefinitionError("\n".join(_line(name, place, line) for place, line in sorted(lines))) from None


def written(whole: Definition) -> str:
    """A definition as YAML, its parts in the order of its fields."""
    yaml = _yaml()
    data: dict[str, object] = {}
    for name in type(whole).model_fields:
        part: object = getattr(whole, name)
        if isinstance(part, Definition):
            data[name] = _part(part, name)
        elif part:
            data[name] = [_part(rule, name) for rule in cast("tuple[Definition, ...]", part)]
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120))


# ------------------------------------------------------------------------------------------------------ text to data


def _yaml() -> ModuleType:
    try:
        import yaml
    except ImportError:
        raise Unsupported("Pipelines need PyYAML. Install it: pip install 'keylake[pipelines]'.") from None
    return yaml


def _composed(text: str, name: str) -> Node:
    yaml = _yaml()
    try:
        node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = _QUOTED.sub("", error.problem or "it is no YAML")
        hint = (
            " Quote a value that begins with * or &, or write \\*." if "alias" in f"{problem} {error.context}" else ""
        )
        raise DefinitionError(_line(name, place, f"The file is no YAML: {problem}.{hint}")) from None
    except yaml.YAMLError:
        raise DefinitionError(f"{name}: The file is no YAML: it has characters that YAML has not.") from None
    if node is None:
        raise DefinitionError(f"{name}: The file is empty. A pipeline has a source and a sink.")
    return node


def _parts(node: Node, counted: dict[int, int]) -> int:
    """The parts that a node has once aliases are written out, of which few lines can make billions."""
    from yaml.nodes import MappingNode, SequenceNode

    if id(node) not in counted:
        counted[id(node)] = 1  # also of one that contains itself, which is refused later
        inner: list[Node] = []
        if isinstance(node, MappingNode):
            inner = [part for pair in cast("list[tuple[Node, Node]]", node.value) for part in pair]
        elif isinstance(node, SequenceNode):
            inner = cast("list[Node]", node.value)
        counted[id(node)] += sum(_parts(each, counted) for each in inner)
    return counted[id(node)]


def _data(node: Node, path: Path, above: tuple[int, ...] = ()) -> Any:
    """The node as mappings, lists and texts."""
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    if id(node) in above:
        raise _Found(node, f"{_dotted(path)} contains itself.")
    above = (*above, id(node))
    if not node.tag.startswith(_PLAIN) and not node.tag == "!":
        raise _Found(node, f"{_dotted(path)} has a tag of YAML, which is not known here. Leave it out.")
    if isinstance(node, MappingNode):
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, value in cast("list[tuple[Node, Node]]", node.value):
            if not isinstance(key, ScalarNode):
                raise _Found(key, f"{_dotted(path)} has a key that is no text.")
            name = str(key.value)
            if name in found:
                raise _Found(key, f"{_dotted((*path, name))} is given twice, first in line {lines[name]}.")
            lines[name] = key.start_mark.line + 1
            found[name] = _data(value, (*path, name), above)
        return found
    if isinstance(node, SequenceNode):
        items = cast("list[Node]", node.value)
        return [_data(item, (*path, number), above) for number, item in enumerate(items)]
    if node.tag == f"{_PLAIN}null":
        return None
    return _filled(node, path)


def _filled(node: Node, path: Path) -> str:
    """A text with what the environment has for ${NAME}; $${NAME} stays, without its first sign."""

    def value(found: re.Match[str]) -> str:
        if found[0].startswith("$$"):
            return found[0][1:]
        if not _NAME.fullmatch(found[1]):
            raise _Found(node, f"{_dotted(path)} has ${{{found[1]}}}, which is no name of a variable. Use ${{NAME}}.")
        if found[1] not in os.environ:
            raise _Found(
                node, f"{_dotted(path)} needs the environment variable {found[1]}, which is not set. Export it."
            )
        return os.environ[found[1]]

    return _VARIABLE.sub(value, str(node.value))


# ------------------------------------------------------------------------------------------------ errors to places


def _children(node: Node) -> Iterator[tuple[str | int, Node, Node]]:
    """The keys of a node, or its numbers, with the node of the key and that of the value."""
    from yaml.nodes import MappingNode, SequenceNode

    if isinstance(node, MappingNode):
        yield from ((str(key.value), key, value) for key, value in cast("list[tuple[Node, Node]]", node.value))
    elif isinstance(node, SequenceNode):
        yield from ((number, item, item) for number, item in enumerate(cast("list[Node]", node.value)))


def _nearest(node: Node, loc: Path) -> tuple[Node, Node, Path]:
    """The node of a key and that of its value, as far down as the file goes, and the path of it."""
    key, path = node, cast("Path", ())
    for part in loc:
        found = [(k, v) for name, k, v in _children(node) if name == part]
        if found:
            (key, node), path = found[0], (*path, part)
    return key, node, path


def _place(node: Node, error: ErrorDetails) -> tuple[int, int]:
    loc = (*error["loc"], "type") if error["type"] == "union_tag_invalid" else error["loc"]
    key, value, path = _nearest(node, loc)
    is_value = error["type"] not in ("missing", "extra_forbidden") and path and path[-1] == loc[-1]
    mark = (value if is_value and not list(_children(value)) else key).start_mark
    return mark.line + 1, mark.column + 1


def _sentence(node: Node, error: ErrorDetails, pipeline: type[Definition]) -> str:
    from yaml.nodes import ScalarNode

    _, value, path = _nearest(node, error["loc"])
    model = _model(pipeline, error["loc"])
    named = [str(part) for part in error["loc"] if part not in _SOURCES]
    shown = repr(str(value.value)) if isinstance(value, ScalarNode) and not _is_secret(model, path) else None
    known = _known(model)
    if error["type"] == "extra_forbidden" and len(named) == 1:
        return f"A pipeline has no key {named[0]!r}. {near(named[0], known)}"
    ignored = _known(model, ignored=True)
    sentence = said({**error, "loc": tuple(named)}, "", value=shown, known=known, ignored=ignored)
    if error["type"] == "union_tag_invalid" and path == ("source",):
        return sentence
    if named == ["sink", "type"]:
        return f"{sentence[:-1]}, and leave the other keys: what means nothing here is told as ignored."
    return sentence


def _known(model: type[BaseModel] | None, *, ignored: bool = False) -> list[str]:
    """The keys of a model that count, or those that are accepted and ignored."""
    fields = {} if model is None else model.model_fields
    return [str(each.validation_alias or name) for name, each in fields.items() if is_unused(each) == ignored]


def _model(pipeline: type[Definition], loc: Path) -> type[BaseModel] | None:
    """The model that the key of an error belongs to."""
    if len(loc) < 2:
        return pipeline
    if loc[0] == "source":
        return _SOURCES.get(str(loc[1]))
    annotation: Any = pipeline.model_fields[str(loc[0])].annotation
    found: Any = next(iter(get_args(annotation)), annotation)  # of a list of rules, the rule
    return cast("type[BaseModel]", found)


def _is_secret(model: type[BaseModel] | None, path: Path) -> bool:
    if model is None or not path:
        return False
    fields = [field for field in model.model_fields.values() if field.validation_alias == path[-1]]
    return not fields or any(field.annotation is SecretStr for field in fields)


def _dotted(path: Path) -> str:
    return ".".join(map(str, path)) or "The pipeline"


def _line(name: str, place: tuple[int, int], sentence: str) -> str:
    return f"{name}:{place[0]}:{place[1]}: {sentence}"


# ------------------------------------------------------------------------------------------------------ data to text


def _part(part: Definition, path: str) -> dict[str, Any]:
    """A part as YAML has it: what differs from the defaults, and the type first."""
    data = part.model_dump(by_alias=True, exclude_defaults=True)
    if "type" in type(part).model_fields:
        data = {"type": getattr(part, "type"), **data}  # noqa: B009 - not every part has one
    for _name, prefix in type(part).free_keys():
        free = data.pop(f"{prefix}*", {})
        data |= {f"{prefix}{key}": value for key, value in free.items()}
    return {key: _value(value, f"{path}.{key}") for key, value in data.items()}


def _value(value: object, path: str) -> object:
    if isinstance(value, SecretStr):
        return f"${{{re.sub(r'[^A-Za-z0-9]+', '_', path).upper()}}}"
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return {key: _value(each, f"{path}.{key}") for key, each in mapping.items()}
    return value.replace("${", "$${") if isinstance(value, str) else value
