"""The house: who may import whom, no cycles, no private names across modules. Lazy imports count too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import permed_measures

ROOT = Path(permed_measures.__file__).parent
LAYERS = (
    ("errors", "numbers", "inference"),
    ("render",),
    ("ranking",),
    ("measures",),
    ("files", "inputs", "profiles", "signature"),
    ("delegate", "evaluate", "notes", "tables"),
    ("hosts",),
    ("comparison", "verification", "explanation", "judges", "ltr", "serving"),
    ("gating",),
    ("cli",),
)
"""Each room may import from those above it, and from its own line."""
MOST_LINES = 400

LAYER = {room: place for place, rooms in enumerate(LAYERS) for room in rooms}
PATHS = {
    ".".join(["permed_measures", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}


def room(module):
    return module.split(".")[1] if "." in module else ""


def imports(path):
    """Yield (module, name) of everything that a file imports from this package, except for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inside in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or id(node) in for_types:
            continue
        if node.module is not None and node.module.startswith("permed_measures"):
            yield from ((node.module, alias.name) for alias in node.names)


def target(module, name):
    return f"{module}.{name}" if f"{module}.{name}" in PATHS else module


GRAPH = {module: {target(*found) for found in imports(path)} - {module} for module, path in PATHS.items()}


def test_every_room_has_a_layer():
    rooms = {room(module) for module in PATHS} - {"", "__main__"}
    assert rooms == set(LAYER), "a new room goes into LAYERS, below all that it imports"


@pytest.mark.parametrize("module", sorted(PATHS))
def test_a_room_imports_from_below(module):
    if room(module) not in LAYER:
        return
    for wanted in GRAPH[module]:
        if wanted != "permed_measures":
            assert LAYER[room(wanted)] <= LAYER[room(module)], f"{module} imports {wanted}, which is above it"


def test_no_cycle():
    state = {}

    def visit(module, path):
        state[module] = "open"
        for wanted in sorted(GRAPH.get(module, ())):
            related = wanted.startswith(f"{module}.") or module.startswith(f"{wanted}.")
            assert related or state.get(wanted) != "open", f"{' -> '.join([*path, module, wanted])}"
            if wanted not in state:
                visit(wanted, [*path, module])
        state[module] = "done"

    for module in sorted(PATHS):
        if module not in state:
            visit(module, [])


def test_no_module_is_longer_than_one_reads_at_once():
    long = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in PATHS.items()}
    assert {module: lines for module, lines in long.items() if lines > MOST_LINES} == {}


@pytest.mark.parametrize("module", sorted(PATHS))
def test_private_names_stay_in_their_module(module):
    for source, name in imports(PATHS[module]):
        crosses = name.startswith("_") and not name.startswith("__") and f"{source}.{name}" not in PATHS
        assert not crosses, f"{module} takes {source}.{name}"


@pytest.mark.parametrize("name", ["evaluate", "compare", "explain", "gate", "verify"])
def test_a_public_function_stays_one_however_its_room_is_imported(name):
    rooms = {"compare": "comparison", "explain": "explanation", "gate": "gating", "verify": "verification"}
    first = getattr(permed_measures, name)
    __import__(f"permed_measures.{rooms.get(name, name)}")
    assert callable(first)
    assert getattr(permed_measures, name) is first


@pytest.mark.parametrize("name", ["samples", "softmax_ranker", "leaks"])
def test_old_paths_warn_and_are_the_same_module(name):
    pytest.importorskip("numpy")
    new = __import__(f"permed_measures.ltr.{name}", fromlist=["*"])
    with pytest.warns(DeprecationWarning, match=rf"permed_measures\.{name} is permed_measures\.ltr\.{name} now"):
        found = permed_measures._Moved.create_module(permed_measures._Moved.find_spec(f"permed_measures.{name}"))  # noqa: SLF001  (imported once per process)
    assert found is new
