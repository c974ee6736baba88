"""Every public method of E2B's own Python packages against a server: one program, run blocking and run asynchronously.

``e2b_client.py core`` uses the package ``e2b`` alone; older interpreters know no address but https://PORT-SANDBOX.DOMAIN.
"""

import asyncio
import datetime
import importlib
import inspect
import json
import os
import pathlib
import sys
import time
import traceback

import httpx
import surface

if "E2B_DOMAIN" in os.environ:
    importlib.import_module("loopback")
packages = ["e2b"] if sys.argv[1:] == ["core"] else ["e2b", "e2b_code_interpreter"]
surface.watch(*packages)
e2b = importlib.import_module("e2b")
top = importlib.import_module(packages[-1])
interprets = len(packages) == 2
newest = hasattr(e2b, "Volume")
passed = 0
failed = 0
steps = []


def step(body):
    steps.append(body)
    return body


async def got(value):
    """What a method gives, now or later."""
    return await value if inspect.isawaitable(value) else value


async def eventually(probe, what):
    end = time.monotonic() + 60
    while not await got(probe()):
        assert time.monotonic() < end, "never came: " + what
        await asyncio.sleep(0.05)


async def fails(kind, call):
    try:
        await got(call())
    except kind as error:
        return error
    raise AssertionError("no " + str(kind))


class Half:
    """The blocking half of the packages, or the asynchronous one."""

    def __init__(self, prefix):
        self.is_async = prefix == "Async"
        self.Sandbox = getattr(top, prefix + "Sandbox")
        self.named = lambda name: getattr(e2b, prefix + name)
        self.opened = []
        self.box = None

    async def open(self, *arguments, **options):
        sandbox = await got(self.Sandbox.create(*arguments, **options))
        self.opened.append(sandbox)
        return sandbox


@step
async def commands(half):
    run = half.box.commands.run
    result = await got(run("echo out; echo err >&2; echo $COLOUR"))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "out\nblue\n", "err\n")
    assert (await fails(e2b.CommandExitException, lambda: run("exit 3"))).exit_code == 3
    await fails(e2b.TimeoutException, lambda: run("sleep 77", timeout=1))

    async def none():
        return not await got(half.box.commands.list())

    await eventually(none, "the end of the command")


@step
async def background_stdin_connect_kill(half):
    commands = half.box.commands
    handle = await got(commands.run('read line; echo "got $line"', background=True, stdin=True))
    assert any(one.pid == handle.pid for one in await got(commands.list()))
    other = await got(commands.connect(handle.pid))
    await got(commands.send_stdin(handle.pid, "a word\n"))
    assert (await got(handle.wait())).stdout == "got a word\n"
    assert (await got(other.wait())).stdout == "got a word\n"
    sleeping = await got(commands.run("sleep 100", background=True))
    await got(sleeping.disconnect())
    assert await got(commands.kill(sleeping.pid))

    async def none():
        return not await got(commands.list())

    await eventually(none, "its end")
    assert not await got(commands.kill(sleeping.pid))
    killed = await got(commands.run("sleep 100", background=True))
    assert await got(killed.kill())
    await fails(e2b.CommandExitException, killed.wait)


@step
async def input_in_a_stream(half):
    if not newest:
        return
    commands = half.box.commands
    handle = await got(commands.run("cat; echo end", background=True, stdin=True))
    await got(handle.send_stdin("by hand "))
    if half.is_async:
        stream = commands.stream_input(handle.pid)
        await stream.send("first ")
        await stream.send(b"second ")
        await stream.close()
    else:
        commands.stream_input(handle.pid, iter(["first ", b"second "]))
    await got(commands.close_stdin(handle.pid))
    assert (await got(handle.wait())).stdout == "by hand first second end\n"
    closed = await got(commands.run("cat; echo end", background=True, stdin=True))
    await got(closed.close_stdin())
    assert (await got(closed.wait())).stdout == "end\n"


