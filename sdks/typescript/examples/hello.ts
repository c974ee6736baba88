// A sandbox, a command, a file, and code that keeps its state. Needs CARREL_URL and CARREL_TOKEN.
import { Sandbox } from "@carrel/sdk";

await using sandbox = await Sandbox.create({ memoryMb: 256 });
process.stdout.write((await sandbox.exec("uname -s")).stdout);
await sandbox.files.write("numbers.txt", "1\n2\n3\n");
await sandbox.runCode("numbers = [int(line) for line in open('numbers.txt')]");
console.log((await sandbox.runCode("sum(numbers)")).text);
