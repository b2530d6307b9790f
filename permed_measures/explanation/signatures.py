"""A signature read back in words, and what two of them do not have in common."""

from permed_measures.errors import ParamError
from permed_measures.measures import declared, parse
from permed_measures.render.document import Document, Table, of_table
from permed_measures.signature import Signature, choices, differences

_ORDERS = {
    "float32": "scores are compared as 32-bit floats, ties by document id, descending: trec_eval 9.0.8 and pytrec_eval",
    "float64": "scores are compared as 64-bit floats, ties by document id, descending: trec_eval 10.0",
}
_TIES = {
    "input": "as they came in the input",
    "expected": "their value is the mean over all orders",
    "best": "their value is that of the best order",
    "worst": "their value is that of the worst order",
}
_ORDERS |= {
    f"{order}-{ties}": f"scores are compared as {order.removeprefix('float')}-bit floats, documents that tie: {said}"
    for order in tuple(_ORDERS)
    for ties, said in _TIES.items()
}
_QUERIES = {
    "qrels": "the mean runs over the queries of the qrels; one that the run lacks counts 0",
    "run": "the mean runs over the queries of the run",
    "both": "the mean runs over the queries that are in the qrels and in the run",
}


def is_signature(text: str) -> bool:
    """Whether a text is meant as a signature: no file is called so."""
    return "|order:" in text


def read_back(first: str, second: str | None = None) -> Document:
    """Say what the conditions of a signature mean; of two, what they do not have in common."""
    one = Signature.parse(first)
    if second is None:
        rows = [[name, str(getattr(one, name)), said] for name, said in _meanings(one).items()]
        return of_table(Table(["condition", "is", "means"], rows, left=3))
    found = differences(one, Signature.parse(second))
    if not found:
        said = "the two have the same conditions: their numbers can be compared"
    elif all(change.startswith("n: ") for change in found):
        said = "only the number of queries differs: compare them on the queries that both have"
    else:
        said = "their numbers cannot be compared"
    rows = [[name, *change.split(" → ", 1)] for name, _, change in (change.partition(": ") for change in found)]
    return of_table(Table(["condition", "first", "second"], [[*row, ""][:3] for row in rows], left=3, below=[said]))


def _meanings(one: Signature) -> dict[str, str]:
    return {
        "measure": _measure(one.measure),
        "order": _ORDERS.get(one.order, "an order that is not known here"),
        "queries": _QUERIES.get(one.queries, "queries that are not known here"),
        "n": "so many queries",
        "judgements": "so many judgements; as many others have another digest",
        "digest": "of all judgements, whatever their order and file format",
        "version": "of the measure: raised when its values move",
    }


def _measure(name: str) -> str:
    """Return what a measure is, and everything that it chooses."""
    try:
        measure = parse(name)
    except ParamError:
        return "of a package that is not installed here"
    known = declared(measure)
    about = (type(measure).__doc__ if known is None else known.__doc__) or ""
    first = about.strip().split("\n\n")[0].rstrip(".")
    return "; ".join([" ".join(first.split()), *(f"{axis}: {value}" for axis, value in choices(measure).items())])
