'use strict';
// The Node kernel of a context: spec/kernel-protocol.md on Node's own modules.
//
// A cell is evaluated by V8's inspector in REPL mode, in this very thread: the semantics are those of a browser's console,
// with top-level await and with let, const and class that a later cell may declare anew. No source is rewritten, except
// that `import` (which V8 refuses outside modules) is handed to modules.cjs.

// Kept from the start, here and in the other files: code may put its own in their place (bluebird, the clocks of tests).
const { Atomics, Buffer, Int32Array, Object, Promise, SharedArrayBuffer, String, Symbol, process, setImmediate } = globalThis;
const { writeSync } = require('node:fs');
const inspector = require('node:inspector');
const net = require('node:net');
const path = require('node:path');
const { isPromise } = require('node:util').types;
const { cleanStack, describeError } = require('./failures.cjs');
const rich = require('./rich.cjs');

const REQUESTS = 3;
const EVENTS = 4;
const MAX_FRAME = 64 << 20;
const EXECUTE = 0x01, PING = 0x02, COMPLETE = 0x03, SHUTDOWN = 0x04, BIND = 0x05;
const READY = 0x81, RESULT = 0x82, DISPLAY = 0x83, ERROR = 0x84, DONE = 0x85, COMPLETIONS = 0x86, PONG = 0x87;
const OK = 0, FAILED = 1, INTERRUPTED = 2;
const SILENT = 1;

const session = new inspector.Session();
const exit = process.exit.bind(process);
let cells = 0;
let current = null; // the request being served: { id, silent, number (of a cell) }
let serving = false; // from reading a request to its DONE
let waiting = []; // bytes of requests to come
let taken; // the value last handed over from the inspector's world
let watchdog = null; // started with the kernel; the first cell waits until it watches

// ---- frames

function u32(number) {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(number >>> 0);
  return bytes;
}

function text(value) {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([u32(bytes.length), bytes]);
}

function bundleBytes(bundle) {
  const parts = [u32(bundle.length)];
  for (const [mime, data] of bundle) parts.push(text(mime), u32(data.length), data);
  return Buffer.concat(parts);
}

function frame(type, ...parts) {
  const payload = Buffer.concat(parts);
  return Buffer.concat([u32(payload.length), Buffer.of(type), payload]);
}

function writeAll(fd, bytes) {
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += writeSync(fd, bytes, offset);
    } catch (error) {
      // A child process that shares the pipe may have made it non-blocking; the reader will make room.
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

function send(type, ...parts) {
  writeAll(EVENTS, frame(type, ...parts));
}

// ---- what user code finds

function streamTo(fd) {
  const { Writable } = require('node:stream');
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _encoding, done) {
      writeAll(fd, chunk);
      done();
    },
  });
  stream.fd = fd;
  stream._type = 'pipe';
  stream.destroy = function () { return this; }; // like Node's own, it cannot be closed
  return stream;
}

// Written synchronously, like everything else: in order with the output of child processes, and never lost by process.exit().
function replaceStreams() {
  for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
    let stream = null;
    Object.defineProperty(process, name, {
      configurable: true, enumerable: true, get: () => (stream ??= streamTo(fd)),
    });
  }
  const sink = (fd) => ({ write: (chunk) => { writeAll(fd, Buffer.from(String(chunk), 'utf8')); return true; } });
  globalThis.console = new console.Console({ stdout: sink(1), stderr: sink(2), ignoreErrors: false });
  globalThis.console.Console = console.Console;
}

function defineGlobal(name, value) {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
}

