// A long command that survives a broken connection: with a key it runs once, and is followed again after the last byte that
// came. Needs CARREL_URL and CARREL_TOKEN.
import { randomUUID } from "node:crypto";
import { Sandbox } from "@carrel/sdk";

await using sandbox = await Sandbox.create({ memoryMb: 128 });
const command = "for i in 1 2 3; do echo step $i; sleep 0.2; done";
for await (const event of await sandbox.execStream(command, { idempotencyKey: randomUUID() })) {
  if (event.kind === "output") {
    process.stdout.write(event.text);
  }
}
