"""Sends each of the requests on standard input (JSON, one list) to the proxy and prints what came back, as JSON.

A request is text whose characters are bytes, or a list of such texts: those after the first are sent once something came back.
"""
import json
import os
import socket
import sys
import urllib.parse

proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
answers = []
for request in json.load(sys.stdin):
    parts = [request] if isinstance(request, str) else request
    answer = b""
    with socket.create_connection((proxy.hostname, proxy.port), timeout=30) as connection:
        try:
            for number, part in enumerate(parts):
                connection.sendall(part.encode("latin-1"))
                if number + 1 < len(parts):
                    answer += connection.recv(65536)
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(65536):
                answer += chunk
        except OSError as error:
            answer += str(error).encode()
    answers.append(answer.decode("latin-1"))
print(json.dumps(answers))
