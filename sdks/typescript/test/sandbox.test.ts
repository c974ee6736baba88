import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Carrel, CarrelError, type CodeEvent, type ExecStream, Sandbox } from "@carrel/sdk";

const carrel = new Carrel();
let sandbox: Sandbox;

before(async () => {
  sandbox = await carrel.sandboxes.create({ memoryMb: 512 });
});
after(() => sandbox.close());

/** Asks until it is so; the test's own timeout ends it. */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await setTimeout(50);
  }
}

const code = (expected: string) => (failure: unknown) => failure instanceof CarrelError && failure.code === expected;

test("the server tells about itself", async () => {
  assert.equal((await carrel.health()).status, "ok");
  assert.deepEqual(new Set(await carrel.languages()), new Set(["python", "node", "r", "bash"]));
  assert.ok((await carrel.engines()).some((engine) => engine.usable));
  assert.ok("packages" in (await carrel.egressPresets()));
  assert.equal((await carrel.queue()).lines.length, 2);
});

test("the end of a block deletes what create made", async () => {
  let id: string;
  {
    await using made = await Sandbox.create({ memoryMb: 64, metadata: { snake_case: "kept" } });
    id = made.id;
    assert.equal(made.info.status, "running");
    assert.deepEqual(made.info.metadata, { snake_case: "kept" });
    assert.ok(made.info.createdAt instanceof Date);
  }
  await assert.rejects(carrel.sandboxes.get(id), code("sandbox_not_found"));
});

test("a sandbox with a session key or looked up lives on", async () => {
  const sessionKey = randomUUID();
  const first = await carrel.sandboxes.create({ sessionKey, memoryMb: 64 });
  await first.close();
  await (await carrel.sandboxes.get(first.id)).close();
  const again = await carrel.sandboxes.create({ sessionKey, memoryMb: 64 });
  assert.equal(again.id, first.id);
  await again.delete();
});

test("a client without a server says what to set", () => {
  const { CARREL_URL } = process.env;
  delete process.env.CARREL_URL;
  try {
    assert.throws(() => new Carrel(), /CARREL_URL/);
  } finally {
    process.env.CARREL_URL = CARREL_URL;
  }
});

test("a command is a result", async () => {
  const result = await sandbox.exec("echo out; echo err >&2; echo x > made; exit 5", { env: { A: "1" } });
  assert.equal(result.exitCode, 5);
  assert.equal(result.stdout, "out\n");
  assert.equal(result.stderr, "err\n");
  assert.ok(result.filesChanged.some((change) => change.path === "made"));
  assert.equal((await sandbox.exec(["printf", "%s", "a b"])).stdout, "a b");
  assert.equal((await sandbox.exec("cat", { stdin: "fed" })).stdout, "fed");
  assert.ok((await sandbox.exec("sleep 60", { timeoutSeconds: 0.2 })).timedOut);
});

test("a command is followed, fed and signalled", async () => {
  const fed = await sandbox.execStream("echo ready; read line; echo got $line", { stdinOpen: true });
  let seen = "";
  for await (const event of fed) {
    if (event.kind === "output") {
      seen += event.text;
      if (seen === "ready\n") {
        await fed.write("it\n");
      }
    }
  }
  assert.equal(seen, "ready\ngot it\n");
  assert.equal(fed.exited?.exitCode, 0);

  const signalled = await sandbox.execStream("trap 'exit 9' INT; echo set; sleep 60 & wait");
  for await (const event of signalled) {
    if (event.kind === "output") {
      await signalled.signal("SIGINT");
    }
  }
  assert.equal(signalled.exited?.exitCode, 9);
});

test("bytes arrive as they are", async () => {
  const bytes: number[] = [];
  for await (const event of await sandbox.execStream(["printf", "\\377\\000\\303"])) {
    if (event.kind === "output") {
      bytes.push(...event.bytes);
    }
  }
  assert.deepEqual(bytes, [0xff, 0, 0xc3]);
});

test("background commands are found again with their output", async () => {
  const started = await sandbox.execBackground("echo early; sleep 60");
  assert.ok((await sandbox.execs()).some((one) => one.id === started.id));
  const attached = sandbox.attach(started.id);
  for await (const event of attached) {
    if (event.kind === "output") {
      assert.equal(event.text, "early\n");
      await attached.kill();
    }
  }
  assert.equal(attached.exited?.cause, "killed");
});

