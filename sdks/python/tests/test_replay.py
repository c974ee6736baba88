"""What survives a broken connection, and what does not."""

from __future__ import annotations

import uuid

import pytest

import carrel as sdk
from carrel import Carrel, Output, Sandbox
from carrel._patience import Patience
from cutting import CuttingProxy


@pytest.fixture
def key() -> str:
    return str(uuid.uuid4())


def test_a_command_with_a_key_is_followed_over_broken_connections(proxy: CuttingProxy, sandbox: Sandbox, key: str) -> None:
    with proxy.client() as client:
        box = client.sandboxes.get(sandbox.id)
        command = f"echo run >> {key}; echo one; until [ -e {key}.go ]; do sleep 0.05; done; echo two"
        output = ""
        with box.exec_stream(command, idempotency_key=key) as process:
            for event in process:
                if isinstance(event, Output):
                    output += event.text
                    if output == "one\n":
                        proxy.cut_at = [b"event: stdout", b"event: exited"]
                        sandbox.files.write(f"{key}.go", "")
    assert output == "one\ntwo\n"
    assert proxy.cuts == 2
    assert sandbox.files.read_text(key) == "run\n"


def test_an_answer_that_is_lost_is_asked_for_again(proxy: CuttingProxy, sandbox: Sandbox, key: str) -> None:
    with proxy.client() as client:
        box = client.sandboxes.get(sandbox.id)
        proxy.cut_at = [b"HTTP/1.1 200"]
        assert box.exec(f"echo run >> {key}; echo done", idempotency_key=key).stdout == "done\n"
    assert proxy.cuts == 1
    assert sandbox.files.read_text(key) == "run\n"


def test_without_a_key_nothing_is_sent_twice(proxy: CuttingProxy, sandbox: Sandbox, key: str) -> None:
    with proxy.client() as client:
        box = client.sandboxes.get(sandbox.id)
        proxy.cut_at = [b"HTTP/1.1 200"]
        with pytest.raises(sdk.Unreachable):
            box.exec(f"echo run >> {key}")
    assert sandbox.files.read_text(key) == "run\n"


def test_code_with_a_key_is_followed_over_broken_connections(proxy: CuttingProxy, sandbox: Sandbox, key: str) -> None:
    with proxy.client() as client:
        box = client.sandboxes.get(sandbox.id)
        proxy.cut_at = [b"event: done"]
        code = f"open('{key}', 'a').write('run\\n'); print('told'); 7"
        with box.run_code_stream(code, idempotency_key=key) as stream:
            events = list(stream)
    assert proxy.cuts == 1
    assert [event.text for event in events if isinstance(event, sdk.CodeOutput)] == ["told\n"]
    assert [event.bundle["text/plain"] for event in events if isinstance(event, sdk.Result)] == ["7"]
    assert isinstance(events[-1], sdk.CodeDone)
    assert sandbox.files.read_text(key) == "run\n"


def test_a_connection_that_held_has_all_patience_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, now = sdk.CarrelError.of("unreachable", "gone"), 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    patience = Patience()
    for _ in range(100):
        patience.opened()
        now += 60
        assert patience.after(lost) == 0.05
    with pytest.raises(sdk.Unreachable):
        for _ in range(100):
            patience.opened()
            patience.after(lost)


def test_one_key_is_one_request(sandbox: Sandbox, key: str) -> None:
    assert sandbox.run_code("1", idempotency_key=key).text == "1"
    with pytest.raises(sdk.KeyReused):
        sandbox.run_code("2", idempotency_key=key)


def test_one_sandbox_is_made_though_the_answer_was_lost(proxy: CuttingProxy, carrel: Carrel, key: str) -> None:
    with proxy.client() as client:
        proxy.cut_at = [b"HTTP/1.1 201"]
        with client.sandboxes.create(memory_mb=64, metadata={"test": key}):
            assert proxy.cuts == 1
            assert carrel.sandboxes.list(search=key).total == 1


def test_events_go_on_after_a_broken_connection(proxy: CuttingProxy, carrel: Carrel, sandbox: Sandbox) -> None:
    with proxy.client() as client, client.events(type="sandbox", sandbox=sandbox.id) as events:
        proxy.cut_at = [b"event: sandbox.paused", b"event: sandbox.resumed"]
        sandbox.pause()
        assert next(events).kind == "sandbox.paused"
        sandbox.resume()
        assert next(events).kind == "sandbox.resumed"
    assert proxy.cuts == 2