function prepareGlobals() {
  const { createRequire } = require('node:module');
  const here = process.cwd();
  const cellModule = { exports: {}, filename: '<cell>', id: '.', loaded: false, children: [], paths: [] };
  defineGlobal('require', createRequire(path.join(here, 'cell.js')));
  defineGlobal('module', cellModule);
  defineGlobal('exports', cellModule.exports);
  defineGlobal('__filename', path.join(here, '<cell>'));
  defineGlobal('__dirname', here);
  defineGlobal('display', (...values) => {
    if (current?.silent) return;
    for (const value of values) send(DISPLAY, u32(current ? current.id : 0), bundleBytes(rich.displayed(value)));
  });
  // The way back for values: the inspector's answers carry handles, not the objects themselves.
  Object.defineProperty(globalThis, Symbol.for('carrel.take'), { value: (value) => { taken = value; } });
  Object.defineProperty(globalThis, Symbol.for('carrel.import'), {
    value: (...request) => require('./modules.cjs').load(...request),
  });
  process.argv.length = 1;
  process.execArgv.length = 0;
}

function reportAsync(reason) {
  const { type, message, stack } = describeError(reason);
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line)).join('\n');
  writeAll(2, Buffer.from(`[async ${type}] ${message}\n${frames && frames + '\n'}`));
}

// ---- interrupts

// SIGINT comes here as soon as no cell occupies the thread; when one does, the watchdog stops it first.
function onInterrupt() {
  watchdog.heard();
  if (current) conclude(current, { interrupted: true });
}

function keepHandlers() {
  for (const [event, handler] of [
    ['uncaughtException', reportAsync], ['unhandledRejection', reportAsync],
  ]) {
    if (!process.listeners(event).includes(handler)) process.on(event, handler);
  }
}

// ---- a cell

function post(method, parameters) {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, answer) => {
      if (error === null) resolve(answer);
      // Stopped by the watchdog, which reports it and so ends the cell.
      else if (!/terminated/.test(error.message)) reject(new Error(error.message));
    });
  });
}

// In a box, here and below: a promise that is fulfilled with a value looks for its `then`, and a Proxy may object.
async function valueOf(remote) {
  if (remote.objectId === undefined) return { value: rich.primitive(remote) };
  await post('Runtime.callFunctionOn', {
    functionDeclaration: 'function (value) { globalThis[Symbol.for("carrel.take")](value); }',
    objectId: remote.objectId,
    arguments: [{ objectId: remote.objectId }],
    silent: true,
  });
  const box = { value: taken };
  taken = undefined;
  return box;
}

