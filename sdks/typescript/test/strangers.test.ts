// What else may answer at an address: a proxy, a page to log in at.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Carrel, CarrelError } from "@carrel/sdk";

test("a page in place of JSON is named with its beginning", async () => {
  const page = `<html>\n${"welcome ".repeat(100)}</html>`;
  const server = createServer((_, response) => {
    response.setHeader("Content-Type", "text/html");
    response.end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const carrel = new Carrel({ url: `http://127.0.0.1:${port}`, token: "token" });
    await assert.rejects(carrel.sandboxes.get("sbabc"), (failure: CarrelError) => {
      assert.ok(failure instanceof CarrelError);
      assert.deepEqual([failure.code, failure.status], ["unknown", 200]);
      assert.match(failure.message, /answers with status 200 and text\/html that is no JSON: "<html>\\nwelcome /);
      assert.ok(failure.message.length < 400, failure.message);
      assert.ok(failure.hint);
      return true;
    });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
