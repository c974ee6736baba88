// A terminal in a browser, without the browser: xterm.js and its attach addon as npm has them, over a WebSocket of theirs.
// node xterm.mjs URL TOKEN SANDBOX
import assert from "node:assert/strict";
import headless from "@xterm/headless";
import attach from "@xterm/addon-attach";
import WebSocket from "ws";

// Where a browser has its own, which the addon asks for the states of a socket.
globalThis.WebSocket = WebSocket;

const [url, token, sandbox] = process.argv.slice(2);
const { Terminal } = headless;
const { AttachAddon } = attach;
const terminals = `/api/v1/sandboxes/${sandbox}/terminals`;
const PATIENCE_MS = 60_000;

async function call(method, path, body) {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${answer.ok ? "" : await answer.text()}`);
  return answer.status === 204 ? undefined : answer.json();
}

const open = (body = {}) => call("POST", terminals, body).then((made) => made.id);

function socket(terminal, query = "", protocols = ["carrel.terminal.v1", `carrel.token.${token}`]) {
  return new WebSocket(`${url.replace("http", "ws")}${terminals}/${terminal}/socket${query}`, protocols);
}

/** A terminal with the addon on a socket, once that is open. */
async function shown(wire, size = { rows: 24, cols: 80 }) {
  const terminal = new Terminal({ ...size, allowProposedApi: true });
  terminal.loadAddon(new AttachAddon(wire));
  await new Promise((resolve, reject) => {
    wire.addEventListener("open", resolve);
    wire.addEventListener("error", (event) => reject(new Error(event.message)));
  });
  return terminal;
}

function text(terminal) {
  const buffer = terminal.buffer.active;
  const lines = [];
  for (let i = 0; i < buffer.length; i++) {
    lines.push(buffer.getLine(i).translateToString(true));
  }
  return lines.join("\n");
}

function sees(terminal, pattern) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no ${pattern} on the screen:\n${text(terminal)}`)), PATIENCE_MS);
    const look = () => {
      if (pattern.test(text(terminal))) {
        clearTimeout(late);
        written.dispose();
        resolve();
      }
    };
    const written = terminal.onWriteParsed(look);
    look();
  });
}

const closed = (wire) => new Promise((resolve) => wire.addEventListener("close", (event) => resolve(`${event.code} ${event.reason}`)));

const tests = {
  async keysAndScreen() {
    const wire = socket(await open());
    const over = closed(wire);
    const terminal = await shown(wire);
    terminal.input("echo $((6*7))-typed grüße\r");
    await sees(terminal, /^42-typed grüße$/m);
    terminal.input("exit 3\r");
    assert.equal(await over, "1000 exited 3 returned");
  },

  async colours() {
    const terminal = await shown(socket(await open()));
    terminal.input("printf '\\033[31m%s\\033[0m\\n' re''d\r");
    await sees(terminal, /^red$/m);
    const buffer = terminal.buffer.active;
    const row = [...Array(buffer.length).keys()].find((i) => buffer.getLine(i).translateToString(true) === "red");
    assert.equal(buffer.getLine(row).getCell(0).getFgColor(), 1);
  },

  async binaryKeys() {
    const id = await open({ command: ["/bin/sh", "-c", "stty raw -echo; echo ready; head -c 3 | od -An -tx1; stty sane"] });
    const wire = socket(id);
    const terminal = await shown(wire);
    await sees(terminal, /ready/);
    // What the addon does with a mouse report, which is no text.
    wire.send(new Uint8Array([0x1b, 0xff, 0x80]));
    await sees(terminal, /1b ff 80/);
  },

  async resizeOverAControlChannel() {
    const id = await open();
    const terminal = await shown(socket(id));
    const control = socket(id, "?screen=false", ["carrel.terminal.control.v1", `carrel.token.${token}`]);
    await new Promise((resolve) => control.addEventListener("open", resolve));
    terminal.onResize(({ rows, cols }) => control.send(JSON.stringify({ type: "resize", rows, cols })));
    terminal.resize(120, 40);
    terminal.input("until stty size | grep -q '^40 120'; do sleep 0.1; done; echo re''sized\r");
    await sees(terminal, /^resized$/m);
    control.close();
  },

  async reconnectKeepsTheShell() {
    const id = await open();
    const first = socket(id);
    const before = await shown(first);
    before.input("kept=on-and-on; echo be''fore\r");
    await sees(before, /^before$/m);
    first.terminate();
    const after = await shown(socket(id));
    await sees(after, /^before$/m);
    after.input("echo $kept\r");
    await sees(after, /^on-and-on$/m);
  },

  async aLinkIsEnough() {
    const id = await open();
    const link = await call("POST", `${terminals}/${id}/link`, { write: true, expires_in_seconds: 600 });
    const terminal = await shown(new WebSocket(link.url));
    terminal.input("echo lin''ked\r");
    await sees(terminal, /^linked$/m);
    await call("DELETE", `${terminals}/${id}`);
  },

  async withoutATokenNothing() {
    await assert.rejects(shown(socket(await open(), "", ["carrel.terminal.v1"])), /401/);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log("ok", name);
  } catch (error) {
    failed++;
    console.log("FAILED", name, error);
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
