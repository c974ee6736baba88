'use strict';
// Ends JavaScript that holds the main thread when a SIGINT arrives.
//
// Node runs signal handlers on the event loop, which a busy cell never gives back. A second thread has a loop of its own: it
// hears the signal as well, waits a moment for the main thread to hear it, and otherwise has V8 stop whatever runs on the main thread.
// (vm's breakOnSigint is no choice: it knows only synchronous code, and puts the default action of SIGINT, death, in place
// before and after each run.)
//
// V8 would stop the kernel's own code just as well. So it happens only while the state is RUNNING; the kernel leaves that state
// before it writes anything, and when it finds that it is about to be stopped it lets that happen first.

const { Atomics, Promise, process } = globalThis;
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const PATIENCE_MS = 40;
const SIGINT = 2;
const STATE = 0, CELL = 1, HEARD = 2; // places in the shared memory; HEARD counts the main thread's signals
const QUIET = 0, RUNNING = 1, STOPPING = 2;

// Node's own signal events depend on listeners that user code can remove.
function onSigint(handler) {
  const warn = process.noDeprecation;
  process.noDeprecation = true;
  const { Signal } = process.binding('signal_wrap');
  process.noDeprecation = warn;
  const signal = new Signal();
  signal.onsignal = handler;
  signal.start(SIGINT);
}

// `stopped(number)` is called after the cell of that number was stopped.
function start(stopped) {
  const shared = new Int32Array(new SharedArrayBuffer(12));
  const worker = new Worker(__filename, {
    workerData: shared,
    env: {},
    execArgv: [],
    argv: [],
    // Enough for Node's own start; this thread keeps nothing.
    resourceLimits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 },
  });
  const watching = new Promise((resolve) => {
    worker.on('message', (number) => (number === 0 ? resolve() : stopped(number)));
    worker.once('error', (error) => {
      process.emitWarning(`a busy cell cannot be interrupted: ${error.message}`);
      resolve();
    });
  });
  worker.unref();
  return {
    watching,
    heard() {
      Atomics.add(shared, HEARD, 1);
      Atomics.notify(shared, HEARD);
    },
    begin(number) {
      Atomics.store(shared, CELL, number);
      Atomics.store(shared, STATE, RUNNING);
    },
    end() {
      if (Atomics.compareExchange(shared, STATE, RUNNING, QUIET) === STOPPING) {
        while (Atomics.load(shared, STATE) === STOPPING) Atomics.wait(shared, STATE, STOPPING, 100);
      }
    },
  };
}

// Whether the main thread deals with its n-th signal soon. Both threads hear every signal.
function isHeard(shared, n) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const heard = Atomics.load(shared, HEARD);
    const left = deadline - Date.now();
    if (heard >= n) return true;
    if (left <= 0) return false;
    Atomics.wait(shared, HEARD, heard, left);
  }
}

function watch(shared) {
  let signals;
  onSigint(() => {
    if (isHeard(shared, ++signals)) return;
    if (Atomics.compareExchange(shared, STATE, RUNNING, STOPPING) !== RUNNING) return;
    const number = Atomics.load(shared, CELL);
    stopMainThread(() => {
      Atomics.store(shared, STATE, QUIET);
      Atomics.notify(shared, STATE);
      parentPort.postMessage(number);
    });
  });
  signals = Atomics.load(shared, HEARD);
  parentPort.postMessage(0);
}

function stopMainThread(done) {
  // Connected only now: a session held open would keep the process from exiting.
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.terminateExecution', () => {
    session.disconnect();
    done();
  });
}

if (isMainThread) module.exports = { onSigint, start };
else watch(workerData);
