"""Named inputs. Made with fixed seeds, so that they are the same everywhere; and real ones, where they are at hand."""

from __future__ import annotations

from compat.corpora.corpus import Corpus
from compat.corpora.made import MADE
from compat.corpora.real import REAL

CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in (*MADE, *REAL)}

__all__ = ["CORPORA", "Corpus"]
