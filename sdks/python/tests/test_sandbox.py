"""The blocking surface against a live server."""

from __future__ import annotations

import pickle
import urllib.request
import uuid
from pathlib import Path

import httpx
import pytest

import carrel as sdk
from carrel import Carrel, ExecStream, NetworkPolicy, Output, Sandbox


def test_the_server_tells_about_itself(carrel: Carrel) -> None:
    assert carrel.health().status == "ok"
    assert set(carrel.languages()) == {"python", "node", "r", "bash"}
    assert any(engine.usable for engine in carrel.engines())
    assert "packages" in carrel.egress_presets()
    assert {line.kind for line in carrel.queue().lines} == {"create", "execution"}


def test_leaving_the_block_deletes_what_create_made(carrel: Carrel) -> None:
    with Sandbox.create(carrel, metadata={"who": "ada"}) as made:
        assert made.info.status == "running"
        assert made.info.metadata == {"who": "ada"}
        assert made.info.created_at.tzinfo is not None
    with pytest.raises(sdk.SandboxNotFound):
        carrel.sandboxes.get(made.id)


def test_a_sandbox_with_a_session_key_or_looked_up_lives_on(carrel: Carrel) -> None:
    key = str(uuid.uuid4())
    with carrel.sandboxes.create(session_key=key, memory_mb=64) as first:
        pass
    with carrel.sandboxes.get(first.id) as found:
        assert found.info.memory_mb == 64
    with carrel.sandboxes.create(session_key=key, memory_mb=64) as again:
        assert again.id == first.id
    again.delete()


def test_without_a_client_the_environment_names_the_server() -> None:
    with Sandbox.create(memory_mb=64) as made:
        assert made.exec("echo here").stdout == "here\n"


def test_a_client_without_a_server_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARREL_URL")
    with pytest.raises(sdk.InvalidInput, match="CARREL_URL"):
        Carrel()


def test_a_command_is_a_result(sandbox: Sandbox) -> None:
    result = sandbox.exec("echo out; echo err >&2; echo x > made; exit 5", env={"A": "1"})
    assert (result.exit_code, result.cause, result.stdout, result.stderr) == (5, "returned", "out\n", "err\n")
    assert any(change.path == "made" for change in result.files_changed)
    assert sandbox.exec(["printf", "%s", "a b"]).stdout == "a b"
    assert sandbox.exec("cat", stdin="fed").stdout == "fed"
    assert sandbox.exec("sleep 60", timeout_seconds=0.2).timed_out


def test_a_command_is_followed_fed_and_signalled(sandbox: Sandbox) -> None:
    seen = ""
    with sandbox.exec_stream("echo ready; read line; echo got $line", stdin_open=True) as process:
        assert process.id.startswith("ex")
        for event in process:
            if isinstance(event, Output):
                seen += event.text
                if seen == "ready\n":
                    process.write("it\n")
    assert seen == "ready\ngot it\n"
    assert process.exited is not None and process.exited.exit_code == 0

    with sandbox.exec_stream("trap 'exit 9' INT; echo set; sleep 60 & wait") as process:
        for event in process:
            if isinstance(event, Output):
                process.signal("SIGINT")
    assert process.exited is not None and process.exited.exit_code == 9


def test_bytes_arrive_as_they_are(sandbox: Sandbox) -> None:
    with sandbox.exec_stream(["printf", r"\377\000\303"]) as process:
        assert b"".join(event.data for event in process if isinstance(event, Output)) == b"\xff\x00\xc3"


def test_background_commands_are_found_again_with_their_output(sandbox: Sandbox) -> None:
    started = sandbox.exec_background("echo early; sleep 60")
    assert any(one.id == started.id for one in sandbox.execs())
    with sandbox.attach(started.id) as process:
        for event in process:
            if isinstance(event, Output):
                assert event.text == "early\n"
                process.kill()
    assert process.exited is not None and process.exited.cause == "killed"


