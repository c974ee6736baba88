"""File operations and tunnels through the real guest: the hand-over to a worker, and its end. What each operation does is
tested in C, without the guest."""

import os
import socket
import threading
import unittest

from guestlib import *

READ, WRITE, WATCH, TUNNEL = 0x11, 0x12, 0x1A, 0x20
ENTRY, FILE_DATA, EVENT = 0x88, 0x8A, 0x8B


class Files(GuestTest):
    def download(self, guest, path):
        content = bytearray()
        with guest.connect() as connection:
            connection.send(READ, field(10, path))
            self.assertEqual(number(connection.expect(ENTRY)[52]), os.path.getsize(os.path.join(guest.workspace, path)))
            while (got := connection.receive())[0] == FILE_DATA:
                content += got[1]
            self.assertEqual(got[0], OK)
            self.assertIsNone(connection.receive())
        return bytes(content)

    def assertNoWorker(self, guest):
        self.wait(lambda: children_of(guest.process.pid) == [])

    def test_bytes_sent_behind_the_request_reach_the_worker(self):
        content = os.urandom(3_000_000)
        with self.guest() as guest, guest.connect() as connection:
            parts = [content[at:at + 500_000] for at in range(0, len(content), 500_000)]
            everything = frame(WRITE, field(10, "new/file")) + b"".join(frame(DATA, part) for part in parts) + frame(DATA_END)
            connection.socket.sendall(everything)
            self.assertEqual(number(connection.expect(ENTRY)[52]), len(content))
            connection.expect(OK)
            self.assertEqual(self.download(guest, "new/file"), content)
            self.assertNoWorker(guest)

    def test_a_refused_write_answers_while_the_host_still_sends(self):
        with self.guest() as guest, guest.connect() as connection:
            connection.send(WRITE, field(10, guest.workspace))
            for _ in range(50):
                connection.send(DATA, b"x" * 100_000)
            connection.send(DATA_END)
            self.assertEqual(connection.expect(ERROR)[10], b"not_a_file")
            self.assertIsNone(connection.receive())

    def test_a_host_that_goes_ends_the_worker(self):
        with self.guest() as guest:
            with open(os.path.join(guest.workspace, "sparse"), "wb") as file:
                file.truncate(1 << 40)
            requests = [(READ, field(10, "sparse")), (WRITE, field(10, "half")), (WATCH, field(10, "."))]
            for kind, payload in requests:
                with guest.connect() as connection:
                    connection.send(kind, payload)
                    if kind == WRITE:
                        connection.send(DATA, b"half")
                    else:
                        connection.receive()
                self.assertNoWorker(guest)
            self.assertEqual(os.listdir(guest.workspace), ["sparse"])

    def test_watching_sees_what_a_command_does(self):
        with self.guest() as guest, guest.connect() as connection:
            connection.send(WATCH, field(10, "."))
            connection.expect(OK)
            self.assertEqual(guest.shell("echo x > made").code, 0)
            event = connection.expect(EVENT)
            self.assertEqual((event[50], number(event[64])), (b"./made", 0))

    def test_a_tunnel_carries_what_was_sent_before_it_was_open(self):
        with self.guest() as guest, socket.create_server(("127.0.0.1", 0)) as server, guest.connect() as connection:
            def serve():
                with server.accept()[0] as peer:
                    request = b""
                    while chunk := peer.recv(100):
                        request += chunk
                    peer.sendall(b"answer to " + request)

            thread = threading.Thread(target=serve)
            thread.start()
            connection.socket.sendall(frame(TUNNEL, field(10, server.getsockname()[1])) + b"early")
            connection.socket.shutdown(socket.SHUT_WR)
            connection.expect(OK)
            answer = bytes(connection.buffer)
            while chunk := connection.socket.recv(100):
                answer += chunk
            thread.join(TIMEOUT)
            self.assertEqual(answer, b"answer to early")
            self.assertNoWorker(guest)


if __name__ == "__main__":
    unittest.main()
