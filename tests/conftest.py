"""What every run of the tests says: the seed of its random tests, and which tests it has left out."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from difflib import unified_diff
from pathlib import Path

import hypothesis
import pytest

# A new seed every day (workers get that of their controller): what a fixed seed never meets is met some day.
SEED = os.environ.setdefault("KEYLAKE_SEED", f"{datetime.now(timezone.utc):%Y%m%d}")
ROOT = Path(__file__).parents[1]
LEFT_OUT = pytest.StashKey[int]()

pytest_plugins = ["integration.shared_lake"]

hypothesis.settings.register_profile("keylake", derandomize=False, print_blob=True)
hypothesis.settings.load_profile("keylake")


class FailuresAtOnce:
    """Shows a failure when it happens: a run that is cut off has shown why."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            reporter.write_line("")
            reporter.section(f"{report.nodeid} ({report.when}, after {report.duration:.0f} s)", "-")
            report.toterminal(reporter._tw)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
    config.pluginmanager.register(FailuresAtOnce(config))
    if config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = SEED


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--days",
        type=int,
        default=1,
        metavar="N",
        help="run each file of tests on one day of N: the day is that of KEYLAKE_SEED, YYYYMMDD",
    )
    parser.addoption("--rewrite", action="store_true", help="write the texts that tests expect anew, for a reviewer")


@pytest.fixture
def agreed(request: pytest.FixtureRequest) -> Callable[[Path, Iterable[str]], None]:
    """Compares lines with those of a text file; with --rewrite the file gets them."""

    def compare(file: Path, lines: Iterable[str]) -> None:
        found = list(lines)
        if request.config.getoption("--rewrite"):
            file.write_text("".join(f"{line}\n" for line in found))
        wanted = file.read_text().splitlines() if file.exists() else []
        difference = list(unified_diff(wanted, found, n=0, lineterm=""))[2:]  # without the names of the files
        changed = [line for line in difference if not line.startswith("@@")]
        if changed:
            shown = [line[:200] for line in changed[:20]]
            more = f" and {len(changed) - 20} more" if len(changed) > 20 else ""
            test = request.node.path.relative_to(ROOT)
            pytest.fail(
                f"{file.name} differs in {len(changed)} lines (- is gone, + has come): {'; '.join(shown)}{more}. "
                f"If that is meant, `.venv/bin/python -m pytest {test} --rewrite` accepts it.",
                pytrace=False,
            )

    return compare


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the files of other days out. Files that are neighbours, and alike, have different days."""
    days = config.getoption("--days")
    if days == 1:
        return
    today = datetime.strptime(SEED, "%Y%m%d").toordinal()
    files = set(sorted({item.path for item in items})[today % days :: days])
    config.hook.pytest_deselected(items=[item for item in items if item.path not in files])
    items[:] = [item for item in items if item.path in files]


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        items[0].config.stash[LEFT_OUT] += len(items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells its controller what it has left out: the controller itself collects nothing."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    stash = node.config.stash  # type: ignore[attr-defined]
    stash[LEFT_OUT] = max(stash[LEFT_OUT], getattr(node, "workeroutput", {}).get("left_out", 0))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    quick = "not slow and not nightly"
    slow = "slow and not nightly"
    chosen = {quick: "every test that is not marked slow or nightly", slow: "the tests that are marked slow"}
    others = {quick: "`make test-slow` and `make nightly` run them", slow: "`make test` and `make nightly` run them"}
    marks = config.option.markexpr
    left_out = config.stash[LEFT_OUT]
    write = terminalreporter.write_line
    terminalreporter.section("what ran")
    write(f"ran: {chosen.get(marks, 'the tests that the command line names')}")
    if left_out:
        write(f"did not run: {left_out} other tests; {others.get(marks, '`make test` and `make nightly` run them')}")
    write(f"random tests: seed {SEED}; KEYLAKE_SEED={SEED} in the environment draws the same again")
