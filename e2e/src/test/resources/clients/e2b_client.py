"""E2B's own Python packages against a server, blocking and asynchronous."""

import asyncio
import sys
import time
import traceback

import e2b
import httpx
from e2b_code_interpreter import AsyncSandbox, Sandbox

passed = 0
failed = 0
opened = []


def step(body):
    global passed, failed
    try:
        body()
        passed += 1
    except Exception:
        failed += 1
        print("FAILED", body.__name__, file=sys.stderr)
        traceback.print_exc()


def eventually(probe, what):
    end = time.monotonic() + 60
    while not probe():
        assert time.monotonic() < end, "never came: " + what
        time.sleep(0.05)


def fails(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("no " + kind.__name__)


def create(*arguments, **options):
    sandbox = Sandbox.create(*arguments, **options)
    opened.append(sandbox)
    return sandbox


box = create(metadata={"purpose": "a test & more"}, envs={"COLOUR": "blue"}, timeout=300)


@step
def commands():
    result = box.commands.run("echo out; echo err >&2; echo $COLOUR")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "out\nblue\n", "err\n")
    assert fails(e2b.CommandExitException, lambda: box.commands.run("exit 3")).exit_code == 3
    fails(e2b.TimeoutException, lambda: box.commands.run("sleep 77", timeout=1))
    eventually(lambda: not box.commands.list(), "the end of the command")


@step
def background_stdin_connect_kill():
    handle = box.commands.run('read line; echo "got $line"', background=True, stdin=True)
    assert any(one.pid == handle.pid for one in box.commands.list())
    other = box.commands.connect(handle.pid)
    box.commands.send_stdin(handle.pid, "a word\n")
    assert handle.wait().stdout == "got a word\n"
    assert other.wait().stdout == "got a word\n"
    sleeping = box.commands.run("sleep 100", background=True)
    sleeping.disconnect()
    assert box.commands.kill(sleeping.pid)
    eventually(lambda: not box.commands.list(), "its end")
    assert not box.commands.kill(sleeping.pid)


@step
def files():
    info = box.files.write("notes/one.txt", "first")
    assert info.path == "/home/user/notes/one.txt", info
    box.files.write("notes/one.txt", "second ✓")
    assert box.files.read("notes/one.txt") == "second ✓"
    assert bytes(box.files.read("notes/one.txt", format="bytes")).decode() == "second ✓"
    assert b"".join(box.files.read("notes/one.txt", format="stream")).decode() == "second ✓"
    written = box.files.write_files([{"path": "many/a.txt", "data": "A"}, {"path": "many/b/c.txt", "data": b"C"}])
    assert [one.path for one in written] == ["/home/user/many/a.txt", "/home/user/many/b/c.txt"]
    assert [one.name for one in box.files.list("many")] == ["a.txt", "b"]
    assert box.files.exists("many/a.txt") and not box.files.exists("nowhere")
    assert box.files.get_info("many/a.txt").size == 1
    assert box.files.make_dir("fresh") and not box.files.make_dir("fresh")
    assert box.files.rename("many/a.txt", "elsewhere/a.txt").path == "/home/user/elsewhere/a.txt"
    box.files.remove("elsewhere")
    fails(e2b.NotFoundException, lambda: box.files.read("elsewhere/a.txt"))


@step
def watching_by_asking():
    box.files.make_dir("watched")
    watch = box.files.watch_dir("watched")
    box.files.write("watched/a.txt", "x")
    seen = []

    def came():
        seen.extend(event.name for event in watch.get_new_events())
        return "a.txt" in seen

    eventually(came, "the change")
    watch.stop()


@step
def links():
    box.files.write("linked.txt", "by link")
    answer = httpx.get(box.download_url("linked.txt", use_signature_expiration=600))
    assert (answer.status_code, answer.text) == (200, "by link")
    sent = httpx.post(box.upload_url("up.txt"), files={"file": ("up.txt", b"sent")})
    assert sent.status_code == 200, sent.text
    assert box.files.read("up.txt") == "sent"


@step
def terminal():
    handle = box.pty.create(e2b.PtySize(rows=20, cols=90))
    box.pty.resize(handle.pid, e2b.PtySize(rows=30, cols=120))
    box.pty.send_stdin(handle.pid, b"echo size-$(tput cols); exit\n")
    text = []
    handle.wait(on_pty=lambda data: text.append(bytes(data)))
    assert b"size-120" in b"".join(text)
    assert not box.pty.kill(handle.pid)


@step
def code():
    box.run_code("x = 40")
    execution = box.run_code("print('hello ✓')\nx + 2")
    assert (execution.text, "".join(execution.logs.stdout)) == ("42", "hello ✓\n")
    assert box.run_code("1/0").error.name == "ZeroDivisionError"
    assert box.run_code("import os; os.environ['ONCE']", envs={"ONCE": "now"}).text == "now"
    context = box.create_code_context(language="python")
    box.run_code("y = 7", context=context)
    assert box.run_code("y", context=context).text == "7"
    assert box.run_code("y").error.name == "NameError"
    frame = box.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})").results[0]
    assert frame.data == {"a": [1, 2]}
    chart = box.run_code("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [3, 4])\nplt.show()").results[0]
    assert chart.png and chart.chart.type.value == "bar"
    assert [(bar.label, bar.value) for bar in chart.chart.elements] == [("a", 3), ("b", 4)]


@step
def life():
    assert box.is_running()
    assert box.get_info().metadata == {"purpose": "a test & more"}
    box.set_timeout(600)
    assert box.get_metrics()[0].mem_used > 0
    listed = Sandbox.list(query=e2b.SandboxQuery(metadata={"purpose": "a test & more"})).next_items()
    assert box.sandbox_id in [one.sandbox_id for one in listed]
    box.run_code("kept = 5")
    box.pause()
    assert not box.is_running()
    again = Sandbox.connect(box.sandbox_id)
    assert again.run_code("kept").text == "5"
    fails(e2b.AuthenticationException, lambda: Sandbox.create(api_key="e2b_" + "0" * 40))


@step
def asynchronously():
    async def run():
        sandbox = await AsyncSandbox.create(timeout=300)
        opened.append(sandbox)
        several = await asyncio.gather(*(sandbox.commands.run(f"echo {number}") for number in range(5)))
        assert [one.stdout for one in several] == [f"{number}\n" for number in range(5)]
        assert (await sandbox.run_code("6 * 7")).text == "42"
        seen = []
        await sandbox.files.make_dir("watched")
        watch = await sandbox.files.watch_dir("watched", on_event=lambda event: seen.append(event.name))
        await sandbox.files.write("watched/a.txt", "x")
        for _ in range(600):
            if "a.txt" in seen:
                break
            await asyncio.sleep(0.1)
        assert "a.txt" in seen
        await watch.stop()
        assert await sandbox.kill()
        assert not await sandbox.is_running()

    asyncio.run(run())


for one in opened:
    Sandbox.kill(one.sandbox_id)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
