// sandbox.v1 with Connect's gRPC-Web transport. Arguments: address, token, file with the descriptors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";

const [baseUrl, token, descriptors] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(descriptors)));
const service = registry.getService("sandbox.v1.SandboxService");

function client(bearer) {
  const withToken = (next) => (request) => {
    if (bearer) request.header.set("authorization", `Bearer ${bearer}`);
    return next(request);
  };
  return createClient(service, createGrpcWebTransport({ baseUrl, interceptors: [withToken] }));
}

async function code(call) {
  try {
    await call();
  } catch (error) {
    return ConnectError.from(error).code;
  }
  return undefined;
}

const sandboxes = client(token);
const { session } = await sandboxes.createSession({ allowedHosts: ["example.com"] });
const { sessionId } = session;
const run = (command, more = {}) => sandboxes.exec({ sessionId, command, ...more });
const sleepers = async () => (await run("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '")).stdout.split("sleep 1003").length - 1;

async function eventually(probe, what) {
  for (const end = Date.now() + 60_000; !(await probe()); await new Promise((go) => setTimeout(go, 50))) {
    assert(Date.now() < end, `never came: ${what}`);
  }
}

const steps = {
  async session() {
    assert.deepEqual(session.allowedHosts, ["example.com"]);
    assert.equal((await sandboxes.getSession({ sessionId })).session.status, "running");
    assert((await sandboxes.listSessions({})).sessions.some((found) => found.sessionId === sessionId));
    assert.equal(await code(() => sandboxes.getSession({ sessionId: "nobody" })), Code.NotFound);
  },
  async commands() {
    const said = await run("echo out; echo err >&2; exit 42");
    assert.deepEqual([said.exitCode, said.stdout, said.stderr, said.timedOut], [42, "out\n", "err\n", false]);
    assert.equal((await sandboxes.exec({ sessionId: "nobody", command: "true" })).stderr, "Session not found");
    assert.equal((await run("echo begun; sleep 1000", { timeout: 1 })).timedOut, true);
  },
  async files() {
    assert((await sandboxes.writeFile({ sessionId, path: "a.py", content: "print('grün')\n", mode: "w" })).success);
    assert.equal((await run("python3 a.py")).stdout, "grün\n");
    assert.equal((await sandboxes.readFile({ sessionId, path: "a.py" })).content, "print('grün')\n");
    assert.equal((await sandboxes.readFile({ sessionId, path: "/etc/passwd" })).error, "Path not allowed");
  },
  async stream() {
    await run("mkfifo gate");
    const seen = [];
    for await (const event of sandboxes.execStream({ sessionId, command: "echo one; cat gate; exit 3" })) {
      seen.push(event.type === "exit" ? event.exitCode : event.data);
      if (seen.length === 1) await run("echo two > gate");
    }
    assert.deepEqual(seen, ["one\n", "two\n", 3]);
  },
  async cancelledStreamLeavesNoProcess() {
    const stop = new AbortController();
    const stopped = await code(async () => {
      for await (const event of sandboxes.execStream({ sessionId, command: "echo up; sleep 1003" }, { signal: stop.signal })) {
        assert.equal(event.data, "up\n");
        await eventually(async () => (await sleepers()) > 0, "the sleeper");
        stop.abort();
      }
    });
    assert.equal(stopped, Code.Canceled);
    await eventually(async () => (await sleepers()) === 0, "its end");
  },
  async deadlineLeavesNoProcess() {
    const late = sandboxes.exec({ sessionId, command: "sleep 1003", timeout: 600 }, { timeoutMs: 2000 });
    assert.equal(await code(() => late), Code.DeadlineExceeded);
    await eventually(async () => (await sleepers()) === 0, "its end");
  },
  async tokens() {
    assert.equal(await code(() => client(undefined).listSessions({})), Code.Unauthenticated);
    assert.equal(await code(() => client("carrel_not-a-token-of-anyone").listSessions({})), Code.Unauthenticated);
  },
  async hugeMessage() {
    const content = "x".repeat(8 << 20);
    assert.equal(await code(() => sandboxes.writeFile({ sessionId, path: "huge", content })), Code.ResourceExhausted);
  },
  async end() {
    assert((await sandboxes.destroySession({ sessionId })).success);
    assert.equal((await sandboxes.destroySession({ sessionId })).success, false);
  },
};

let passed = 0;
let failed = 0;
for (const [name, step] of Object.entries(steps)) {
  try {
    await step();
    passed++;
  } catch (error) {
    failed++;
    console.error("FAILED", name, error);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
