"""A server on loopback that speaks the common rerank API, keeps its own log, and fails as it is told to.

As a program (``python rerank_server.py SERVICE_MS LOG``) it prints its URL, and writes its log when its input ends.
Its service takes so long and a random time more, a quarter as long on average.
"""

from __future__ import annotations

import json
import random
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RerankServer(ThreadingHTTPServer):
    """Scores a text by the number in it; ``plan(n)`` says how the n-th request (from 0) is answered."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, plan=None, service_s=0.0):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan = plan or (lambda _: "ok")
        self.service_s = service_s
        self.lock = threading.Lock()
        self.log = []
        self.queries = []
        self.release = threading.Event()
        self.connections = []
        self.url = f"http://127.0.0.1:{self.server_port}/rerank"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release.set()
        self.die()

    def die(self):
        """Close everything: nobody answers any more."""
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            connection.close()

    def handle_error(self, *_):
        """Say nothing: clients that go away are part of the tests."""

    def count(self, status):
        return sum(found == status for _, _, found in self.log)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.connections.append(self.connection)

    def do_POST(self):
        begun = time.perf_counter()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            number = len(self.server.queries)
            self.server.queries.append(asked["query"])
        how = self.server.plan(number)
        if how == "die":
            threading.Thread(target=self.server.die, daemon=True).start()
            self.close_connection = True
            return
        if how == "hang":
            self.server.release.wait(60)
        if self.server.service_s:
            time.sleep(self.server.service_s + random.expovariate(4 / self.server.service_s))
        status = 503 if how == "503" else 200
        scores = [float(re.search(r"\d+", text)[0]) for text in asked["documents"]]
        best = sorted(range(len(scores)), key=lambda place: -scores[place])[: asked.get("top_n")]
        results = [{"index": place, "relevance_score": scores[place]} for place in best]
        answer = {"results": results} if how == "ok" else {"detail": "overloaded"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with self.server.lock:  # before the client has the answer, and may ask how many there were
            self.server.log.append((begun, time.perf_counter(), status))
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        """Keep quiet: the log is ours."""


if __name__ == "__main__":
    with RerankServer(service_s=float(sys.argv[1]) / 1000) as server:
        print(server.url, flush=True)
        sys.stdin.read()
        with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123  (a program of one file)
            json.dump(server.log, file)
