"""sandbox.v1 with the stock gRPC packages of Python. Arguments: address, token, token of another tenant."""

import os
import queue
import sys
import time
import traceback
import uuid

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from carrel.v1 import carrel_pb2 as own
from carrel.v1 import carrel_pb2_grpc
from sandbox.v1 import sandbox_pb2 as pb
from sandbox.v1 import sandbox_pb2_grpc

ADDRESS, TOKEN, OTHER, KEEPS = sys.argv[1:5]
passed = 0
failed = 0


class Bearer(
    grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor
):
    def __init__(self, token):
        self.token = token

    def _with(self, call, details, request):
        class Details(grpc.ClientCallDetails):
            method = details.method
            timeout = details.timeout
            credentials = details.credentials
            wait_for_ready = details.wait_for_ready
            compression = details.compression

        Details.metadata = [*(details.metadata or []), ("authorization", "Bearer " + self.token)]
        return call(Details(), request)

    def intercept_unary_unary(self, call, details, request):
        return self._with(call, details, request)

    def intercept_unary_stream(self, call, details, request):
        return self._with(call, details, request)

    def intercept_stream_stream(self, call, details, requests):
        return self._with(call, details, requests)


channel = grpc.insecure_channel(ADDRESS)


def stub(token):
    return sandbox_pb2_grpc.SandboxServiceStub(grpc.intercept_channel(channel, Bearer(token)))


ours = stub(TOKEN)
theirs = stub(OTHER)
nobody = sandbox_pb2_grpc.SandboxServiceStub(channel)


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