test("a terminal is left and joined again", async () => {
  const until = async (screen: ExecStream, words: string): Promise<number> => {
    let seen = "";
    for await (const event of screen) {
      if (event.kind === "output") {
        seen += event.text;
        if (seen.includes(words)) {
          return event.next;
        }
      }
    }
    throw new Error(seen);
  };
  const { id } = await sandbox.terminals.open({ size: { rows: 24, cols: 80 } });
  let offset: number;
  {
    await using screen = sandbox.terminals.attach(id);
    await screen.write("kept=on-and-on; echo be''fore\n");
    offset = await until(screen, "before\r\n");
  }
  {
    await using screen = sandbox.terminals.attach(id, offset);
    await screen.resize(41, 101);
    await screen.write("stty size; echo $kept\n");
    await until(screen, "41 101\r\non-and-on");
  }
  assert.ok((await sandbox.terminals.list()).some((one) => one.id === id));
  const link = await sandbox.terminals.link(id, { expiresInSeconds: 60 });
  assert.ok(link.url.startsWith("ws") && !link.write);
  await sandbox.terminals.end(id);
  assert.equal((await sandbox.terminals.attach(id).wait()).exitCode, 137);
});

test("who stops waiting ends the command", async () => {
  const abort = new AbortController();
  const waiting = sandbox.exec("touch begun; sleep 600", { signal: abort.signal });
  await eventually(() => sandbox.files.exists("begun"));
  abort.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  await eventually(async () => (await sandbox.execs()).every((one) => one.status !== "running"));
});

test("code keeps its state and fails as a result", async () => {
  await sandbox.runCode("x = 6");
  const result = await sandbox.runCode("print('p'); x * 7");
  assert.equal(result.text, "42");
  assert.equal(result.stdout, "p\n");
  assert.equal((await sandbox.runCode("1 / 0")).error?.type, "ZeroDivisionError");
  assert.equal((await sandbox.runCode("[1, 2].length", { language: "node" })).text, "2");
});

test("code is followed live", async () => {
  const kinds: CodeEvent["kind"][] = [];
  for await (const event of await sandbox.runCodeStream("print('a'); 2")) {
    kinds.push(event.kind);
  }
  assert.deepEqual(kinds, ["started", "output", "result", "done"]);
});

test("a result shows itself in a notebook", async () => {
  const shown = async (source: string) => {
    const result = (await sandbox.runCode(source)) as unknown as Record<symbol, () => Record<string, string>>;
    return result[Symbol.for("Jupyter.display")]!();
  };
  assert.equal((await shown("6 * 7"))["text/plain"], "42");
  const figure = "import matplotlib.pyplot as plt; _ = plt.plot([1, 2]); plt.show()";
  assert.match((await shown(figure))["image/png"]!, /^iVBOR/);
  assert.match((await shown(`print('<b>'); ${figure}; 7`))["text/html"]!, /<pre>&lt;b&gt;[^]*base64,iVBOR[^]*<pre>7<\/pre>/);
});

test("contexts keep their state apart", async () => {
  const own = await sandbox.contexts.create("bash", { env: { Y: "own" } });
  await sandbox.runCode("x=common", { language: "bash" });
  const mine = await sandbox.runCode('echo "[$x]$Y"', { language: "bash", contextId: own.id });
  assert.equal(mine.stdout, "[]own\n");
  assert.ok((await sandbox.contexts.list()).some((one) => one.id === own.id));
  await sandbox.contexts.interrupt(own.id);
  assert.equal((await sandbox.contexts.restart(own.id)).id, own.id);
  await sandbox.contexts.delete(own.id);
  await assert.rejects(sandbox.contexts.get(own.id), code("context_not_found"));
});