@step
async def files(half):
    files = half.box.files
    info = await got(files.write("notes/one.txt", "first"))
    assert info.path == "/home/user/notes/one.txt", info
    await got(files.write("notes/one.txt", "second ✓"))
    assert await got(files.read("notes/one.txt")) == "second ✓"
    assert bytes(await got(files.read("notes/one.txt", format="bytes"))).decode() == "second ✓"
    stream = await got(files.read("notes/one.txt", format="stream"))
    pieces = [one async for one in stream] if hasattr(stream, "__aiter__") else list(stream)
    assert b"".join(pieces).decode() == "second ✓"
    written = await got(files.write_files([{"path": "many/a.txt", "data": "A"}, {"path": "many/b/c.txt", "data": b"C"}]))
    assert [one.path for one in written] == ["/home/user/many/a.txt", "/home/user/many/b/c.txt"]
    assert [one.name for one in await got(files.list("many"))] == ["a.txt", "b"]
    assert await got(files.exists("many/a.txt")) and not await got(files.exists("nowhere"))
    assert (await got(files.get_info("many/a.txt"))).size == 1
    assert await got(files.make_dir("fresh")) and not await got(files.make_dir("fresh"))
    assert (await got(files.rename("many/a.txt", "elsewhere/a.txt"))).path == "/home/user/elsewhere/a.txt"
    await got(files.remove("elsewhere"))
    await fails(e2b.NotFoundException, lambda: files.read("elsewhere/a.txt"))
    if newest:
        await got(files.write("tagged.txt", "x", metadata={"Colour": "blue"}))
        assert (await got(files.get_info("tagged.txt"))).metadata == {"colour": "blue"}
        await got(files.write("tagged.txt", "y"))
        assert not (await got(files.get_info("tagged.txt"))).metadata


@step
async def watching(half):
    files = half.box.files
    await got(files.make_dir("watched"))
    seen = []
    if half.is_async:
        watch = await files.watch_dir("watched", on_event=lambda event: seen.append(event.name))
    else:
        watch = files.watch_dir("watched")
    await got(files.write("watched/a.txt", "x"))

    def came():
        if not half.is_async:
            seen.extend(event.name for event in watch.get_new_events())
        return "a.txt" in seen

    await eventually(came, "the change")
    await got(watch.stop())


@step
async def links(half):
    box = half.box
    await got(box.files.write("linked.txt", "by link"))
    answer = httpx.get(box.download_url("linked.txt", use_signature_expiration=600))
    assert (answer.status_code, answer.text) == (200, "by link")
    sent = httpx.post(box.upload_url("up.txt"), files={"file": ("up.txt", b"sent")})
    assert sent.status_code == 200, sent.text
    assert await got(box.files.read("up.txt")) == "sent"
    assert box.get_host(3000).startswith(f"3000-{box.sandbox_id}.")


@step
async def terminal(half):
    pty = half.box.pty
    text = []
    gather = {"on_data": lambda data: text.append(bytes(data))} if half.is_async else {}
    handle = await got(pty.create(e2b.PtySize(rows=20, cols=90), **gather))
    await got(pty.resize(handle.pid, e2b.PtySize(rows=30, cols=120)))
    await got(pty.send_stdin(handle.pid, b"echo size-$(tput cols)\n"))
    if newest:
        again = await got(pty.connect(handle.pid, **({"on_data": lambda data: None} if half.is_async else {})))
        if half.is_async:
            stream = pty.stream_input(handle.pid)
            await stream.send(b"exit\n")
            await stream.close()
        else:
            pty.stream_input(handle.pid, iter([b"exit\n"]))
        await got(again.disconnect())
    else:
        await got(pty.send_stdin(handle.pid, b"exit\n"))
    if half.is_async:
        await handle.wait()
    else:
        handle.wait(on_pty=lambda data: text.append(bytes(data)))
    assert b"size-120" in b"".join(text)
    assert not await got(pty.kill(handle.pid))


@step
async def code(half):
    if not interprets:
        return
    box = half.box
    await got(box.run_code("x = 40"))
    execution = await got(box.run_code("print('hello ✓')\nx + 2"))
    assert (execution.text, "".join(execution.logs.stdout)) == ("42", "hello ✓\n")
    assert "hello" in json.loads(execution.to_json())["logs"]
    assert json.loads(execution.logs.to_json())["stdout"] == ["hello ✓\n"]
    error = (await got(box.run_code("1/0"))).error
    assert error.name == "ZeroDivisionError" and "ZeroDivisionError" in error.to_json()
    assert (await got(box.run_code("import os; os.environ['ONCE']", envs={"ONCE": "now"}))).text == "now"
    context = await got(box.create_code_context(language="python"))
    await got(box.run_code("y = 7", context=context))
    assert (await got(box.run_code("y", context=context))).text == "7"
    assert (await got(box.run_code("y"))).error.name == "NameError"
    assert context.id in [one.id for one in await got(box.list_code_contexts())]
    await got(box.restart_code_context(context))
    assert (await got(box.run_code("y", context=context))).error.name == "NameError"
    await got(box.remove_code_context(context))
    assert context.id not in [one.id for one in await got(box.list_code_contexts())]
    frame = (await got(box.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})"))).results[0]
    assert frame.data == {"a": [1, 2]} and "html" in list(frame.formats())
    chart = (await got(box.run_code("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [3, 4])\nplt.show()"))).results[0]
    assert chart.png and chart.chart.type.value == "bar"
    assert [(bar.label, bar.value) for bar in chart.chart.elements] == [("a", 3), ("b", 4)]