def test_code_keeps_its_state_and_fails_as_a_result(sandbox: Sandbox) -> None:
    sandbox.run_code("x = 6")
    result = sandbox.run_code("print('p'); x * 7")
    assert (result.text, result.stdout, result.success) == ("42", "p\n", True)
    failed = sandbox.run_code("1 / 0")
    assert failed.error is not None and failed.error.type == "ZeroDivisionError"
    assert sandbox.run_code("echo $((6 * 7))", language="bash").stdout == "42\n"


def test_code_is_followed_live(sandbox: Sandbox) -> None:
    with sandbox.run_code_stream("print('a'); 2") as stream:
        events = list(stream)
    assert [type(event) for event in events] == [sdk.CodeStarted, sdk.CodeOutput, sdk.Result, sdk.CodeDone]


def test_contexts_keep_their_state_apart(sandbox: Sandbox) -> None:
    own = sandbox.contexts.create("bash", env={"Y": "own"})
    sandbox.run_code("x=common", language="bash")
    assert sandbox.run_code('echo "[$x]$Y"', language="bash", context_id=own.id).stdout == "[]own\n"
    assert sandbox.run_code("echo $x", language="bash").stdout == "common\n"
    assert own.id in [one.id for one in sandbox.contexts.list()]
    sandbox.contexts.interrupt(own.id)
    assert sandbox.contexts.restart(own.id).id == own.id
    sandbox.contexts.delete(own.id)
    with pytest.raises(sdk.ContextNotFound):
        sandbox.contexts.get(own.id)


def test_a_terminal_is_left_and_joined_again(sandbox: Sandbox) -> None:
    def until(screen: ExecStream, words: bytes) -> int:
        seen = b""
        for event in screen:
            if isinstance(event, Output):
                seen += event.data
                if words in seen:
                    return event.next
        raise AssertionError(seen)

    terminal = sandbox.terminals.open(size=sdk.TerminalSize(24, 80))
    with sandbox.terminals.attach(terminal.id) as screen:
        screen.write("kept=on-and-on; echo be''fore\n")
        offset = until(screen, b"before\r\n")
    with sandbox.terminals.attach(terminal.id, offset) as screen:
        screen.resize(41, 101)
        screen.write("stty size; echo $kept\n")
        until(screen, b"41 101\r\non-and-on")
    assert terminal.id in [one.id for one in sandbox.terminals.list()]
    link = sandbox.terminals.link(terminal.id, expires_in_seconds=60)
    assert link.url.startswith("ws") and not link.write
    sandbox.terminals.end(terminal.id)
    with sandbox.terminals.attach(terminal.id) as screen:
        assert screen.wait().exit_code == 137


def test_files_are_written_read_moved_found_and_removed(sandbox: Sandbox, tmp_path: Path) -> None:
    files = sandbox.files
    files.write("f/a b%20ü.txt", "one\ntwo\n")
    assert files.read_text("f/a b%20ü.txt") == "one\ntwo\n"
    assert files.stat("f/a b%20ü.txt").size == 8
    files.write("f/a b%20ü.txt", "three\n", append=True)
    files.move("f/a b%20ü.txt", "f/b.txt")
    files.copy("f/b.txt", "f/c.txt")
    assert len(files.glob("*.txt", path="f").entries) == 2
    assert [match.text for match in files.grep("^tw", path="f/b.txt").matches] == ["two"]
    assert {entry.name for entry in files.list("f")} == {"b.txt", "c.txt"}
    files.make_directory("f/d/e")
    (tmp_path / "big").write_bytes(bytes(range(256)) * 4096)
    files.upload(tmp_path / "big", "f/big", mode="0600")
    assert files.stat("f/big").mode == "0600"
    files.download("f/big", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "big").read_bytes()
    files.delete("f", recursive=True)
    assert not files.exists("f")
    with pytest.raises(sdk.FileNotFound):
        files.read("f")


@pytest.mark.parametrize("path", ["..", "../x", "a/../../../snapshots", "a/./b", ""])
def test_a_path_that_would_name_another_resource_is_not_asked_for(sandbox: Sandbox, path: str) -> None:
    with pytest.raises(sdk.InvalidInput) as raised:
        sandbox.files.delete(path)
    assert raised.value.field == "path"


