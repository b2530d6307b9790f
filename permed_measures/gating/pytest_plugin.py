"""The plugin of pytest: a fixture and a marker, both called ranking_gate, and --ranking-report FILE.

pytest loads it whenever it starts, so nothing heavy is imported before a gate is used.
"""

import warnings
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from permed_measures.errors import ParamError
from permed_measures.files.output import write_whole
from permed_measures.gating import Gate, gate
from permed_measures.inputs import as_qrels
from permed_measures.render.document import Table, of_table
from permed_measures.render.records import as_json
from permed_measures.render.result import written

_GATES = pytest.StashKey[list[dict[str, Any]]]()
_MARKER = (
    "ranking_gate(*conditions, qrels=None, by_query=False, **options): what the fixture ranking_gate checks, with the "
    "options of permed_measures.gate; by_query makes a test, with a query_id, of every query of the qrels"
)
_COLUMNS = ("verdict", "what", "value", "baseline", "drop", "p_adjusted", "n", "why")
_FORMATS = {".md": "markdown", ".html": "html", ".csv": "csv", ".tex": "latex", ".txt": "text"}


class RankingGateWarning(UserWarning):
    """A gate that passes although it could not tell."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --ranking-report."""
    told = "write every ranking gate of the session there; the suffix tells the format: .json, .md, .html, .txt, .csv"
    parser.getgroup("ranking gates").addoption("--ranking-report", metavar="FILE", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; collect the report where tests are not a worker's."""
    config.addinivalue_line("markers", _MARKER)
    path = config.getoption("--ranking-report")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(Path(path)), "ranking-report")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of every query where a marker asks for it."""
    marker = metafunc.definition.get_closest_marker("ranking_gate")
    if marker is None or not marker.kwargs.get("by_query"):
        return
    if "query_id" not in metafunc.fixturenames or "qrels" not in marker.kwargs:
        msg = f"{metafunc.definition.nodeid}: by_query needs qrels= in the marker, and a parameter query_id of the test"
        raise pytest.UsageError(msg)
    metafunc.parametrize("query_id", list(as_qrels(_found(marker.kwargs["qrels"], metafunc.definition))))


@pytest.fixture
def ranking_gate(request: pytest.FixtureRequest) -> "RankingGate":
    """Check a run: ``ranking_gate(qrels, run, "nDCG@10 >= 0.8", baseline=…, max_drop=0.02)``, or a gate.toml."""
    return RankingGate(request.node)


class RankingGate:
    """Called by a test, it checks a run, and fails the test unless the gate may pass."""

    def __init__(self, node: Any) -> None:  # noqa: ANN401  (a test of pytest)
        self._node = node
        marker = node.get_closest_marker("ranking_gate")
        self._conditions: Sequence[str] = () if marker is None else marker.args
        self._options = {} if marker is None else dict(marker.kwargs)

    def __call__(self, qrels: Any = None, run: Any = None, *conditions: str, **options: Any) -> Gate:  # noqa: ANN401  (what gate() takes)
        """Return what was found; AssertionError has the table where the gate fails or could not tell."""
        __tracebackhide__ = True
        known = {**self._options, **options}
        known |= {name: given for name, given in (("qrels", qrels), ("run", run)) if given is not None}
        result = self._checked(known, [*self._conditions, *conditions])
        self._node.stash.setdefault(_GATES, []).append({"test": self._node.nodeid, **result.to_dict()})
        for check in result.checks:
            name = check.condition.name + f" {check.kind}" * (check.drop is not None) + check.part
            self._node.user_properties.append((name, check.value if check.drop is None else check.drop))
        self._node.user_properties.append(("ranking_gate", result.verdict))
        if result.exit_code:
            raise AssertionError(f"the ranking gate {'fails' if result.exit_code == 1 else 'could not tell'}\n{result}")
        print(result)  # noqa: T201  (pytest shows it where asked)
        for said in result.warnings:
            warnings.warn(said, RankingGateWarning, stacklevel=2)
        return result

    def _checked(self, known: dict[str, Any], conditions: list[str]) -> Gate:
        from permed_measures.gating.settings import arguments, find, load  # noqa: PLC0415  (light at import)

        by_query, config = known.pop("by_query", False), known.pop("config", None)
        if config is None and "qrels" not in known:
            config = find(self._node.path.parent)
        settings = {} if config is None else load(_found(config, self._node))
        paths = ("qrels", "run", "baseline", "serving", "profile")
        settings |= {name: _found(v, self._node) if name in paths else v for name, v in known.items()}
        settings["conditions"] = conditions or settings.get("conditions", [])
        missing = [name for name in ("qrels", "run") if name not in settings]
        if missing:
            raise ParamError(
                f"ranking_gate: {' and '.join(missing)} not given, neither here, nor in the marker, nor in a gate.toml"
            )
        if by_query:
            query_id = self._node.callspec.params["query_id"]
            settings["qrels"] = {query_id: as_qrels(settings["qrels"])[query_id]}
        return gate(**arguments(settings))


def _found(path: Any, node: Any) -> Any:  # noqa: ANN401  (a path, or what is no path)
    """Return a path that exists: as it is, or beside the test."""
    if not isinstance(path, (str, Path)) or Path(path).exists():
        return path
    beside = node.path.parent / path
    return str(beside) if beside.exists() else path


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Let the report of a test, which workers send home, have its gates."""
    report = yield
    if call.when == "call" and _GATES in item.stash:
        report.ranking_gates = item.stash[_GATES]
    return report


class _Report:
    """Collects the gates of all tests, of this process or of workers, and writes them at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gates: list[dict[str, Any]] = []
        path.unlink(missing_ok=True)  # an old report is not taken for that of a session that broke off

    def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: ANN401  (with what was added above)
        """Keep the gates of one test."""
        self._gates += getattr(report, "ranking_gates", [])

    def pytest_sessionfinish(self) -> None:
        """Write the report."""
        gates = sorted(self._gates, key=lambda gate: gate["test"])
        form = _FORMATS.get(self._path.suffix)
        if form is None:
            text = as_json({"permed_measures": "gates", "schema": 1, "gates": gates}) + "\n"
        else:
            rows = [[gate["test"], *(check[name] for name in _COLUMNS)] for gate in gates for check in gate["checks"]]
            text = written(of_table(Table(["test", *_COLUMNS], rows)), form)  # type: ignore[arg-type]  # a format
        write_whole(self._path, text)
