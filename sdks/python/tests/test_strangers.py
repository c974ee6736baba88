"""What else may answer at an address: a proxy, a page to log in at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from carrel import Carrel, CarrelError


class Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "https://login.example/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            page = b"<html>welcome</html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_page_in_place_of_json_is_named(stranger: str) -> None:
    with Carrel(stranger, "token") as client, pytest.raises(CarrelError, match="answers with text/html that is no JSON") as failure:
        client.sandboxes.get("sbabc")
    assert (failure.value.code, failure.value.status) == ("unknown", 200)
    assert failure.value.hint


def test_a_redirect_is_named_with_where_it_leads(stranger: str) -> None:
    with Carrel(f"{stranger}/moved", "token") as client, pytest.raises(CarrelError, match="a redirect to https://login.example/") as failure:
        client.sandboxes.get("sbabc")
    assert failure.value.status == 302