test("files are written, read, moved, found and removed", async () => {
  const { files } = sandbox;
  await files.write("f/a b%20ü.txt", "one\ntwo\n");
  assert.equal(await files.readText("f/a b%20ü.txt"), "one\ntwo\n");
  await files.write("f/a b%20ü.txt", new Blob(["three\n"]), { append: true });
  await files.move("f/a b%20ü.txt", "f/b.txt");
  await files.copy("f/b.txt", "f/c.txt");
  assert.equal((await files.glob("*.txt", { path: "f" })).entries.length, 2);
  assert.deepEqual((await files.grep("^tw", { path: "f/b.txt" })).matches.map((match) => match.text), ["two"]);
  await files.makeDirectory("f/d/e");
  assert.deepEqual(new Set((await files.list("f")).map((entry) => entry.name)), new Set(["b.txt", "c.txt", "d"]));
  const big = new Uint8Array(1 << 20).map((_, index) => index);
  await files.write("f/big", new Blob([big]).stream(), { mode: "0600" });
  assert.equal((await files.stat("f/big")).mode, "0600");
  assert.deepEqual(await files.read("f/big"), big);
  await files.delete("f", { recursive: true });
  assert.equal(await files.exists("f"), false);
});

test("a path that would name another resource is not asked for", async () => {
  for (const path of ["..", "../x", "a/../../../snapshots", "a/./b", ""]) {
    await assert.rejects(sandbox.files.delete(path), (failure: CarrelError) => failure.field === "path");
  }
});

test("a watch sees what happens after it began", async () => {
  await sandbox.files.makeDirectory("watched");
  await using watch = await sandbox.files.watch("watched");
  await sandbox.files.write("watched/new", "1");
  assert.match((await watch.next())!.path, /new/);
});

test("files outlive machines", async () => {
  const volume = `v-${randomUUID().slice(0, 8)}`;
  const box = await carrel.sandboxes.create({ volume });
  await box.exec("echo kept > file");
  assert.equal((await box.stop()).info.status, "stopped");
  assert.equal((await (await box.start()).exec("cat file")).stdout, "kept\n");
  const snapshot = await box.snapshot("one");
  assert.deepEqual(await carrel.snapshots.get(snapshot.id), snapshot);
  const fork = await box.fork();
  assert.equal((await fork.exec("cat file")).stdout, "kept\n");
  await fork.close();
  await box.exec("rm file");
  await box.restore(snapshot.id);
  assert.equal(await box.files.readText("file"), "kept\n");
  assert.equal((await box.pause()).info.status, "paused");
  assert.equal((await box.resume()).info.status, "running");
  assert.equal((await box.update({ idleTimeoutSeconds: 600 })).info.idleTimeoutSeconds, 600);
  await box.close();
  await carrel.snapshots.delete(snapshot.id);
  assert.ok((await carrel.volumes.list()).some((one) => one.name === volume));
  await carrel.volumes.delete(volume);
});

test("secrets are used by name and never come back", async () => {
  const name = `K${randomUUID().slice(0, 8)}`;
  assert.equal((await carrel.secrets.add(name, "correct horse battery")).version, 1);
  const box = await carrel.sandboxes.create({ secrets: [name] });
  assert.equal((await box.exec(`echo "$${name}"`)).stdout, "***REDACTED***\n");
  await box.close();
  assert.equal((await carrel.secrets.rotate(name, "another horse battery")).version, 2);
  assert.ok((await carrel.secrets.list()).some((secret) => secret.name === name));
  await carrel.secrets.delete(name);
  await assert.rejects(carrel.secrets.delete(name), code("secret_not_found"));
});

test("what a sandbox may reach is read and set", async () => {
  await using box = await carrel.sandboxes.create({ network: { allow: ["example.com"] } });
  assert.deepEqual((await box.egress.get()).policy.allow, ["example.com"]);
  assert.deepEqual((await box.egress.set({ deny: ["example.com"] })).policy.deny, ["example.com"]);
  assert.deepEqual(await box.egress.decisions(), []);
});

test("events are read and gone on with", async () => {
  const events = await carrel.events({ type: "sandbox" });
  const told = await carrel.sandboxes.create({ memoryMb: 64 });
  let created = (await events.next())!;
  while (created.sandboxId !== told.id) {
    created = (await events.next())!;
  }
  events.close();
  assert.equal(created.kind, "sandbox.created");
  await told.delete();
  const kinds: string[] = [];
  for await (const event of await carrel.events({ type: "sandbox", after: created.id })) {
    if (event.sandboxId === told.id && kinds.push(event.kind) === 2) {
      break;
    }
  }
  assert.deepEqual(kinds, ["sandbox.started", "sandbox.destroyed"]);
  assert.ok((await carrel.recentEvents(1000)).some((event) => event.id === created.id));
});

