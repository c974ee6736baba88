"""The server is in CARREL_URL: ./test starts one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from carrel import Carrel, Sandbox
from cutting import CuttingProxy


@pytest.fixture(scope="session")
def carrel() -> Iterator[Carrel]:
    with Carrel() as client:
        yield client


@pytest.fixture(scope="session")
def sandbox(carrel: Carrel) -> Iterator[Sandbox]:
    with carrel.sandboxes.create(memory_mb=512) as made:
        yield made


@pytest.fixture
def proxy() -> Iterator[CuttingProxy]:
    with CuttingProxy() as made:
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    count = lambda *kinds: sum(len(terminalreporter.getreports(kind)) for kind in kinds)  # noqa: E731
    terminalreporter.write_line(f"{count('passed')} passed, {count('failed', 'error')} failed")