// { value } or { error, details }
async function evaluate(source, name) {
  const expression = /\b(im|ex)port\b/.test(source) ? require('./modules.cjs').rewrite(source) : source;
  const answer = await post('Runtime.evaluate', {
    expression: `${expression}\n//# sourceURL=${name}`,
    replMode: true,
    silent: true,
    objectGroup: name,
  });
  if (answer.exceptionDetails) {
    const details = answer.exceptionDetails;
    const thrown = details.exception ? await valueOf(details.exception) : { value: details.text };
    return { error: thrown.value, details };
  }
  const { value } = await valueOf(answer.result);
  return { value: isPromise(value) ? await value : value };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function runCell(request, source) {
  const name = `carrel-cell-${request.number}`;
  try {
    const outcome = await evaluate(source, name);
    if ('error' in outcome) return { failure: describeError(outcome.error, outcome.details, source, request.number) };
    // One turn of the event loop: callbacks that are due already belong to this cell.
    await turn();
    if (outcome.value === undefined || request.silent) return { events: [] };
    return { events: [frame(RESULT, u32(request.id), bundleBytes(rich.result(outcome.value)))] };
  } catch (error) {
    return { failure: describeError(error) };
  } finally {
    session.post('Runtime.releaseObjectGroup', { objectGroup: name });
  }
}

async function execute(id, flags, source) {
  await watchdog.watching;
  // A SIGINT that came before the request must not hit it: it is in the same turn of the event loop, or in the next.
  await turn();
  await turn();
  const request = { id, silent: (flags & SILENT) !== 0, number: ++cells };
  current = request;
  watchdog.begin(request.number);
  runCell(request, source).then((outcome) => conclude(request, outcome));
}

// Ends a cell, once. Stopped in the middle of end() it is called again by the watchdog's report.
function conclude(request, outcome) {
  if (request !== current) return;
  if (request.number !== undefined) watchdog.end();
  const { id } = request;
  if (outcome.interrupted) {
    const message = 'the cell was interrupted';
    finish(id, INTERRUPTED, frame(ERROR, u32(id), text('Interrupted'), text(message), text(`Interrupted: ${message}`)));
  } else if (outcome.failure) {
    const { type, message, stack } = outcome.failure;
    finish(id, FAILED, frame(ERROR, u32(id), text(type), text(message), text(stack)));
  } else {
    finish(id, OK, ...outcome.events);
  }
}

function finish(id, status, ...events) {
  current = null;
  keepHandlers();
  writeAll(EVENTS, Buffer.concat([...events, frame(DONE, u32(id), Buffer.of(status))]));
  serving = false;
  if (waiting.length > 0) setImmediate(serveNext);
}

function complete(id, cursor, code) {
  const request = { id, silent: true };
  current = request;
  require('./complete.cjs')
    .matches(post, code, cursor)
    .catch(() => ({ start: cursor, end: cursor, words: [] }))
    .then(({ start, end, words }) => {
      const event = frame(COMPLETIONS, u32(id), u32(start), u32(end), u32(words.length), ...words.map(text));
      conclude(request, { events: [event] });
    });
}

// The environment of a user who came after the start.
function bind(id, payload) {
  const strings = [];
  let at = 8;
  while (at < payload.length) {
    const end = at + 4 + payload.readUInt32LE(at);
    if (end > payload.length) throw new Error('a malformed BIND');
    strings.push(payload.toString('utf8', at + 4, end));
    at = end;
  }
  const malformed = (text, i) => text.includes('\0') || (i % 2 === 0 && (text === '' || text.includes('=')));
  if (strings.length !== 2 * payload.readUInt32LE(4) || strings.some(malformed)) throw new Error('a malformed BIND');
  for (let i = 0; i < strings.length; i += 2) process.env[strings[i]] = strings[i + 1];
  finish(id, OK);
}

// ---- requests

async function serveRequest(type, payload) {
  const id = payload.readUInt32LE(0);
  if (type === EXECUTE) {
    await execute(id, payload.readUInt32LE(4), payload.toString('utf8', 12));
  } else if (type === COMPLETE) {
    complete(id, payload.readUInt32LE(4), payload.subarray(12));
  } else if (type === PING) {
    finish(id, OK, frame(PONG, u32(id)));
  } else if (type === BIND) {
    bind(id, payload);
  } else if (type === SHUTDOWN) {
    finish(id, OK);
    exit(0);
  } else {
    throw new Error(`request of unknown type ${type}`);
  }
}

// The next request, when it has come as a whole and the one before is answered.
function serveNext() {
  if (serving || waiting.length === 0) return;
  let size = 0;
  for (const chunk of waiting) size += chunk.length;
  if (size < 9) return;
  if (waiting[0].length < 5) waiting = [Buffer.concat(waiting)];
  const length = waiting[0].readUInt32LE(0);
  if (length < 4 || length > MAX_FRAME) return protocolFailure(`a request of ${length} bytes`);
  if (size < 5 + length) return;
  const request = Buffer.concat(waiting);
  waiting = request.length > 5 + length ? [request.subarray(5 + length)] : [];
  serving = true;
  serveRequest(request[4], request.subarray(5, 5 + length)).catch(protocolFailure);
}

function protocolFailure(error) {
  writeAll(2, Buffer.from(`kernel: ${cleanStack(String(error?.stack ?? error))}\n`));
  exit(70);
}

function serve() {
  const { onSigint, start } = require('./watchdog.cjs');
  onSigint(onInterrupt);
  watchdog = start((number) => {
    if (current?.number === number) conclude(current, { interrupted: true });
  });
  session.connect();
  replaceStreams();
  prepareGlobals();
  keepHandlers();
  const requests = new net.Socket({ fd: REQUESTS, readable: true, writable: false });
  requests.on('data', (chunk) => {
    waiting.push(chunk);
    serveNext();
  });
  requests.on('end', () => exit(0));
  requests.on('error', protocolFailure);
  send(READY, text('node'), text(process.versions.node), text('plain'));
}

serve();
