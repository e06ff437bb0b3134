"""Every Base class of the packages of dbt-tests-adapter named here, as a class of tests."""

import importlib
import inspect
import pkgutil

import for_spark

PACKAGES = (
    "aliases", "basic", "concurrency", "constraints", "ephemeral", "hooks",
    "incremental", "relations", "simple_snapshot", "utils",
)  # fmt: skip


def modules(package):
    for found in pkgutil.walk_packages([*importlib.import_module(package).__path__], f"{package}."):
        if not found.ispkg:
            yield importlib.import_module(found.name)


# Classes without the fixtures that their tests ask for: others inherit from them.
ABSTRACT = {
    "constraints_ConstraintsColumnsEqual", "constraints_ContractSqlHeader", "utils_ArrayUtils",
    "utils_CurrentTimestamp", "utils_DataTypeMacro", "utils_Utils",
}  # fmt: skip

for package in PACKAGES:
    for module in modules(f"dbt.tests.adapter.{package}"):
        for name, base in inspect.getmembers(module, inspect.isclass):
            test = f"{package}_{name.removeprefix('Base')}"
            own = base.__module__ == module.__name__ and name.startswith("Base") and test not in ABSTRACT
            if own and any(method.startswith("test_") for method in dir(base)):
                bases = (for_spark.MIXINS[test], base) if test in for_spark.MIXINS else (base,)
                globals()[f"Test_{test}"] = type(f"Test_{test}", bases, {"__module__": __name__})
