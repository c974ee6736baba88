# Written by sdks/generate.py from the file of this name in _async. Change that one.
"""One server over HTTP: bodies, errors, and asking again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Union
from urllib.parse import urlsplit

import httpx

from .._errors import CarrelError
from .._patience import Patience
from .._wire import body
from .platform import sleep

Content = Union[bytes, Iterator[bytes]]

# Commands may take any time, so nothing but connecting is bounded here: the server bounds the rest.
TIMEOUT = httpx.Timeout(None, connect=10)
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=32)
MAX_ERROR_BODY = 64 * 1024


class Transport:
    def __init__(self, url: str | None, token: str | None) -> None:
        url = url or os.environ.get("CARREL_URL")
        token = token or os.environ.get("CARREL_TOKEN")
        if not url or not token:
            raise CarrelError.of(
                "invalid_input",
                "no server is named" if not url else "no token is given",
                hint="pass url and token, or set CARREL_URL and CARREL_TOKEN; `carrel serve` tells the address and where the token is",
            )
        self.base = url.rstrip("/")
        # A proxy of the environment would look for a loopback address on its own machine.
        local = urlsplit(self.base).hostname in ("127.0.0.1", "::1", "localhost")
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT, limits=LIMITS, trust_env=not local
        )

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return self._parsed(self._ask("GET", path, params=params))

    def get_cut(self, path: str, params: Mapping[str, Any]) -> tuple[Any, bool]:
        """Also whether there is more than what came."""
        response = self._ask("GET", path, params=params)
        return self._parsed(response), response.headers.get("X-Carrel-Truncated") == "true"

    def send(self, method: str, path: str, wire: Any = None, *, key: str | None = None, params: Mapping[str, Any] | None = None) -> Any:
        """Sends JSON and reads JSON, if there is any. With a key also when the answer is lost."""
        content = None if wire is None else json.dumps(wire, default=body).encode()
        headers = {} if wire is None else {"Content-Type": "application/json"}
        if key is None:
            response = self._ask(method, path, content=content, headers=headers, params=params)
        else:
            response = self._ask_again(method, path, content, {**headers, "Idempotency-Key": key})
        return self._parsed(response) if response.content else None

    def put(self, path: str, content: Content, params: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        raw = {"Content-Type": "application/octet-stream", **(headers or {})}
        self._ask("PUT", path, content=content, headers=raw, params=params)

    def post(
        self, path: str, content: Content, params: Mapping[str, Any], *, type: str = "application/octet-stream"
    ) -> Any:
        """Sends bytes and reads JSON, if there is any."""
        response = self._ask("POST", path, content=content, headers={"Content-Type": type}, params=params)
        return self._parsed(response) if response.content else None

    def open(
        self,
        method: str,
        path: str,
        wire: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        """An answer whose body is the caller's to read and close."""
        content = None if wire is None else json.dumps(wire, default=body).encode()
        typed = {} if wire is None else {"Content-Type": "application/json"}
        request = self._client.build_request(
            method, self.base + path, content=content, headers={**typed, **(headers or {})}, params=given(params)
        )
        try:
            response = self._client.send(request, stream=True)
        except httpx.TransportError as e:
            raise self.unreachable(e) from e
        if response.status_code >= 300:
            try:
                raise self._failure(response)
            finally:
                response.close()
        return response

    def pieces(self, response: httpx.Response) -> Iterator[bytes]:
        """What an open answer holds, so that it need not fit into memory."""
        try:
            for chunk in response.iter_bytes():
                yield chunk
        except httpx.TransportError as e:
            raise self.unreachable(e) from e

    def unreachable(self, reason: Exception) -> CarrelError:
        return CarrelError.of("unreachable", f"no whole answer from {self.base}: {reason or type(reason).__name__}")

    def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        request["params"] = given(request.get("params"))
        try:
            response = self._client.request(method, self.base + path, **request)
        except httpx.TransportError as e:
            raise self.unreachable(e) from e
        if response.status_code >= 300:
            raise self._failure(response)
        return response

    def _failure(self, response: httpx.Response) -> CarrelError:
        if response.status_code >= 400:
            return failure(response)
        return self._stranger(response, f"a redirect to {response.headers.get('Location', 'nowhere')}")

    def _parsed(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as e:
            raise self._stranger(response, f"{response.headers.get('Content-Type', 'something')} that is no JSON") from e

    def _stranger(self, response: httpx.Response, answer: str) -> CarrelError:
        return CarrelError.of(
            "unknown",
            f"{self.base} answers with {answer}",
            status=response.status_code,
            hint="something other than the server listens there or stands before it: pass the server's own url",
        )

    def _ask_again(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> httpx.Response:
        patience = Patience()
        while True:
            try:
                return self._ask(method, path, content=content, headers=headers)
            except CarrelError as e:
                sleep(patience.after(e))

    def close(self) -> None:
        self._client.close()


def given(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Without what is left out; None would take away the query of the URL."""
    return {name: value for name, value in params.items() if value is not None} if params else None


def failure(response: httpx.Response) -> CarrelError:
    try:
        problem = json.loads((response.read())[:MAX_ERROR_BODY])
    except (ValueError, httpx.TransportError):
        problem = {}
    return CarrelError.of_problem(response.status_code, problem if isinstance(problem, dict) else {})
