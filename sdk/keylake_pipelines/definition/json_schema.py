"""The JSON Schema of a pipeline's YAML file, for editors: made of the models."""

from __future__ import annotations

import re
from typing import Any, cast

from keylake_pipelines.definition.pipeline import Pipeline

URL = "https://json-schema.org/draft/2020-12/schema"
_FREE = {"type": ["string", "number", "boolean"]}


def json_schema() -> dict[str, Any]:
    """The schema of all keys, with what they mean.

    >>> json_schema()["required"]
    ['source']
    """
    schema = Pipeline.model_json_schema(by_alias=True)
    schema["title"] = "A pipeline of keylake"
    for part in (schema, *cast("dict[str, dict[str, Any]]", schema["$defs"]).values()):
        properties: dict[str, Any] = part.get("properties", {})
        if "type" in properties:
            part["required"] = ["type", *part.get("required", ())]
        for each in properties.values():
            each.pop("title", None)
        for name in [name for name in properties if name.endswith(".*")]:
            text = properties.pop(name)["description"]
            part.setdefault("patternProperties", {})[f"^{re.escape(name[:-1])}.+"] = {**_FREE, "description": text}
    return {"$schema": URL, **schema}
