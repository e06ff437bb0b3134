"""The keys of a pipeline's YAML as lines of text, from its JSON Schema."""

from collections.abc import Iterator, Mapping
from typing import Any

from keylake_pipelines.definition.json_schema import json_schema


def keys() -> list[str]:
    """Every key by its path; what a key means is in the documents."""
    schema = json_schema()
    return list(of_object("", schema, schema["$defs"]))


def of_object(path: str, schema: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, value in sorted(schema.get("properties", {}).items()):
        given = value.get("default", {})
        need = "required" if name in required else "" if isinstance(given, dict) else f"= {given!r}"
        yield f"{path}{name}: {kind(value)} {need}".rstrip()
        yield from of_inner(f"{path}{name}", value, models)
    for pattern, value in sorted(schema.get("patternProperties", {}).items()):
        yield f"{path}/{pattern}/: {kind(value)}"


def of_inner(path: str, value: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[str]:
    """The keys of the objects that a key may have."""
    for each in (value, *value.get("anyOf", ()), *value.get("oneOf", ())):
        model = each.get("$ref", each.get("items", {}).get("$ref"))
        if model is not None:
            found = models[model.rpartition("/")[2]]
            word = found.get("properties", {}).get("type", {}).get("const")
            place = f"{path}[{word}]" if word and path == "source" else path
            yield from of_object(f"{place}.", found, models)


def kind(value: Mapping[str, Any]) -> str:
    """The types that a value may have, or its words."""
    if "$ref" in value:
        return "object"
    if "const" in value:
        return repr(value["const"])
    if "enum" in value:
        return "|".join(map(str, value["enum"]))
    if "anyOf" in value or "oneOf" in value:
        return " or ".join(dict.fromkeys(kind(each) for each in value.get("anyOf", value.get("oneOf"))))
    if value.get("type") == "array":
        return f"list of {kind(value.get('items', {}))}"
    types = value.get("type", "anything")
    return types if isinstance(types, str) else " or ".join(types)