test("the rest of the server is reached", async () => {
  assert.equal((await carrel.validate("print(", { sandboxId: sandbox.id })).valid, false);
  assert.equal((await sandbox.usage()).id, sandbox.id);
  assert.ok((await carrel.usage()).some((usage) => usage.id === sandbox.id));
  assert.ok((await sandbox.activity(5)).length > 0);
  assert.equal((await carrel.sandboxes.list({ search: sandbox.id, pageSize: 1 })).items[0]?.id, sandbox.id);
  assert.ok((await carrel.audit.list({ sandbox: sandbox.id, limit: 1 })).records.length > 0);
  const asked = await carrel.approvals.ask("example.org", { sandboxId: sandbox.id, reason: "a test" });
  assert.equal((await carrel.approvals.decide(asked.id, false)).status, "denied");
  assert.ok((await carrel.request("GET", "/api/v1/languages")).languages);
});

test("files come in and leave by a link", async () => {
  const brought = await sandbox.transfers.importFiles({ fileName: "in/a.txt", fileContent: "hello" }, { source: "/etc/shadow" });
  assert.deepEqual(brought.files.map((file) => file.success), [true, false]);
  const exported = await sandbox.transfers.export(["in/a.txt"], { expiresInSeconds: 60 });
  const answer = await fetch(exported.files[0]!.downloadUrl!);
  assert.equal(await answer.text(), "hello");
});

test("what listens in a sandbox is reached by link", async () => {
  await sandbox.exec("mkdir site; echo here > site/page");
  const server = await sandbox.execStream("exec python3 -um http.server -d site 8124 2>&1");
  // Not by a loop: to leave one is to close the stream, and that ends the command.
  const events = server[Symbol.asyncIterator]();
  for (let said = ""; !said.includes("Serving"); ) {
    const next = await events.next();
    assert.ok(!next.done, said);
    said += next.value.kind === "output" ? next.value.text : "";
  }
  const link = await sandbox.link(8124, { expiresInSeconds: 60 });
  assert.equal(link.port, 8124);
  assert.equal(await (await fetch(`${link.url}page`)).text(), "here\n");
  server.close();
});

test("files are signed and recognised, and a budget is used up", async () => {
  const made = await sandbox.exec("mkdir -p outputs; echo mine > outputs/report");
  assert.deepEqual(made.artifacts.map((artifact) => artifact.path), ["outputs/report"]);
  await sandbox.files.write("other", randomUUID());
  const signed = (await sandbox.sign("other")).artifacts[0]!;
  assert.deepEqual(await carrel.artifacts(signed.sha256), [signed]);
  assert.ok((await sandbox.artifacts()).some((artifact) => artifact.sha256 === signed.sha256));
  assert.ok((await sandbox.artifactManifest()).signatures.length > 0);

  await using box = await carrel.sandboxes.create({ memoryMb: 64 });
  assert.equal((await box.setBudget({ executions: 1 })).executions, 1);
  await box.exec("true");
  assert.equal((await box.budget()).executionsUsed, 1);
  await assert.rejects(box.exec("true"), code("budget_exhausted"));
});

test("failures carry code, field and status", async () => {
  await assert.rejects(carrel.sandboxes.get("sbaaaaaaaaaaaaaa"), (failure: CarrelError) => {
    assert.equal(failure.code, "sandbox_not_found");
    assert.equal(failure.status, 404);
    return true;
  });
  await assert.rejects(carrel.sandboxes.create({ memoryMb: 1 }), (failure: CarrelError) => failure.field === "memory_mb");
  await assert.rejects(new Carrel({ token: "carrel_not-the-token-of-this-server" }).engines(), code("unauthenticated"));
  await assert.rejects(new Carrel({ url: "http://127.0.0.1:1" }).health(), code("unreachable"));
});