@step
async def life(half):
    box, Sandbox = half.box, half.Sandbox
    assert await got(box.is_running())
    assert (await got(box.get_info())).metadata == half.metadata
    assert (await got(Sandbox.get_info(box.sandbox_id))).sandbox_id == box.sandbox_id
    await got(box.set_timeout(600))
    await got(Sandbox.set_timeout(box.sandbox_id, 300))
    assert (await got(box.get_metrics()))[0].mem_used > 0
    assert (await got(Sandbox.get_metrics(box.sandbox_id)))[0].mem_total > 0
    listed = await got(Sandbox.list(query=e2b.SandboxQuery(metadata=half.metadata)).next_items())
    assert [one.sandbox_id for one in listed] == [box.sandbox_id]
    if interprets:
        await got(box.run_code("kept = 5"))
    await got(box.beta_pause())
    assert not await got(box.is_running())
    again = await got(Sandbox.connect(box.sandbox_id))
    if interprets:
        assert (await got(again.run_code("kept"))).text == "5"
    await got(Sandbox.beta_pause(box.sandbox_id))
    await got(box.connect())
    await fails(e2b.AuthenticationException, lambda: Sandbox.create(api_key="e2b_" + "0" * 40))
    other = await got(Sandbox.beta_create(auto_pause=True)) if not newest else await half.open()
    half.opened.append(other)
    assert await got(other.kill())
    assert not await got(Sandbox.kill(other.sandbox_id))


@step
async def wakes(half):
    if not newest:
        return
    box = await half.open(timeout=1, lifecycle={"on_timeout": "pause", "auto_resume": True})

    async def sleeps():
        return (await got(box.get_info())).state.value == "paused"

    await eventually(sleeps, "the pause at its end")
    await got(box.commands.run("true"))
    info = await got(box.get_info())
    left = info.end_at - datetime.datetime.now(datetime.timezone.utc)
    assert info.state.value == "running" and left.total_seconds() > 120, info


@step
async def snapshots_forks_networks(half):
    if not newest:
        return
    box, Sandbox = half.box, half.Sandbox
    await got(box.pause())
    await got(box.connect())
    await got(Sandbox.pause(box.sandbox_id))
    await got(box.connect())
    await got(box.files.write("state.txt", "of then"))
    one = await got(box.create_snapshot())
    two = await got(Sandbox.create_snapshot(box.sandbox_id))
    await got(box.files.write("state.txt", "of now"))
    known = {one.snapshot_id, two.snapshot_id}
    assert {found.snapshot_id for found in await got(box.list_snapshots().next_items())} == known
    assert {found.snapshot_id for found in await got(Sandbox.list_snapshots(sandbox_id=box.sandbox_id).next_items())} == known
    old = await half.open(one.snapshot_id)
    assert await got(old.files.read("state.txt")) == "of then"
    for snapshot in known:
        assert await got(Sandbox.delete_snapshot(snapshot))
    for forks in (await got(box.fork(count=1)), await got(Sandbox.fork(box.sandbox_id))):
        half.opened.extend(forks)
        assert await got(forks[0].files.read("state.txt")) == "of now"
    await got(box.update_network({"allow_out": ["docs.example"]}))
    await got(Sandbox.update_network(box.sandbox_id, {"allow_out": []}))


@step
async def versions_of_files(half):
    if not newest:
        return
    git, files, repo = half.box.git, half.box.files, "/home/user/repo"
    await got(git.configure_user("Ada", "ada@example.com"))
    await got(git.set_config("init.defaultBranch", "main"))
    assert await got(git.get_config("user.name")) == "Ada"
    await got(git.init("/home/user/remote.git", bare=True, initial_branch="main"))
    await got(git.init(repo, initial_branch="main"))
    await got(files.write("repo/a.txt", "a"))
    assert any(one.name == "a.txt" for one in (await got(git.status(repo))).file_status)
    await got(git.add(repo))
    await got(git.commit(repo, "First"))
    await got(git.remote_add(repo, "origin", "/home/user/remote.git"))
    assert await got(git.remote_get(repo, "origin")) == "/home/user/remote.git"
    await got(git.push(repo, remote="origin", branch="main", set_upstream=True))
    await got(git.clone("/home/user/remote.git", path="/home/user/copy"))
    await got(files.write("repo/a.txt", "b"))
    await got(git.add(repo))
    await got(git.commit(repo, "Second"))
    await got(git.push(repo))
    await got(git.pull("/home/user/copy"))
    assert await got(files.read("copy/a.txt")) == "b"
    await got(git.create_branch(repo, "other"))
    await got(git.checkout_branch(repo, "main"))
    assert sorted((await got(git.branches(repo))).branches) == ["main", "other"]
    await got(git.delete_branch(repo, "other", force=True))
    await got(files.write("repo/a.txt", "spoilt"))
    await got(git.restore(repo, paths=["a.txt"]))
    assert await got(files.read("repo/a.txt")) == "b"
    await got(git.reset(repo, mode="hard", target="HEAD~1"))
    assert await got(files.read("repo/a.txt")) == "a"
    await got(git.dangerously_authenticate(username="ada", password="secret", host="git.example", protocol="https"))
    assert "git.example" in await got(files.read("/home/user/.git-credentials"))


