"""A server whose directory has more entries than it gives at once."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from carrel._sync.files import Files
from carrel._sync.transport import Transport


@pytest.mark.parametrize("truncated", [True, False])
def test_a_list_that_was_cut_says_so(truncated: bool) -> None:
    class Cutting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("X-Carrel-Truncated", str(truncated).lower())
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Cutting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    transport = Transport(f"http://127.0.0.1:{server.server_port}", "token")
    try:
        found = Files(transport, "/api/v1/sandboxes/sb1").list()
    finally:
        transport.close()
        server.shutdown()
        thread.join()
        server.server_close()
    assert found == []
    assert found.truncated is truncated
