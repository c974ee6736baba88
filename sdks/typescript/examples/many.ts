// Many sandboxes at once, each with its own answer. Needs CARREL_URL and CARREL_TOKEN.
import { Carrel } from "@carrel/sdk";

const carrel = new Carrel();

async function factorial(number: number): Promise<string> {
  await using sandbox = await carrel.sandboxes.create({ memoryMb: 128, ephemeral: true });
  const result = await sandbox.runCode(`import math; math.factorial(${number})`);
  return `${number}! = ${result.text}`;
}

for (const line of await Promise.all([5, 10, 15].map(factorial))) {
  console.log(line);
}