def test_a_watch_sees_what_happens_after_it_began(sandbox: Sandbox) -> None:
    sandbox.files.make_directory("watched")
    with sandbox.files.watch("watched") as watch:
        sandbox.files.write("watched/new", b"1")
        assert "new" in next(watch).path


def test_files_outlive_machines(carrel: Carrel) -> None:
    name = f"v-{uuid.uuid4().hex[:8]}"
    with carrel.sandboxes.create(volume=name) as box:
        box.exec("echo kept > file")
        assert box.stop().info.status == "stopped"
        assert box.start().exec("cat file").stdout == "kept\n"
        snapshot = box.snapshot("one")
        assert snapshot in box.snapshots() and snapshot == carrel.snapshots.get(snapshot.id)
        with box.fork() as fork:
            assert fork.exec("cat file").stdout == "kept\n"
        box.exec("rm file")
        assert box.restore(snapshot.id).exec("cat file").stdout == "kept\n"
        assert box.pause().info.status == "paused"
        assert box.resume().info.status == "running"
        assert box.update(idle_timeout_seconds=600).info.idle_timeout_seconds == 600
        assert carrel.volumes.get(name).sandbox_id == box.id
    carrel.snapshots.delete(snapshot.id)
    assert name in [volume.name for volume in carrel.volumes.list()]
    carrel.volumes.delete(name)


def test_secrets_are_used_by_name_and_never_come_back(carrel: Carrel) -> None:
    name = f"K{uuid.uuid4().hex[:8]}"
    assert carrel.secrets.add(name, "correct horse battery").version == 1
    try:
        with carrel.sandboxes.create(secrets=[name]) as box:
            result = box.exec(f'echo ${{#{name}}}; echo "${name}"')
            assert result.stdout == f"{len('correct horse battery')}\n***REDACTED***\n"
        assert carrel.secrets.rotate(name, "another horse battery").version == 2
        assert name in [secret.name for secret in carrel.secrets.list()]
    finally:
        carrel.secrets.delete(name)
    with pytest.raises(sdk.SecretNotFound):
        carrel.secrets.delete(name)


def test_what_a_sandbox_may_reach_is_read_and_set(carrel: Carrel) -> None:
    with carrel.sandboxes.create(network=NetworkPolicy(allow=["example.com"])) as box:
        assert box.egress.get().policy.allow == ["example.com"]
        assert box.egress.set(NetworkPolicy(deny=["example.com"])).policy.deny == ["example.com"]
        assert box.egress.decisions() == []


def test_events_are_read_and_gone_on_with(carrel: Carrel) -> None:
    with carrel.events(type="sandbox") as events:
        told = carrel.sandboxes.create(memory_mb=64)
        created = next(event for event in events if event.sandbox_id == told.id)
    assert created.kind == "sandbox.created"
    told.delete()
    with carrel.events(type="sandbox", after=created.id) as events:
        about = (event.kind for event in events if event.sandbox_id == told.id)
        assert [next(about), next(about)] == ["sandbox.started", "sandbox.destroyed"]
    assert created in carrel.recent_events(1000, type="sandbox.created")


def test_a_sandbox_tells_of_itself_only(carrel: Carrel) -> None:
    with carrel.sandboxes.create(memory_mb=64) as box, box.events() as events:
        carrel.sandboxes.create(memory_mb=64).close()
        box.pause()
        assert (event := next(events)).kind == "sandbox.paused" and event.sandbox_id == box.id


def test_the_rest_of_the_server_is_reached(carrel: Carrel, sandbox: Sandbox) -> None:
    assert not carrel.validate("print(", sandbox_id=sandbox.id).valid
    assert sandbox.usage().id == sandbox.id
    assert sandbox.id in [usage.id for usage in carrel.usage()]
    assert sandbox.activity(5)
    assert carrel.sandboxes.list(search=sandbox.id).items[0].id == sandbox.id
    assert carrel.audit.list(sandbox=sandbox.id, limit=1).records
    asked = carrel.approvals.ask("example.org", sandbox_id=sandbox.id, reason="a test")
    assert carrel.approvals.decide(asked.id, False).status == "denied"
    assert carrel.approvals.get(asked.id) in carrel.approvals.list(status="denied")
    assert carrel.request("GET", "/api/v1/languages")["languages"]