listed = json.loads(pathlib.Path(__file__).with_name("e2b-not-offered.json").read_text())


def refusals(half):
    """Calls that must be refused, and what the refusal says; names as in the list."""
    box = half.box
    template = half.named("Template")()
    description = template.from_image("debian")
    Template, images = half.named("Template"), "carrel images"
    name = {"name": "mine"} if newest else {"alias": "mine"}
    status = type("BuildInfo", (), {"template_id": "mine", "build_id": "one"})()
    yield "Sandbox#getMcpToken", box.get_mcp_token, "no user 'root' in a sandbox"
    yield "TemplateBase.build", lambda: Template.build(description, **name), images
    yield "TemplateBase.buildInBackground", lambda: Template.build_in_background(description, **name), images
    yield "TemplateBase.getBuildStatus", lambda: Template.get_build_status(status, logs_offset=0), images
    yield "TemplateBase.exists", lambda: Template.exists("mine"), images
    yield "TemplateBase.aliasExists", lambda: Template.alias_exists("mine"), images
    yield "TemplateBase.assignTags", lambda: Template.assign_tags("mine:one", "two"), images
    yield "TemplateBase.removeTags", lambda: Template.remove_tags("mine", "two"), images
    yield "TemplateBase.getTags", lambda: Template.get_tags("mine"), images
    yield "Volume.create", lambda: half.named("Volume").create("mine"), "carrel volume)"
    yield "Volume.connect", lambda: half.named("Volume").connect("mine"), "carrel volume)"
    yield "Volume.getInfo", lambda: half.named("Volume").get_info("mine"), "carrel volume)"
    yield "Volume.list", lambda: half.named("Volume").list(), "carrel volume)"
    yield "Volume.destroy", lambda: half.named("Volume").destroy("mine"), "carrel volume)"
    yield "Secret.create", lambda: half.named("Secret").create("mine", "secret"), "carrel vault)"
    yield "Secret.update", lambda: half.named("Secret").update("mine", "secret"), "carrel vault)"
    yield "Secret.getInfo", lambda: half.named("Secret").get_info("mine"), "carrel vault)"
    yield "Secret.exists", lambda: half.named("Secret").exists("mine"), "carrel vault)"
    yield "Secret.destroy", lambda: half.named("Secret").destroy("mine"), "carrel vault)"
    yield "SecretPaginator#nextItems", lambda: half.named("Secret").list().next_items(), "carrel vault)"


@step
async def what_is_not_offered_says_so(half):
    table = list(refusals(half))
    assert [name for name, _, _ in table] == list(listed["refused"])
    for name, call, words in table:
        if surface.has(name):
            error = await fails(Exception, call)
            assert words in str(error), f"{name}: {error!r}"
    assert half.box.get_mcp_url().startswith("http")


async def run(half):
    global passed, failed
    half.metadata = {"purpose": "a test & more", "half": str(id(half))}
    half.box = await half.open(metadata=half.metadata, envs={"COLOUR": "blue"}, timeout=300)
    for body in steps:
        try:
            await body(half)
            passed += 1
        except Exception:
            failed += 1
            print("FAILED", body.__name__, "async" if half.is_async else "blocking", file=sys.stderr)
            traceback.print_exc()
    for one in half.opened:
        await got(half.Sandbox.kill(one.sandbox_id))


asyncio.run(run(Half("")))
asyncio.run(run(Half("Async")))
left = surface.uncalled({**listed["refused"], **listed["local"]})
if left:
    failed += 1
    print("FAILED every public method was called, but", *left, sep="\n  ", file=sys.stderr)
else:
    passed += 1
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
