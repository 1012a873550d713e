"""A local HTTP server for tests of downloads: byte ranges, versions, and faults in the order they are asked for."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class FileServer:
    """Serves `files`, contents by path. Each request takes the first of `faults` away.

    Faults: a status; ("cut", n): the connection ends after n bytes; ("wrong range", n): ranges begin n bytes too late;
    ("more", n): n bytes follow the last; ("hold", event): waits after the first bytes; None: none.
    """

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.faults: list = []
        self.requests: list[tuple[str, str | None]] = []  # path, Range
        self.versions, self.ranges, self.announces = True, True, True
        self.headers: dict[str, str] = {}
        self.url = ""

    def version(self, path: str) -> str:
        return f'"{sha256(self.files[path]).hexdigest()[:8]}"'


@contextmanager
def serving() -> Iterator[FileServer]:
    """A server that runs until the block ends."""
    server = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def do_HEAD(self):
            self.answer(head=True)

        def do_GET(self):
            self.answer()

        def answer(self, head: bool = False):
            name = self.path.lstrip("/")
            server.requests.append((name, self.headers.get("Range")))
            fault = server.faults.pop(0) if server.faults and not head else None
            if isinstance(fault, int) or name not in server.files:
                self.send_error(fault if isinstance(fault, int) else 404)
                return
            data, begin = server.files[name], self.begin(name)
            if begin is not None and begin >= len(data):
                self.send_error(416)
                return
            self.send_response(200 if begin is None else 206)
            more = bytes(fault[1]) if fault and fault[0] == "more" else b""
            if server.announces:
                self.send_header("Content-Length", str(len(data) - (begin or 0) + len(more)))
            if server.versions:
                self.send_header("ETag", server.version(name))
            late = fault[1] if fault and fault[0] == "wrong range" else 0
            if begin is not None:
                self.send_header("Content-Range", f"bytes {begin + late}-{len(data) - 1}/{len(data)}")
            for header in server.headers.items():
                self.send_header(*header)
            self.end_headers()
            rest = data[begin or 0 :] + more
            if fault and fault[0] == "cut":
                rest = rest[: fault[1]]
            if fault and fault[0] == "hold":
                self.wfile.write(rest[: len(rest) // 2])
                self.wfile.flush()
                fault[1].wait(30)
                return
            if not head:
                self.wfile.write(rest)

        def begin(self, name: str) -> int | None:
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            same = self.headers.get("If-Range") in (None, server.version(name))
            return int(asked[1]) if asked and same and server.ranges else None

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