def status(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("no status")


def run(command, **more):
    return ours.Exec(pb.ExecRequest(session_id=session, command=command, **more))


def processes(name):
    return run("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '").stdout.count(name)


session = ours.CreateSession(pb.CreateSessionRequest()).session.session_id


@step
def create_with_defaults():
    made = ours.GetSession(pb.GetSessionRequest(session_id=session)).session
    assert uuid.UUID(made.session_id) and made.container_id and made.status == "running"
    assert made.created_at > 1.7e9 and made.last_activity >= made.created_at
    assert "github.com" in made.allowed_hosts and not made.HasField("tenant_id")


@step
def create_with_a_name_hosts_and_tenant():
    wanted = pb.CreateSessionRequest(session_id="mine", tenant_id="../../etc", allowed_hosts=["example.com"])
    if KEEPS != "volumes":
        code, why = status(lambda: ours.CreateSession(wanted))
        assert code == grpc.StatusCode.INVALID_ARGUMENT and "keeps no volumes" in why, why
        return
    made = ours.CreateSession(wanted).session
    assert (made.session_id, made.tenant_id, list(made.allowed_hosts)) == ("mine", "../../etc", ["example.com"])
    assert ours.CreateSession(wanted).session.container_id == made.container_id
    ours.WriteFile(pb.WriteFileRequest(session_id="mine", path="kept.txt", content="still here"))
    assert ours.DestroySession(pb.DestroySessionRequest(session_id="mine")).success
    # A tenant's files outlive its sessions.
    ours.CreateSession(wanted)
    assert ours.ReadFile(pb.ReadFileRequest(session_id="mine", path="kept.txt")).content == "still here"
    assert ours.DestroySession(pb.DestroySessionRequest(session_id="mine")).success


@step
def list_and_destroy():
    other = ours.CreateSession(pb.CreateSessionRequest()).session.session_id
    ids = [found.session_id for found in ours.ListSessions(pb.ListSessionsRequest()).sessions]
    assert session in ids and other in ids
    assert ours.DestroySession(pb.DestroySessionRequest(session_id=other)).success
    assert not ours.DestroySession(pb.DestroySessionRequest(session_id=other)).success
    gone = status(lambda: ours.GetSession(pb.GetSessionRequest(session_id=other)))
    assert gone == (grpc.StatusCode.NOT_FOUND, "Session not found"), gone


@step
def commands():
    said = run("echo hello; echo oops >&2; exit 42")
    assert (said.exit_code, said.stdout, said.stderr, said.timed_out) == (42, "hello\n", "oops\n", False)
    assert run("python3 -c 'print(6*7)'").stdout == "42\n"
    assert run("pwd").stdout == "/workspace\n"
    assert run("mkdir -p deep && touch here").exit_code == 0
    assert run("pwd", workdir="/workspace/deep").stdout == "/workspace/deep\n"
    late = run("echo begun; sleep 1000", timeout=1)
    assert (late.exit_code, late.stderr, late.timed_out) == (-1, "Command timed out", True)
    assert processes("sleep 1000") == 0
    absent = ours.Exec(pb.ExecRequest(session_id="nobody", command="true"))
    assert (absent.exit_code, absent.stderr) == (-1, "Session not found")


@step
def files():
    def write(path, content, mode="w"):
        return ours.WriteFile(pb.WriteFileRequest(session_id=session, path=path, content=content, mode=mode))

    def read(path):
        return ours.ReadFile(pb.ReadFileRequest(session_id=session, path=path))

    assert write("a/b.py", "print('grün')\n").success and write("a/b.py", "print(2)\n", "a").success
    assert run("python3 a/b.py").stdout == "grün\n2\n"
    assert read("/workspace/a/b.py").content == "print('grün')\nprint(2)\n"
    missing = read("none")
    assert not missing.success and missing.error == "File not found" and not missing.HasField("content")
    assert read("/etc/passwd").error == write("/etc/cron.d/x", "").error == "Path not allowed"
    run("ln -s /etc/hostname link; ln -s /proc/1/root/etc/shadow shadow")
    assert not read("shadow").success


@step
def output_comes_while_the_command_runs():
    run("mkfifo gate")
    events = ours.ExecStream(pb.ExecStreamRequest(session_id=session, command="echo one; cat gate; exit 3"))
    first = next(events)
    assert (first.type, first.data, first.HasField("exit_code")) == ("stdout", "one\n", False)
    run("echo two > gate")
    second, last = list(events)
    assert (second.type, second.data) == ("stdout", "two\n")
    assert (last.type, last.data, last.exit_code) == ("exit", "", 3)
    lost = list(ours.ExecStream(pb.ExecStreamRequest(session_id="nobody", command="true")))
    assert [(event.type, event.data) for event in lost] == [("error", "Session not found")]


@step
def much_output_arrives_whole_at_the_clients_pace():
    events = ours.ExecStream(
        pb.ExecStreamRequest(session_id=session, command="head -c 30000000 /dev/zero | tr '\\0' x"))
    size = 0
    for event in events:
        size += len(event.data)
    assert size == 30000000, size


@step
def a_cancelled_stream_leaves_no_process():
    events = ours.ExecStream(
        pb.ExecStreamRequest(session_id=session, command="echo up; sleep 1001 & (setsid sleep 1001 &); wait"))
    assert next(events).data == "up\n"
    eventually(lambda: processes("sleep 1001") > 0, "the sleepers")
    events.cancel()
    eventually(lambda: processes("sleep 1001") == 0, "their end")


@step
def a_deadline_leaves_no_process():
    code, _ = status(lambda: ours.Exec(pb.ExecRequest(session_id=session, command="sleep 1002", timeout=600), timeout=2))
    assert code == grpc.StatusCode.DEADLINE_EXCEEDED
    eventually(lambda: processes("sleep 1002") == 0, "its end")


@step
def tokens():
    for call in (
        lambda: nobody.ListSessions(pb.ListSessionsRequest()),
        lambda: nobody.Exec(pb.ExecRequest(session_id=session, command="id")),
        lambda: list(nobody.ExecStream(pb.ExecStreamRequest(session_id=session, command="id"))),
        lambda: stub("carrel_not-a-token-of-anyone").ListSessions(pb.ListSessionsRequest()),
        lambda: stub("").ListSessions(pb.ListSessionsRequest()),
    ):
        assert status(call)[0] == grpc.StatusCode.UNAUTHENTICATED


@step
def another_tenants_session():
    assert not theirs.ListSessions(pb.ListSessionsRequest()).sessions
    sandbox = ours.GetSession(pb.GetSessionRequest(session_id=session)).session.container_id
    for name in (session, sandbox):
        assert theirs.Exec(pb.ExecRequest(session_id=name, command="id")).stderr == "Session not found"
        assert not theirs.ReadFile(pb.ReadFileRequest(session_id=name, path="a/b.py")).success
        assert not theirs.DestroySession(pb.DestroySessionRequest(session_id=name)).success
        code, _ = status(lambda: theirs.GetSession(pb.GetSessionRequest(session_id=name)))
        assert code == grpc.StatusCode.NOT_FOUND


@step
def a_huge_message():
    huge = pb.WriteFileRequest(session_id=session, path="huge", content="x" * (8 << 20))
    assert status(lambda: ours.WriteFile(huge))[0] == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert run("echo alive").stdout == "alive\n"


@step
def packages():
    bad = ours.PipInstall(pb.PipInstallRequest(session_id=session, packages=["six", "six; id"]))
    assert (bad.exit_code, bad.stderr) == (-1, "Invalid package specifier: six; id")


@step
def code_in_a_context():
    contexts = carrel_pb2_grpc.ContextServiceStub(grpc.intercept_channel(channel, Bearer(TOKEN)))

    def cell(code):
        return list(contexts.RunCode(own.RunCodeRequest(sandbox=session, code=code)))

    assert cell("x = 41")[-1].done.success
    events = cell("print('said'); x + 1")
    assert b"".join(event.output.data for event in events) == b"said\n"
    (value,) = [event.result for event in events if event.HasField("result")]
    assert {item.mime: item.data for item in value.items}["text/plain"] == b"42"
    (error,) = [event.error for event in cell("1/0") if event.HasField("error")]
    assert error.type == "ZeroDivisionError" and "1/0" in error.traceback
    running = contexts.RunCode(own.RunCodeRequest(sandbox=session, code="print('up')\nwhile True: pass"))
    while not next(running).HasField("output"):
        pass
    running.cancel()
    assert cell("x")[-1].done.state_kept
    theirs_too = carrel_pb2_grpc.ContextServiceStub(grpc.intercept_channel(channel, Bearer(OTHER)))
    assert status(lambda: list(theirs_too.RunCode(own.RunCodeRequest(sandbox=session, code="x"))))[0] == (
        grpc.StatusCode.NOT_FOUND)


@step
def a_terminal():
    terminals = carrel_pb2_grpc.TerminalServiceStub(grpc.intercept_channel(channel, Bearer(TOKEN)))
    keys = queue.SimpleQueue()
    keys.put(own.TerminalInput(open=own.OpenTerminal(sandbox=session, size=own.TerminalSize(rows=30, columns=100))))
    call = terminals.Open(iter(keys.get, None))
    assert next(call).opened.exec_id
    screen = b""

    def until(words):
        nonlocal screen
        while words not in screen:
            screen += next(call).screen

    keys.put(own.TerminalInput(keys=b"stty size\n"))
    until(b"30 100")
    keys.put(own.TerminalInput(size=own.TerminalSize(rows=41, columns=121)))
    keys.put(own.TerminalInput(keys=b"stty size; sleep 1004\n"))
    until(b"41 121")
    eventually(lambda: processes("sleep 1004") > 0, "the sleeper")
    call.cancel()
    keys.put(None)
    eventually(lambda: processes("sleep 1004") == 0, "its end")


@step
def tunnels():
    served = '''
import socket, threading, time
def upper(s):
    while data := s.recv(65536):
        s.sendall(data.upper())
    s.sendall(b" and that was all")
    s.close()
def flood(s):
    try:
        while True:
            s.sendall(b"x" * 65536)
    except OSError:
        open("/workspace/flood-over", "w").close()
def once(s):
    s.sendall(b"bye")
    s.shutdown(socket.SHUT_WR)
    rest = b""
    while data := s.recv(65536):
        rest += data
    open("/workspace/heard", "wb").write(rest)
def listen(listener, serve):
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],)).start()
for port, serve in ((7001, upper), (7002, flood), (7003, once)):
    threading.Thread(target=listen, args=(socket.create_server(("127.0.0.1", port)), serve)).start()
open("/workspace/listening", "w").close()
'''
    assert ours.WriteFile(pb.WriteFileRequest(session_id=session, path="served.py", content=served)).success
    serve = "setsid python3 served.py >/dev/null 2>&1 & until [ -e listening ]; do sleep 0.1; done"
    assert run(serve).exit_code == 0
    stubs = {t: carrel_pb2_grpc.TunnelServiceStub(grpc.intercept_channel(channel, Bearer(t))) for t in (TOKEN, OTHER)}

    def dial(port, *pieces, token=TOKEN, **options):
        yielded = queue.SimpleQueue()
        yielded.put(own.TunnelInput(open=own.OpenTunnel(sandbox=session, port=port)))
        for piece in pieces:
            yielded.put(own.TunnelInput(data=piece) if piece is not None else None)
        return stubs[token].Tunnel(iter(yielded.get, None), **options), yielded

    # Both ways, and the end of one way leaves the other.
    big = os.urandom(1 << 20).hex().encode()
    call, _ = dial(7001, b"hello ", *(big[i:i + 50000] for i in range(0, len(big), 50000)), None)
    assert next(call).HasField("opened")
    answers = list(call)
    assert answers[-1].HasField("ended")
    assert b"".join(answer.data for answer in answers) == b"HELLO " + big.upper() + b" and that was all"

    # The end of the other way leaves this one.
    call, keys = dial(7003)
    assert next(call).HasField("opened")
    assert next(call).data == b"bye" and next(call).HasField("ended")
    keys.put(own.TunnelInput(data=b"one last word"))
    keys.put(None)
    assert list(call) == []
    eventually(lambda: run("cat heard").stdout == "one last word", "the last word")

    # Who does not read holds the sender back, and cancelling ends it.
    call, keys = dial(7002)
    assert next(call).HasField("opened")
    assert next(call).data
    assert run("test -e flood-over").exit_code == 1
    call.cancel()
    keys.put(None)
    eventually(lambda: run("test -e flood-over").exit_code == 0, "the end of the flood")

    call, keys = dial(7001, timeout=2)
    assert next(call).HasField("opened")
    assert status(lambda: list(call))[0] == grpc.StatusCode.DEADLINE_EXCEEDED
    keys.put(None)

    for port, token, code in (
        (7004, TOKEN, grpc.StatusCode.FAILED_PRECONDITION),
        (0, TOKEN, grpc.StatusCode.INVALID_ARGUMENT),
        (7001, OTHER, grpc.StatusCode.NOT_FOUND),
    ):
        call, keys = dial(port, None, token=token)
        assert status(lambda: list(call))[0] == code, port

    # It ends with its sandbox.
    other = ours.CreateSession(pb.CreateSessionRequest()).session.session_id
    assert ours.WriteFile(pb.WriteFileRequest(session_id=other, path="served.py", content=served)).success
    started = ours.Exec(pb.ExecRequest(session_id=other, command=serve))
    assert started.exit_code == 0, started
    keys = queue.SimpleQueue()
    keys.put(own.TunnelInput(open=own.OpenTunnel(sandbox=other, port=7001)))
    call = stubs[TOKEN].Tunnel(iter(keys.get, None))
    assert next(call).HasField("opened")
    assert ours.DestroySession(pb.DestroySessionRequest(session_id=other)).success
    code, _ = status(lambda: list(call))
    assert code == grpc.StatusCode.FAILED_PRECONDITION, code
    keys.put(None)


@step
def health():
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@step
def the_end():
    assert ours.DestroySession(pb.DestroySessionRequest(session_id=session)).success


print(f"{passed} passed, {failed} failed")
channel.close()
sys.stdout.flush()
os._exit(failed != 0)
