// A server whose directory has more entries than it gives at once.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { Carrel } from "@carrel/sdk";

for (const truncated of [true, false]) {
  test(`a list says whether it was cut: ${truncated}`, async () => {
    const server = createServer((request, response) => {
      response.setHeader("X-Carrel-Truncated", String(truncated));
      response.end(request.url?.includes("/files") ? '[{"name":"a"}]' : '{"id":"sbabc","isolation_measures":[],"network":{},"skills":[]}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const carrel = new Carrel({ url: `http://127.0.0.1:${port}`, token: "token" });
      const found = await (await carrel.sandboxes.get("sbabc")).files.list();
      assert.equal(found.truncated, truncated);
      assert.deepEqual(
        found.map((entry) => entry.name),
        ["a"],
      );
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
}
