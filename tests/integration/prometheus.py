"""The page on which a server gives its metrics to Prometheus."""

import re
from pathlib import Path
from urllib.request import urlopen

PAGE = Path(__file__).parents[2] / "sdk/docs/operations.md"
OF_PLUGIN = "metrics_keylake_driver_plugin_io_keylake_spark_KeylakePlugin_"


def documented_settings() -> dict[str, str]:
    """The settings that the page says for metrics and logs."""
    (block,) = re.findall(r"```properties\n(spark\.ui\.enabled.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return dict(line.split(maxsplit=1) for line in block.splitlines())


def numbers(port: int) -> dict[str, int]:
    """The numbers of the plug-in on the page of Prometheus, by their names."""
    with urlopen(f"http://127.0.0.1:{port}/metrics/prometheus", timeout=30) as page:
        text = page.read().decode()
    return {name: int(number) for name, number in re.findall(OF_PLUGIN + r'(\w+)_Value\{type="gauges"\} (\d+)', text)}
