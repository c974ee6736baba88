'use strict';
// Ends JavaScript that holds the main thread when a SIGINT arrives.
//
// Node runs signal handlers on the event loop, which a busy cell never gives back. A second thread has a loop of its own:
// it hears the signal as well, waits a moment for the main thread to answer it, and otherwise has V8 stop what runs there.
// Node's own means (vm's breakOnSigint) is no choice: it puts the default action, death, in place before and after each run.

const { Worker, isMainThread, workerData } = require('node:worker_threads');

const PATIENCE_MS = 40;
const SIGINT = 2;

function start() {
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(__filename, {
    workerData: answered,
    env: {},
    execArgv: [],
    argv: [],
    // Enough for Node's own start; this thread keeps nothing.
    resourceLimits: { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 },
  });
  worker.unref();
  worker.on('error', (error) => process.emitWarning(`busy cells cannot be interrupted: ${error.message}`));
  return {
    answer() {
      Atomics.store(answered, 0, 1);
      Atomics.notify(answered, 0);
    },
  };
}

function watch(answered) {
  process.noDeprecation = true;
  const inspector = require('node:inspector');
  const { Signal } = process.binding('signal_wrap');
  const signal = new Signal();
  signal.onsignal = () => {
    if (Atomics.wait(answered, 0, 0, PATIENCE_MS) === 'timed-out') {
      // Connected only now: a session held open would keep the process from exiting.
      const session = new inspector.Session();
      session.connectToMainThread();
      session.post('Runtime.terminateExecution', () => session.disconnect());
      Atomics.wait(answered, 0, 0, 1000);
    }
    Atomics.store(answered, 0, 0);
  };
  signal.start(SIGINT);
}

if (isMainThread) module.exports = { start };
else watch(workerData);
