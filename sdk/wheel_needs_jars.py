"""A wheel without the server's jars would install well and then fail to connect: refuse to build one."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelNeedsJars(BuildHookInterface):
    """Run by hatchling before a wheel is built; an editable install may get its jars later."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:  # noqa: ARG002
        jars = Path(self.root, "sdk", "keylake", "jars")
        if version != "editable" and not any(jars.glob("keylake-server-*.jar")):
            raise SystemExit(f"{jars} holds no keylake-server jar: run `make build` first, then build the wheel again.")