def test_files_are_signed_and_recognised(carrel: Carrel, sandbox: Sandbox) -> None:
    made = sandbox.exec("mkdir -p outputs; echo mine > outputs/report")
    assert [artifact.path for artifact in made.artifacts] == ["outputs/report"]
    sandbox.files.write("other", f"{uuid.uuid4()}")
    signed = sandbox.sign("other").artifacts[0]
    assert carrel.artifacts(signed.sha256) == [signed]
    assert signed in sandbox.artifacts()
    assert sandbox.artifact_manifest().signatures


def test_files_come_in_and_leave_by_a_link(sandbox: Sandbox) -> None:
    brought = sandbox.transfers.import_files({"file_name": "in/a.txt", "file_content": "hello"}, {"source": "/etc/shadow"})
    assert [file.success for file in brought.files] == [True, False]
    exported = sandbox.transfers.export("in", "in/a.txt", expires_in_seconds=60)
    assert exported.success
    link = exported.files[1].download_url
    assert link is not None
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"hello"


def test_what_listens_in_a_sandbox_is_reached_by_link(sandbox: Sandbox) -> None:
    sandbox.exec("mkdir site; echo here > site/page")
    with sandbox.exec_stream("exec python3 -um http.server -d site 8123 2>&1") as server:
        for event in server:
            if isinstance(event, Output) and "Serving" in event.text:
                break
        link = sandbox.link(8123, expires_in_seconds=60)
        assert link.port == 8123 and link.url.endswith(link.path)
        assert httpx.get(f"{link.url}page").text == "here\n"


def test_a_budget_is_used_up(carrel: Carrel) -> None:
    with carrel.sandboxes.create(memory_mb=64) as box:
        assert box.set_budget(executions=1).executions == 1
        box.exec("true")
        assert box.budget().executions_used == 1
        with pytest.raises(sdk.BudgetExhausted):
            box.exec("true")


def test_a_download_that_fails_leaves_what_was_there(sandbox: Sandbox, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("precious")
    with pytest.raises(sdk.FileNotFound):
        sandbox.files.download("no/such/file", kept)
    assert kept.read_text() == "precious"
    sandbox.files.write("new", "other")
    link = tmp_path / "link"
    link.symlink_to(kept)
    sandbox.files.download("new", link)
    assert kept.read_text() == "other" and link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [kept, link]


def test_text_has_whole_characters(sandbox: Sandbox) -> None:
    with sandbox.exec_stream(r"printf '1\342'; read; printf '\202\254\303'", stdin_open=True) as process:
        texts = []
        for event in process:
            if isinstance(event, Output):
                texts.append(event.text)
                if len(texts) == 1:
                    process.write("go\n")
    assert "".join(texts) == "1€"


def test_failures_go_between_processes() -> None:
    sent = sdk.CarrelError.of("sandbox_not_found", "it is gone", status=404, hint="make another", request_id="r1")
    came = pickle.loads(pickle.dumps(sent))
    assert type(came) is sdk.SandboxNotFound
    assert (str(came), came.__dict__) == (str(sent), sent.__dict__)


def test_failures_are_of_the_class_of_their_code(carrel: Carrel) -> None:
    with pytest.raises(sdk.SandboxNotFound) as raised:
        carrel.sandboxes.get("sbaaaaaaaaaaaaaa")
    assert (raised.value.code, raised.value.status) == ("sandbox_not_found", 404)
    with pytest.raises(sdk.InvalidInput) as invalid:
        carrel.sandboxes.create(memory_mb=1)
    assert invalid.value.field == "memory_mb"
    with Carrel(carrel._transport.base, "carrel_not-the-token-of-this-server") as stranger:
        with pytest.raises(sdk.Unauthenticated):
            stranger.engines()
    with Carrel("http://127.0.0.1:1", "token") as nobody:
        with pytest.raises(sdk.Unreachable):
            nobody.health()
