import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";

const run = promisify(execFile);
const root = new URL("../../../", import.meta.url);

async function says(script: string): Promise<string> {
  return (await run(process.execPath, [new URL(`build/js/${script}`, root).pathname], { timeout: 100_000 })).stdout;
}

test("it has no dependency and one version", () => {
  const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  assert.equal(manifest.dependencies, undefined);
  assert.match(readFileSync(new URL("dist/index.js", root), "utf8"), new RegExp(`VERSION = "${manifest.version}"`));
});

test("it bundles for a browser, with nothing of Node in it", async () => {
  const result = await build({
    entryPoints: [new URL("dist/index.js", root).pathname],
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    metafile: true,
  });
  assert.deepEqual(result.warnings, []);
  const text = result.outputFiles[0]!.text;
  assert.ok(text.length < 60_000, `${text.length} bytes`);
  assert.doesNotMatch(text, /node:|require\(/);
  // Where there is no `process` it takes the page's own server, and asks for the token.
  const module = (await import(`data:text/javascript,${encodeURIComponent(`const process = undefined;${text}`)}`)) as {
    Carrel: new () => unknown;
  };
  assert.throws(() => new module.Carrel(), /no server is named/);
});

test("the examples run", async () => {
  assert.equal(await says("examples/hello.js"), "Linux\n6\n");
  assert.equal(await says("examples/many.js"), "5! = 120\n10! = 3628800\n15! = 1307674368000\n");
  assert.equal(await says("examples/resume.js"), "step 1\nstep 2\nstep 3\n");
});

const shown = readdirSync(new URL("build/shown/", root)).filter((name) => name.endsWith(".ts"));
assert.ok(shown.length >= 4, "README.md has lost its examples");
for (const name of shown) {
  test(`what the README shows runs: ${name}`, async () => {
    const said = await says(`build/shown/${name.replace(".ts", ".js")}`);
    const source = readFileSync(new URL(`build/shown/${name}`, root), "utf8");
    for (const [, expected] of source.matchAll(/console\.log\(.*\/\/ (.*)$/gm)) {
      assert.ok(said.includes(expected!), `${expected} in ${said}`);
    }
  });
}
