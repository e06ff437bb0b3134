"""The REST catalog as Spark has it without the plug-in, by Iceberg's own class."""

import keylake as kl
from integration.rest.endpoint import Endpoint


def opened_strangely(lake: kl.Lake, endpoint: Endpoint, catalog: str, uri: str | None = None) -> str:
    """Names a catalog of Iceberg's own class over the REST catalog, in the session of the lake."""
    settings = endpoint.properties() | {"header.X-Keylake-Freshness": "0", "cache-enabled": "false"}
    lake.spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
    for name, value in (settings | {"uri": uri or endpoint.uri}).items():
        lake.spark.conf.set(f"spark.sql.catalog.{catalog}.{name}", value)
    return catalog
