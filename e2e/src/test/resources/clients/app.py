"""An app for tests, of the standard library alone: pages, an echo by WebSocket, and events."""

import base64
import hashlib
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            return self.echo()
        if self.path == "/events":
            return self.events()
        if self.path == "/away":
            return self.answer(302, b"", {"Location": "/seen?by=redirect"})
        seen = {"path": self.path, "headers": dict(self.headers.items())}
        self.answer(200, json.dumps(seen).encode(), {"Set-Cookie": "sid=7; Path=/"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201, body.upper(), {})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        for number in range(1_000_000):
            self.wfile.write(b"data: %d\n\n" % number)
            self.wfile.flush()
            time.sleep(0.05)

    def echo(self):
        accept = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + MAGIC).digest())
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        self.wfile.write(b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        self.wfile.flush()
        self.close_connection = True
        while (first := self.rfile.read(1)) and first[0] & 15 != 8:
            length = self.rfile.read(1)[0] & 127
            if length == 126:
                length = int.from_bytes(self.rfile.read(2), "big")
            elif length == 127:
                length = int.from_bytes(self.rfile.read(8), "big")
            mask, data = self.rfile.read(4), self.rfile.read(length)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
            head = bytes([length]) if length < 126 else b"\x7e" + length.to_bytes(2, "big")
            self.wfile.write(first + head + data)
            self.wfile.flush()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
