"""Implementations that we did not write, to check our values against; and the definitions written out by hand.

One file each, which no list names. A reference imports nothing from the rest of this package, takes and returns plain
dicts, and loads its own package only when it computes.
"""

from importlib import import_module
from pkgutil import iter_modules

from permed_measures.verification.references.reference import TOLERANCE, Computation, Reference, untied

REFERENCES: dict[str, Reference] = {
    reference.name: reference
    for module in sorted(iter_modules(__path__), key=lambda found: found.name)
    for reference in getattr(import_module(f"{__name__}.{module.name}"), "REFERENCES", ())
}

__all__ = ["REFERENCES", "TOLERANCE", "Computation", "Reference", "untied"]
