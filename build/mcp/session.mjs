// A whole session with the official TypeScript SDK, over HTTP (session.mjs http URL) or stdio (session.mjs stdio COMMAND…).
// Prints "session done" when all went as it should, and fails otherwise.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.cwd() + '/');
const sdk = async (path) => import(pathToFileURL(require.resolve('@modelcontextprotocol/sdk/' + path)));
const { Client } = await sdk('client/index.js');

async function transport() {
  const [kind, target, ...more] = process.argv.slice(2);
  if (kind === 'http') {
    const { StreamableHTTPClientTransport } = await sdk('client/streamableHttp.js');
    const headers = { Authorization: 'Bearer ' + process.env.CARREL_TOKEN };
    return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } });
  }
  const { StdioClientTransport } = await sdk('client/stdio.js');
  return new StdioClientTransport({ command: target, args: more, env: process.env, stderr: 'inherit' });
}

const client = new Client({ name: 'carrel-test', version: '1.0.0' });
await client.connect(await transport(), { timeout: 120_000 });
const call = async (name, args, options) => {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 120_000, ...options });
  assert.ok(!result.isError, name + ': ' + JSON.stringify(result.content));
  return result;
};

const names = (await client.listTools()).tools.map((tool) => tool.name);
for (const name of ['create_session', 'execute_code', 'export_files', 'Bash', 'Edit', 'Grep']) assert.ok(names.includes(name), name);

const session_id = (await call('create_session', { language: 'python' })).structuredContent.session_id;
await call('execute_code', { session_id, code: 'x = 6' });
const value = await call('execute_code', { session_id, code: 'x * 7' });
assert.equal(value.structuredContent.result['text/plain'], '42');

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const figure = await call('execute_code', {
  session_id,
  code: `import base64\nclass F:\n    def _repr_png_(self): return base64.b64decode('${png}')\nF()`,
});
assert.ok(figure.content.some((block) => block.type === 'image' && block.mimeType === 'image/png'));

const seen = [];
await call('Bash', { session_id, command: 'for i in 1 2 3; do echo $i; sleep 0.2; done' }, {
  onprogress: (progress) => seen.push(progress.message),
});
assert.equal(seen.join(''), '1\n2\n3\n');

await call('Write', { session_id, file_path: 'notes.md', content: '# Notes\nalpha\n' });
const edited = await call('Edit', { session_id, file_path: 'notes.md', old_string: 'alpha', new_string: 'beta' });
assert.match(edited.content[0].text, /-alpha\n\+beta/);
const found = await call('Grep', { session_id, pattern: '^beta' });
assert.match(found.content[0].text, /Line 2: beta/);

const uri = `carrel://sandboxes/${session_id}/files/workspace/notes.md`;
assert.equal((await client.readResource({ uri })).contents[0].text, '# Notes\nbeta\n');
assert.ok((await client.listPrompts()).prompts.length > 0);

const exported = (await call('export_files', { session_id, files: [{ source: 'notes.md' }] })).structuredContent;
assert.equal(exported.success, true);
const link = exported.files[0].download_url;
assert.equal(await (await fetch(link)).text(), '# Notes\nbeta\n');
assert.equal((await fetch(link.slice(0, -1) + (link.endsWith('0') ? '1' : '0'))).status, 401);
const second = (await call('create_session', { language: 'python' })).structuredContent.session_id;
const files = [{ session_id, path: 'notes.md', destination: 'copy.md' }, { file_name: 'a.json', file_content: '[1]' }];
assert.equal((await call('import_files', { session_id: second, files })).structuredContent.success, true);
const copy = await call('execute_code', { session_id: second, code: 'open("copy.md").read()' });
assert.equal(copy.structuredContent.result['text/plain'], "'# Notes\\nbeta\\n'");
await call('stop_session', { session_id: second });

const cancelled = new AbortController();
const endless = client.callTool({ name: 'Bash', arguments: { session_id, command: 'touch begun; sleep 300' } }, undefined, {
  signal: cancelled.signal,
});
endless.catch(() => {});
const running = async () => (await call('execute_terminal', { session_id, command: 'pgrep -c sleep || true' })).structuredContent.stdout;
const until = async (what, condition) => {
  for (let i = 0; i < 300; i++) {
    if (await condition()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail('still not so: ' + what);
};
await until('it runs', async () => (await running()).trim() === '1');
cancelled.abort('enough');
await assert.rejects(endless);
await until('it is dead', async () => (await running()).trim() === '0');

assert.equal((await call('stop_session', { session_id })).structuredContent.success, true);
await client.close();
console.log('session done');
process.exit(0);
