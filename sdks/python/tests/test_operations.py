"""What operators do, and values and files on their way: against a server."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

import carrel as sdk
from carrel import AsyncCarrel, Carrel, Sandbox


def test_settings_change_and_change_back(carrel: Carrel) -> None:
    before = {one.name: one for one in carrel.settings.list()}["max_queued"]
    assert not before.changed
    after = {one.name: one for one in carrel.settings.change(max_queued=before.configured + 1)}["max_queued"]
    assert (after.value, after.configured, after.changed) == (before.configured + 1, before.configured, True)
    assert not {one.name: one for one in carrel.settings.change(max_queued=None)}["max_queued"].changed
    assert not any(one.changed for one in carrel.settings.reset())
    with pytest.raises(sdk.InvalidInput):
        carrel.settings.change(max_queued=-1)


def test_keys_open_until_they_are_deleted(carrel: Carrel) -> None:
    made = carrel.keys.create("a test", tenant="acme", principal="ada")
    assert made.key is not None and made.key.startswith(made.mask)
    assert [one.key for one in carrel.keys.list() if one.id == made.id] == [None]
    with Carrel(carrel._transport.base, made.key) as other:
        assert other.sandboxes.list().total == 0
        carrel.keys.delete(made.id)
        with pytest.raises(sdk.Unauthenticated):
            other.sandboxes.list()


def test_images_and_pools_are_told_of(carrel: Carrel) -> None:
    images = carrel.images.list()
    assert "host" in [one.name for one in images.images] and images.disk_bytes >= 0
    assert carrel.images.get("host").usable
    with pytest.raises(sdk.ImageNotFound):
        carrel.images.get("no-such-image")
    with pytest.raises(sdk.CarrelError):
        carrel.images.build("no-such-image")
    assert carrel.images.prune().removed == []
    assert all(pool.idle_count >= 0 for pool in carrel.pools())


def test_what_is_not_set_up_says_so(carrel: Carrel, sandbox: Sandbox) -> None:
    for call in (
        carrel.host.access,
        lambda: carrel.host.exec(["true"]),
        lambda: carrel.host.read("/etc/hostname"),
        lambda: carrel.host.list("/"),
        lambda: sandbox.egress.access(["example.org"], ttl_seconds=60),
    ):
        with pytest.raises(sdk.CarrelError) as raised:
            call()
        assert raised.value.hint or raised.value.code in ("forbidden", "host_disabled"), raised.value
    with pytest.raises(sdk.CarrelError):
        carrel.fetch_page("http://127.0.0.1:1/", sandbox=sandbox.id)
    with pytest.raises(sdk.InvalidInput) as invalid:
        carrel.search_web("?", sandbox=sandbox.id)
    assert invalid.value.field == "query"


def test_a_value_goes_from_one_language_to_another(sandbox: Sandbox) -> None:
    sandbox.run_code("numbers = [1, 2, 3]")
    carried = sandbox.bridge("numbers", language="python", to_language="bash", to_name="NUMBERS")
    assert carried.success and carried.language == "bash"
    assert sandbox.bridge("numbers", language="python").value == [1, 2, 3]


def test_packages_come_only_from_where_the_policy_lets(sandbox: Sandbox) -> None:
    with pytest.raises(sdk.Forbidden) as raised:
        sandbox.install("pip", ["no-such-package-of-anybody"])
    assert raised.value.hint and "--preset packages" in raised.value.hint


def test_an_archive_is_uploaded_and_a_folder_leaves_by_a_link(sandbox: Sandbox, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr("a.txt", "hello")
    assert sandbox.transfers.upload(tmp_path / "in.zip", "unpacked", unpack=True).success
    assert sandbox.files.read_text("unpacked/a.txt") == "hello"
    link = sandbox.transfers.export("unpacked/a.txt", expires_in_seconds=60).files[0].download_url
    assert link is not None
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"hello"
    for export in sandbox.transfers.exports():
        sandbox.transfers.remove_export(export.id)
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(link)


def test_budgets_of_namespaces_and_the_signing_key(carrel: Carrel) -> None:
    assert carrel.set_budget("of-a-test", executions=7).executions == 7
    assert carrel.budget("of-a-test").executions == 7
    assert carrel.audit.key().algorithm


def test_a_sandbox_is_deleted_by_its_id(carrel: Carrel) -> None:
    made = carrel.sandboxes.create(memory_mb=64)
    carrel.sandboxes.delete(made.id)
    with pytest.raises(sdk.SandboxNotFound):
        carrel.sandboxes.get(made.id)


def test_the_same_without_blocking(carrel: Carrel) -> None:
    async def run() -> None:
        async with AsyncCarrel(carrel._transport.base, carrel._transport._client.headers["Authorization"].split()[1]) as server:
            listed, images, pools = await asyncio.gather(server.settings.list(), server.images.list(), server.pools())
            assert listed and images.images and pools is not None
            made = await server.keys.create("a test")
            await server.keys.delete(made.id)
            async with await server.sandboxes.create(memory_mb=64) as box:
                assert (await box.transfers.import_files({"file_name": "a", "file_content": "hello"})).success

    asyncio.run(run())


def test_an_answer_that_breaks_off_is_unreachable(tmp_path: Path) -> None:
    def answer(listener: socket.socket) -> None:
        for _ in range(3):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        with Carrel(f"http://127.0.0.1:{listener.getsockname()[1]}", "token") as client:
            for call in (
                lambda: client.images.log("x"),
                lambda: client.images.export("x", tmp_path / "x.tar"),
                lambda: client.skills.read("x", "SKILL.md"),
            ):
                with pytest.raises(sdk.Unreachable):
                    call()
    assert list(tmp_path.iterdir()) == []
