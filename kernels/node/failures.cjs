'use strict';
// Errors as the user should see them: from their own code on, cells named <cell N>.

const { inspect, types: { isNativeError } } = require('node:util');

const { Error } = globalThis;

const MAX_TYPE = 1000;
const MAX_MESSAGE = 64 * 1024;
const MAX_STACK = 256 * 1024;

function cut(value, limit) {
  if (value.length <= limit) return value;
  const half = limit >> 1;
  return `${value.slice(0, half)}\n[... ${value.length - 2 * half} characters left out ...]\n${value.slice(-half)}`;
}

// What lies below the inspector's frame is the kernel; after an `await` its frames may stand among the cell's.
function cleanStack(stack) {
  const lines = stack.split('\n');
  const bottom = lines.findIndex((line) => /^\s+at .*\(node:inspector/.test(line));
  return (bottom < 0 ? lines : lines.slice(0, bottom))
    .filter((line) => !/^\s+at /.test(line) || !line.includes(__dirname))
    .join('\n')
    .replace(/carrel-cell-(\d+)/g, '<cell $1>');
}

function value(object, name) {
  try {
    return object[name];
  } catch {
    return undefined;
  }
}

function property(object, name) {
  const found = value(object, name);
  return typeof found === 'string' ? found : undefined;
}

// A SyntaxError knows its place only by the inspector's account of it.
function syntaxPlace(details, source, number) {
  if (!details || details.lineNumber === undefined) return '';
  const line = source.split('\n')[details.lineNumber] ?? '';
  return `<cell ${number}>:${details.lineNumber + 1}\n${line}\n${' '.repeat(details.columnNumber)}^\n`;
}

// Whatever was thrown: asking it may throw again.
function describeError(...thrown) {
  try {
    return described(...thrown);
  } catch {
    return { type: 'Error', message: '(describing it failed)', stack: 'Error: (describing it failed)' };
  }
}

function described(error, details, source, number) {
  if (!isNativeError(error) && !(error instanceof Error)) {
    let shown;
    try {
      shown = typeof error === 'string' ? error : inspect(error, { depth: 2, maxArrayLength: 50, maxStringLength: 10000 });
    } catch {
      shown = '(not printable)';
    }
    const type = error === null ? 'null' : typeof error;
    return { type, message: cut(shown, MAX_MESSAGE), stack: cut(`Uncaught ${shown}`, MAX_STACK) };
  }
  const type = (property(error, 'name') || 'Error').slice(0, MAX_TYPE);
  const message = cut(property(error, 'message') ?? '', MAX_MESSAGE);
  let stack = cleanStack(property(error, 'stack') ?? `${type}: ${message}`);
  if (type === 'SyntaxError' && source !== undefined && !/^\s+at /m.test(stack)) {
    stack = syntaxPlace(details, source, number) + stack;
  }
  const cause = value(error, 'cause');
  if (isNativeError(cause)) stack += `\nCaused by: ${cleanStack(property(cause, 'stack') ?? '')}`;
  return { type, message, stack: cut(stack, MAX_STACK) };
}

module.exports = { cleanStack, describeError };
