// What operators do, and values and files on their way: against a server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Carrel, CarrelError, Sandbox } from "../src/index.js";

const carrel = new Carrel();
let sandbox: Sandbox;

before(async () => {
  sandbox = await carrel.sandboxes.create();
});

after(() => sandbox.close());

const code = (expected: string) => (failure: CarrelError) => {
  assert.equal(failure.code, expected);
  return true;
};

test("settings change and change back", async () => {
  const find = (all: Awaited<ReturnType<typeof carrel.settings.list>>) => all.find((one) => one.name === "max_queued")!;
  const configured = Number(find(await carrel.settings.list()).configured);
  const changed = find(await carrel.settings.change({ maxQueued: configured + 1 }));
  assert.deepEqual([changed.value, changed.configured, changed.changed], [configured + 1, configured, true]);
  assert.equal(find(await carrel.settings.change({ maxQueued: null })).changed, false);
  assert.ok((await carrel.settings.reset()).every((one) => !one.changed));
});

test("keys open until they are deleted", async () => {
  const made = await carrel.keys.create("a test", { tenant: "acme", principal: "ada" });
  const other = new Carrel({ token: made.key! });
  assert.equal((await other.sandboxes.list()).total, 0);
  assert.equal((await carrel.keys.list()).find((one) => one.id === made.id)!.key, null);
  await carrel.keys.delete(made.id);
  await assert.rejects(other.sandboxes.list(), code("unauthenticated"));
});

test("images and pools are told of", async () => {
  assert.ok((await carrel.images.list()).images.some((image) => image.name === "host"));
  assert.equal((await carrel.images.get("host")).usable, true);
  await assert.rejects(carrel.images.get("no-such-image"), code("image_not_found"));
  assert.deepEqual((await carrel.images.prune()).removed, []);
  assert.ok((await carrel.pools()).every((pool) => pool.idleCount >= 0));
});

test("what is not set up says so", async () => {
  for (const call of [
    () => carrel.host.access(),
    () => carrel.host.exec(["true"]),
    () => sandbox.egress.access(["example.org"], { ttlSeconds: 60 }),
    () => carrel.fetchPage("http://127.0.0.1:1/", { sandbox: sandbox.id }),
  ]) {
    await assert.rejects(call(), CarrelError);
  }
});

test("a value goes from one language to another", async () => {
  await sandbox.runCode("numbers = [1, 2, 3]");
  const carried = await sandbox.bridge("numbers", { language: "python", toLanguage: "bash", toName: "NUMBERS" });
  assert.deepEqual([carried.success, carried.language], [true, "bash"]);
  assert.deepEqual((await sandbox.bridge("numbers", { language: "python" })).value, [1, 2, 3]);
});

test("what the server refuses names the field", async () => {
  await assert.rejects(sandbox.install("no-such-manager", ["six"]), (failure: CarrelError) => failure.field === "manager");
  await assert.rejects(carrel.searchWeb("?", 1, { sandbox: sandbox.id }), (failure: CarrelError) => failure.field === "query");
});

test("files are uploaded, leave by a link, and are taken back", async () => {
  assert.equal((await sandbox.transfers.upload("hello", "up/a.txt")).success, true);
  assert.equal(await sandbox.files.readText("up/a.txt"), "hello");
  const exported = await sandbox.transfers.export(["up/a.txt"], { expiresInSeconds: 60 });
  const link = exported.files[0]!.downloadUrl!;
  assert.equal(await (await fetch(link)).text(), "hello");
  for (const one of await sandbox.transfers.exports()) {
    await sandbox.transfers.removeExport(one.id);
  }
  assert.equal((await fetch(link)).ok, false);
});

test("budgets of namespaces, the signing key, and deleting by id", async () => {
  assert.equal((await carrel.setBudget("of-a-test", { executions: 7 })).executions, 7);
  assert.equal((await carrel.budget("of-a-test")).executions, 7);
  assert.ok((await carrel.audit.key()).algorithm);
  const made = await carrel.sandboxes.create({ memoryMb: 64 });
  await carrel.sandboxes.delete(made.id);
  await assert.rejects(carrel.sandboxes.get(made.id), code("sandbox_not_found"));
});
