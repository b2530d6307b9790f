"""A reranker behind a URL, by the common rerank API: query, documents, top_n → results of index, relevance_score."""

from __future__ import annotations

import http.client
import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from permed_measures.errors import ParamError
from permed_measures.serving.calls import CallError

_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
_OK = 200


class HttpReranker:
    """Posts a query and its texts to a URL; connections are kept open, until it is left as a context manager.

    ``model`` is sent along where it is given; ``headers`` are for keys. Redirects are not followed, and no proxy is
    used: what is timed is the server.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._parts = urlsplit(url)
        if self._parts.scheme not in _CONNECTIONS or not self._parts.hostname:
            raise ParamError(f"{url!r} is not a URL such as http://localhost:8080/rerank")
        self._model, self._timeout_s = model, timeout_s
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._left = False
        self._idle: deque[http.client.HTTPConnection] = deque()

    def __enter__(self) -> HttpReranker:  # noqa: PYI034  (typing.Self came with Python 3.11)
        return self

    def __exit__(self, *_: object) -> None:
        self._left = True
        while self._idle:
            self._idle.pop().close()

    def __call__(self, query: str, texts: Sequence[str]) -> Any:  # noqa: ANN401  (whatever the server answers)
        """Return the answer, whatever it is; anything but a status 200 raises."""
        body = {"query": query, "documents": list(texts), "top_n": len(texts)}
        sent = json.dumps(body | ({} if self._model is None else {"model": self._model})).encode()
        try:
            kept = self._idle.pop()
        except IndexError:
            return self._posted(sent)
        try:
            return self._posted(sent, kept)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):  # it was idle for long
            return self._posted(sent)

    def _posted(self, sent: bytes, kept: http.client.HTTPConnection | None = None) -> Any:  # noqa: ANN401  (as above)
        parts, made = self._parts, _CONNECTIONS[self._parts.scheme]
        connection = kept or made(parts.hostname or "", parts.port, timeout=self._timeout_s)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", target, sent, self._headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or self._left:
            connection.close()
        else:
            self._idle.append(connection)
        if response.status != _OK:
            kind = f"HTTP {response.status}"
            raise CallError(kind, content.decode(errors="replace") or kind)
        return json.loads(content)
