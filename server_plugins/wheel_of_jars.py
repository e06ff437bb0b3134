"""What the wheel of the server holds: the jars, in the folder in which the client looks for them."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelOfJars(BuildHookInterface):
    """Run by hatchling before the wheel is built: without jars it would install well, and then start no server."""

    def initialize(self, version: str, build_data: dict[str, dict[str, str]]) -> None:  # noqa: ARG002
        jars = Path(self.root).parent / "sdk" / "keylake" / "jars"
        found = sorted(jars.glob("*.jar"))
        if not any(jar.name.startswith("keylake-server-") for jar in found):
            raise SystemExit(f"{jars} holds no keylake-server jar: run `make build` first, then build the wheel again.")
        licenses = [Path(self.root).parent / "LICENSE", Path(self.root) / "NOTICE"]
        build_data["force_include"].update({str(file): f"keylake/jars/{file.name}" for file in [*found, *licenses]})
