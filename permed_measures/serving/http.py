"""A reranker behind a URL, by the common rerank API: query, documents, top_n → results of index, relevance_score."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from permed_measures.errors import ParamError
from permed_measures.serving.failures import one_line

_CONNECTIONS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
_OK = 200


class HTTPStatusError(Exception):
    """The server answered with another status than 200."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.failure_kind = f"HTTP {status}"


class HttpReranker:
    """Posts a query and its texts to a URL; every thread keeps its connection open.

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
        parts = urlsplit(url)
        if parts.scheme not in _CONNECTIONS or not parts.hostname:
            raise ParamError(f"{url!r} is not a URL such as http://localhost:8080/rerank")
        self._parts, self._model, self._timeout_s = parts, model, timeout_s
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._kept = threading.local()

    def __call__(self, query: str, texts: Sequence[str]) -> Any:  # noqa: ANN401  (whatever the server answers)
        """Return the answer, whatever it is; anything but a status 200 raises."""
        body = {"query": query, "documents": list(texts), "top_n": len(texts)}
        sent = json.dumps(body | ({} if self._model is None else {"model": self._model})).encode()
        fresh = getattr(self._kept, "connection", None) is None
        try:
            status, content = self._post(sent)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if fresh:
                raise
            status, content = self._post(sent)  # a server closes what was idle for long
        if status != _OK:
            raise HTTPStatusError(status, one_line(content.decode(errors="replace")) or f"HTTP {status}")
        return json.loads(content)

    def _post(self, sent: bytes) -> tuple[int, bytes]:
        if getattr(self._kept, "connection", None) is None:
            made = _CONNECTIONS[self._parts.scheme]
            self._kept.connection = made(self._parts.hostname or "", self._parts.port, timeout=self._timeout_s)
        connection = self._kept.connection
        target = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        try:
            connection.request("POST", target, sent, self._headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            self._kept.connection = None
            raise
        if response.will_close:
            connection.close()
            self._kept.connection = None
        return response.status, content
