'use strict';
// Values as mime bundles: arrays of [mime, bytes].

const { inspect, types: { isProxy } } = require('node:util');

const { ArrayBuffer, BigInt, Buffer, JSON, Number, Object, Symbol } = globalThis;

const MAX_TEXT = 1 << 20;
const MAX_PART = 16 << 20;
const MAX_BUNDLE = 48 << 20; // a frame has at most 64 MiB
const INSPECT = { depth: 5, maxArrayLength: 200, maxStringLength: 100_000, breakLength: 100 };

function cutText(value) {
  if (value.length <= MAX_TEXT) return value;
  return `${value.slice(0, MAX_TEXT)}... [${value.length} characters in all, the first ${MAX_TEXT} shown]`;
}

function plain(value) {
  if (typeof value === 'string') return cutText(value);
  try {
    return cutText(inspect(value, INSPECT));
  } catch (error) {
    let why = '';
    try {
      why = ` with ${error?.name}: ${error?.message}`;
    } catch {
      why = '';
    }
    return `[${typeof value}: showing it failed${why}]`;
  }
}

function bytes(data) {
  if (typeof data === 'string') return Buffer.from(data, 'utf8');
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  try {
    return Buffer.from(JSON.stringify(data) ?? 'null', 'utf8');
  } catch {
    return Buffer.from(plain(data), 'utf8');
  }
}

// Images and sounds come as bytes or as base64 text.
function binary(data) {
  return typeof data === 'string' ? Buffer.from(data.replace(/^data:[^,]*,/, ''), 'base64') : bytes(data);
}

function encode(mime, data) {
  const isBinary = /^(image|audio|video)\//.test(mime) && mime !== 'image/svg+xml';
  return isBinary ? binary(data) : bytes(data);
}

// Each form that fits, alone and with those before it; the text tells of those too large.
function bundle(forms) {
  const parts = [];
  const notes = [];
  let total = 0;
  for (const [mime, data] of forms) {
    const encoded = encode(mime, data);
    const size = encoded.length + 4 * mime.length + 8; // at most, in its frame
    const fits = encoded.length <= MAX_PART;
    if (fits && total + size <= MAX_BUNDLE) {
      parts.push([mime, encoded]);
      total += size;
    } else {
      const limit = fits ? `limit of all forms together is ${MAX_BUNDLE}` : `limit is ${MAX_PART}`;
      notes.push(`[${mime.slice(0, 200)} left out: ${encoded.length} bytes, the ${limit}]`);
    }
  }
  return notes.length === 0 ? parts : noted(parts, Buffer.from(notes.join('\n').slice(0, MAX_TEXT)));
}

function noted(parts, note) {
  const text = parts.find(([mime]) => mime === 'text/plain');
  if (text === undefined) return [['text/plain', note], ...parts];
  text[1] = Buffer.concat([text[1], Buffer.from('\n'), note]);
  return parts;
}

const SHORTHANDS = [
  ['html', 'text/html'], ['svg', 'image/svg+xml'], ['markdown', 'text/markdown'], ['latex', 'text/latex'],
  ['json', 'application/json'], ['image', 'image/png'], ['audio', 'audio/wav'], ['video', 'video/mp4'],
];

// What display(value) shows.
function displayed(value) {
  if (typeof value === 'string') return bundle([['text/html', value]]);
  if (value !== null && typeof value === 'object' && !isProxy(value)) {
    const own = offered(value);
    if (own) return bundle(own);
    if (typeof value.type === 'string' && value.type.includes('/') && 'data' in value) return bundle([[value.type, value.data]]);
    for (const [key, mime] of SHORTHANDS) {
      if (value[key] !== undefined) return bundle([[typeof value.mimeType === 'string' ? value.mimeType : mime, value[key]]]);
    }
  }
  return bundle([['text/plain', plain(value)]]);
}

// The forms of a value that knows its own rich forms, by the convention of Jupyter's JavaScript kernels.
function offered(value) {
  const method = value[Symbol.for('Jupyter.display')];
  if (typeof method !== 'function') return null;
  const forms = method.call(value);
  if (forms === null || typeof forms !== 'object') return null;
  return Object.entries(forms);
}

function result(value) {
  const text = ['text/plain', plain(value)];
  if (value !== null && typeof value === 'object' && !isProxy(value)) {
    try {
      return bundle([text, ...(offered(value) ?? []).filter(([mime]) => mime !== 'text/plain')]);
    } catch {
      // A rich form that fails is left out: the text is there.
    }
  }
  return bundle([text]);
}

// A value that the inspector sent by itself, because it has no identity.
function primitive(remote) {
  if (remote.type === 'undefined') return undefined;
  if (remote.unserializableValue === undefined) return remote.value;
  const written = remote.unserializableValue;
  return written.endsWith('n') ? BigInt(written.slice(0, -1)) : Number(written);
}

module.exports = { displayed, primitive, result };
