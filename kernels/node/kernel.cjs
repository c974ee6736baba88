'use strict';
// The Node kernel of a context: spec/kernel-protocol.md on Node's own modules.
//
// A cell is evaluated by V8's inspector in REPL mode, in this very thread: the semantics are those of a browser's console,
// with top-level await and with let, const and class that a later cell may declare anew. No source is rewritten, except
// that `import` (which V8 refuses outside modules) is handed to modules.cjs.

// Kept from the start, here and in the other files: code may put its own in their place (bluebird, the clocks of tests).
const { Atomics, Buffer, Int32Array, Object, Promise, RangeError, SharedArrayBuffer, String, Symbol, process, setImmediate } = globalThis;
// The way of a request through this file looks up no method that code may have replaced: no iterators, no `then`.
const { allocUnsafe, concat, from } = Buffer;
const method = Function.prototype.bind.bind(Function.prototype.call);
const decode = method(Buffer.prototype.toString);
const subarray = method(Buffer.prototype.subarray);
const matches = method(RegExp.prototype.test);
const includes = method(Array.prototype.includes);
const listeners = method(process.listeners);
const listen = method(process.on);
const { apply, defineProperty, getOwnPropertyDescriptor, setPrototypeOf } = Reflect;
const { hasOwn, prototype: objectPrototype } = Object;
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
let current = null; // the request being served: { id, silent, number (of a cell), lost (the first error nobody caught) }
let serving = false; // from reading a request to its DONE
let waiting = []; // bytes of requests to come
let guarded = null; // the `then` of all objects as code has given it, kept from the kernel's
let taken; // the value last handed over from the inspector's world
let watchdog = null; // started with the kernel; the first cell waits until it watches

// ---- frames

function u32(number) {
  const bytes = allocUnsafe(4);
  for (let i = 0; i < 4; i++) bytes[i] = number >>> (8 * i);
  return bytes;
}

function u32At(bytes, at) {
  if (at + 4 > bytes.length) throw new RangeError('a request that is cut short');
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

function byte(number) {
  const bytes = allocUnsafe(1);
  bytes[0] = number;
  return bytes;
}

function text(value) {
  const bytes = from(value, 'utf8');
  return concat([u32(bytes.length), bytes]);
}

function bundleBytes(bundle) {
  const parts = [u32(bundle.length)];
  for (let i = 0; i < bundle.length; i++) {
    const data = bundle[i][1];
    parts[i + 1] = concat([text(bundle[i][0]), u32(data.length), data]);
  }
  return concat(parts);
}

function frame(type, ...parts) {
  const payload = concat(parts);
  return concat([u32(payload.length), byte(type), payload]);
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

function send(bytes) {
  writeAll(EVENTS, bytes);
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
  const sink = (fd) => ({ write: (chunk) => { writeAll(fd, from(String(chunk), 'utf8')); return true; } });
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
    for (const value of values) send(frame(DISPLAY, u32(current ? current.id : 0), bundleBytes(rich.displayed(value))));
  });
  // The way back for values: the inspector's answers carry handles, not the objects themselves.
  Object.defineProperty(globalThis, Symbol.for('carrel.take'), { value: (value) => { taken = value; } });
  Object.defineProperty(globalThis, Symbol.for('carrel.import'), {
    value: (...request) => require('./modules.cjs').load(...request),
  });
  process.argv.length = 1;
  process.execArgv.length = 0;
}

function reportAsync(reason, origin) {
  const { type, message, stack } = describeError(reason);
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line)).join('\n');
  writeAll(2, from(`[async ${type}] ${message}\n${frames && frames + '\n'}`));
  // A forgotten `await` must not look like success. A callback of an earlier cell is no failure of this one; of a promise nobody knows.
  const earlier = origin === 'uncaughtException' && /<cell \d+>/.test(stack) && !stack.includes(`<cell ${current?.number}>`);
  if (current?.number !== undefined && !earlier) current.lost ??= { type: 'AsyncError', message: `${type}: ${message}`, stack };
}

// ---- interrupts

// SIGINT comes here as soon as no cell occupies the thread; when one does, the watchdog stops it first.
function onInterrupt() {
  watchdog.heard();
  if (current) conclude(current, { interrupted: true });
}

function keepHandlers() {
  keepHandler('uncaughtException');
  keepHandler('unhandledRejection');
}

function keepHandler(event) {
  if (!includes(listeners(process, event), reportAsync)) listen(process, event, reportAsync);
}

// ---- a cell

function post(method, parameters) {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, answer) => {
      if (error === null) resolve({ __proto__: null, answer });
      // Stopped by the watchdog, which reports it and so ends the cell.
      else if (!/terminated/.test(error.message)) reject(new Error(error.message));
    });
  });
}

// In a box, here and below: a promise that is fulfilled with a value looks for its `then`, and a Proxy may object. The box has no
// prototype, in which code may have put one.
async function valueOf(remote) {
  if (remote.objectId === undefined) return { __proto__: null, value: rich.primitive(remote) };
  await post('Runtime.callFunctionOn', {
    functionDeclaration: 'function (value) { globalThis[Symbol.for("carrel.take")](value); }',
    objectId: remote.objectId,
    arguments: [{ objectId: remote.objectId }],
    silent: true,
  });
  const box = { __proto__: null, value: taken };
  taken = undefined;
  return box;
}

// In Node 20 the inspector puts the value of a cell into an object like any other, and a promise that is fulfilled with that
// takes it for another promise when code has given all objects a `then`: each cell would wait for it. Only the cell that does so
// still has to be interrupted, since V8 asks for `then` when its code is over and before the kernel's goes on.
function keepThenFromValues() {
  const then = getOwnPropertyDescriptor(objectPrototype, 'then');
  if (typeof then?.value !== 'function' || then.value === guarded) return;
  const given = then.value;
  guarded = function (resolve, reject) {
    if (this === null || this === undefined || !hasOwn(this, '.repl_result')) return apply(given, this, [resolve, reject]);
    setPrototypeOf(this, null);
    resolve(this);
  };
  defineProperty(objectPrototype, 'then', { __proto__: null, ...then, value: guarded });
}

