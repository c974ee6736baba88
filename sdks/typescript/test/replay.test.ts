import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { Carrel, CarrelError, type CodeEvent, type Sandbox } from "@carrel/sdk";
import { CuttingProxy } from "./cutting.js";

const carrel = new Carrel();
let sandbox: Sandbox;

before(async () => {
  sandbox = await carrel.sandboxes.create({ memoryMb: 256 });
});
after(() => sandbox.close());

test("a command with a key is followed over broken connections", async () => {
  await using proxy = await CuttingProxy.start();
  const box = await proxy.client().sandboxes.get(sandbox.id);
  const key = randomUUID();
  let output = "";
  const command = `echo run >> ${key}; echo one; until [ -e ${key}.go ]; do sleep 0.05; done; echo two`;
  for await (const event of await box.execStream(command, { idempotencyKey: key })) {
    output += event.kind === "output" ? event.text : "";
    if (event.kind === "output" && output === "one\n") {
      proxy.cutAt = ["event: stdout", "event: exited"];
      await sandbox.files.write(`${key}.go`, "");
    }
  }
  assert.equal(output, "one\ntwo\n");
  assert.equal(proxy.cuts, 2);
  assert.equal(await sandbox.files.readText(key), "run\n");
});

test("an answer that is lost is asked for again, with a key only", async () => {
  await using proxy = await CuttingProxy.start();
  const box = await proxy.client().sandboxes.get(sandbox.id);
  const key = randomUUID();
  proxy.cutAt = ["HTTP/1.1 200"];
  assert.equal((await box.exec(`echo run >> ${key}; echo done`, { idempotencyKey: key })).stdout, "done\n");
  assert.equal(proxy.cuts, 1);
  assert.equal(await sandbox.files.readText(key), "run\n");

  proxy.cutAt = ["HTTP/1.1 200"];
  await assert.rejects(box.exec("true"), (failure: CarrelError) => failure.code === "unreachable");
});

test("code with a key is followed over broken connections", async () => {
  await using proxy = await CuttingProxy.start();
  const box = await proxy.client().sandboxes.get(sandbox.id);
  const key = randomUUID();
  proxy.cutAt = ["event: done"];
  const events: CodeEvent[] = [];
  for await (const event of await box.runCodeStream(`open('${key}', 'a').write('run'); print('told'); 7`, { idempotencyKey: key })) {
    events.push(event);
  }
  assert.equal(proxy.cuts, 1);
  assert.deepEqual(events.map((event) => event.kind), ["started", "output", "result", "done"]);
  assert.equal(await sandbox.files.readText(key), "run");
});

test("one sandbox is made though the answer was lost", async () => {
  await using proxy = await CuttingProxy.start();
  const mark = randomUUID();
  proxy.cutAt = ["HTTP/1.1 201"];
  await using _ = await proxy.client().sandboxes.create({ memoryMb: 64, metadata: { test: mark } });
  assert.equal(proxy.cuts, 1);
  assert.equal((await carrel.sandboxes.list({ search: mark })).total, 1);
});

test("a command that broke off is not started again", async () => {
  await using proxy = await CuttingProxy.start();
  const box = await proxy.client().sandboxes.get(sandbox.id);
  const name = randomUUID();
  const stream = await box.execStream(`echo run >> ${name}; until [ -e ${name}.go ]; do sleep 0.05; done; echo two`);
  proxy.cutAt = ["event: stdout"];
  await sandbox.files.write(`${name}.go`, "");
  await assert.rejects(async () => {
    while ((await stream.next()) !== null);
  }, (failure: CarrelError) => failure.code === "unreachable");
  assert.equal(await stream.next(), null);
  assert.equal(await sandbox.files.readText(name), "run\n");
});

test("text has whole characters", async () => {
  const stream = await sandbox.execStream("printf '1\\342'; read; printf '\\202\\254\\303'", { stdinOpen: true });
  const texts: string[] = [];
  for await (const event of stream) {
    if (event.kind === "output" && texts.push(event.text) === 1) {
      await stream.write("go\n");
    }
  }
  assert.equal(texts.join(""), "1€");
});

test("a stream that the caller aborts says so", async () => {
  for (const idempotencyKey of [undefined, randomUUID()]) {
    const abort = new AbortController();
    const stream = await sandbox.execStream("echo one; sleep 60", { idempotencyKey, signal: abort.signal });
    await assert.rejects(
      async () => {
        for await (const event of stream) {
          if (event.kind === "output") {
            abort.abort();
          }
        }
      },
      (failure: Error) => failure.name === "AbortError",
    );
    await stream.kill().catch(() => undefined);
  }
});

test("a connection that held has all patience again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  let asked = 0;
  const client = new Carrel({
    url: "http://127.0.0.1:1",
    token: "token",
    fetch: async () => {
      asked++;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          t.mock.timers.tick(60_000);
          controller.error(new Error("cut"));
          setImmediate(() => t.mock.timers.tick(2_000));
        },
      }, { highWaterMark: 0 });
      return asked < 100 ? new Response(body) : Response.json({ code: "forbidden" }, { status: 403 });
    },
  });
  const events = await client.events({ after: 1 });
  await assert.rejects(events.next(), (failure: CarrelError) => failure.code === "forbidden");
});

test("events go on after a broken connection", async () => {
  await using proxy = await CuttingProxy.start();
  const events = await proxy.client().events({ type: "sandbox", sandbox: sandbox.id });
  proxy.cutAt = ["event: sandbox.paused", "event: sandbox.resumed"];
  await sandbox.pause();
  assert.equal((await events.next())?.kind, "sandbox.paused");
  await sandbox.resume();
  assert.equal((await events.next())?.kind, "sandbox.resumed");
  events.close();
  assert.equal(proxy.cuts, 2);
});