// { value } or { error, details }
async function evaluate(source, name) {
  keepThenFromValues();
  const expression = matches(/\b(im|ex)port\b/, source) ? require('./modules.cjs').rewrite(source) : source;
  const { answer } = await post('Runtime.evaluate', {
    expression: `${expression}\n//# sourceURL=${name}`,
    replMode: true,
    silent: true,
    objectGroup: name,
  });
  if (answer.exceptionDetails) {
    const details = answer.exceptionDetails;
    const thrown = details.exception ? await valueOf(details.exception) : { value: details.text };
    return { __proto__: null, error: thrown.value, details };
  }
  const { value } = await valueOf(answer.result);
  return { __proto__: null, value: isPromise(value) ? await value : value };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function runCell(request, source) {
  try {
    conclude(request, await outcomeOf(request, source));
  } catch (error) {
    protocolFailure(error);
  }
}

async function outcomeOf(request, source) {
  const name = `carrel-cell-${request.number}`;
  try {
    const outcome = await evaluate(source, name);
    if ('error' in outcome) return { __proto__: null, failure: describeError(outcome.error, outcome.details, source, request.number) };
    // One turn of the event loop: callbacks that are due already belong to this cell.
    await turn();
    if (outcome.value === undefined || request.silent) return { __proto__: null, events: [] };
    return { __proto__: null, events: [frame(RESULT, u32(request.id), bundleBytes(rich.result(outcome.value)))] };
  } catch (error) {
    return { __proto__: null, failure: describeError(error) };
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
  runCell(request, source);
}

// Ends a cell, once. Stopped in the middle of end() it is called again by the watchdog's report.
function conclude(request, outcome) {
  if (request !== current) return;
  if (request.number !== undefined) watchdog.end();
  const { id } = request;
  if (outcome.interrupted) {
    const message = 'the cell was interrupted';
    finish(id, INTERRUPTED, frame(ERROR, u32(id), text('Interrupted'), text(message), text(`Interrupted: ${message}`)));
  } else if (outcome.failure || request.lost) {
    const { type, message, stack } = outcome.failure ?? request.lost;
    const events = concat(outcome.failure ? [] : outcome.events);
    finish(id, FAILED, concat([events, frame(ERROR, u32(id), text(type), text(message), text(stack))]));
  } else {
    finish(id, OK, concat(outcome.events));
  }
}

function finish(id, status, events = allocUnsafe(0)) {
  current = null;
  keepHandlers();
  send(concat([events, frame(DONE, u32(id), byte(status))]));
  serving = false;
  if (waiting.length > 0) setImmediate(serveNext);
}

async function complete(id, cursor, code) {
  const request = { id, silent: true };
  current = request;
  let found = { start: cursor, end: cursor, words: [] };
  try {
    found = (await require('./complete.cjs').matches(post, code, cursor)).found;
  } catch {
    // Asking what there is has failed: there are no completions.
  }
  const words = [];
  for (let i = 0; i < found.words.length; i++) words[i] = text(found.words[i]);
  const event = frame(COMPLETIONS, u32(id), u32(found.start), u32(found.end), u32(words.length), concat(words));
  conclude(request, { __proto__: null, events: [event] });
}

// The environment of a user who came after the start.
function bind(id, payload) {
  const strings = [];
  let at = 8;
  while (at < payload.length) {
    const end = at + 4 + u32At(payload, at);
    if (end > payload.length) throw new Error('a malformed BIND');
    strings[strings.length] = decode(payload, 'utf8', at + 4, end);
    at = end;
  }
  const malformed = (text, i) => text.includes('\0') || (i % 2 === 0 && (text === '' || text.includes('=')));
  if (strings.length !== 2 * u32At(payload, 4) || strings.some(malformed)) throw new Error('a malformed BIND');
  for (let i = 0; i < strings.length; i += 2) process.env[strings[i]] = strings[i + 1];
  finish(id, OK);
}

// ---- requests

async function serveRequest(type, payload) {
  const id = u32At(payload, 0);
  if (type === EXECUTE) {
    await execute(id, u32At(payload, 4), decode(payload, 'utf8', 12));
  } else if (type === COMPLETE) {
    complete(id, u32At(payload, 4), subarray(payload, 12));
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
  for (let i = 0; i < waiting.length; i++) size += waiting[i].length;
  if (size < 9) return;
  if (waiting[0].length < 5) waiting = [concat(waiting)];
  const length = u32At(waiting[0], 0);
  if (length < 4 || length > MAX_FRAME) return protocolFailure(`a request of ${length} bytes`);
  if (size < 5 + length) return;
  const request = concat(waiting);
  waiting = request.length > 5 + length ? [subarray(request, 5 + length)] : [];
  serving = true;
  serveWhole(request[4], subarray(request, 5, 5 + length));
}

async function serveWhole(type, payload) {
  try {
    await serveRequest(type, payload);
  } catch (error) {
    protocolFailure(error);
  }
}

// Also when code has left nothing that the kernel could go on with: the context ends, and whoever asked is told.
function protocolFailure(error) {
  writeAll(2, from(`kernel: ${cleanStack(String(error?.stack ?? error))}\n`));
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
    waiting[waiting.length] = chunk;
    serveNext();
  });
  requests.on('end', () => exit(0));
  requests.on('error', protocolFailure);
  send(frame(READY, text('node'), text(process.versions.node), text('plain')));
}

serve();
