'use strict';
// Values as mime bundles: arrays of [mime, bytes].

const util = require('node:util');

const MAX_TEXT = 1 << 20;
const MAX_PART = 16 << 20;
const INSPECT = { depth: 5, maxArrayLength: 200, maxStringLength: 100_000, breakLength: 100 };

function cutText(value) {
  if (value.length <= MAX_TEXT) return value;
  return `${value.slice(0, MAX_TEXT)}... [${value.length} characters in all, the first ${MAX_TEXT} shown]`;
}

function plain(value) {
  if (typeof value === 'string') return cutText(value);
  try {
    return cutText(util.inspect(value, INSPECT));
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

function part(mime, data) {
  const isBinary = /^(image|audio|video)\//.test(mime) && mime !== 'image/svg+xml';
  const encoded = isBinary ? binary(data) : bytes(data);
  if (encoded.length <= MAX_PART) return [mime, encoded];
  return ['text/plain', Buffer.from(`[${mime} left out: ${encoded.length} bytes, the limit is ${MAX_PART}]`)];
}

const SHORTHANDS = [
  ['html', 'text/html'], ['svg', 'image/svg+xml'], ['markdown', 'text/markdown'], ['latex', 'text/latex'],
  ['json', 'application/json'], ['image', 'image/png'], ['audio', 'audio/wav'], ['video', 'video/mp4'],
];

// What display(value) shows.
function displayed(value) {
  if (typeof value === 'string') return [part('text/html', value)];
  if (value !== null && typeof value === 'object' && !util.types.isProxy(value)) {
    const own = offered(value);
    if (own) return own;
    if (typeof value.type === 'string' && value.type.includes('/') && 'data' in value) return [part(value.type, value.data)];
    for (const [key, mime] of SHORTHANDS) {
      if (value[key] !== undefined) return [part(typeof value.mimeType === 'string' ? value.mimeType : mime, value[key])];
    }
  }
  return [part('text/plain', plain(value))];
}

// The bundle of a value that knows its own rich forms, by the convention of Jupyter's JavaScript kernels.
function offered(value) {
  const method = value[Symbol.for('Jupyter.display')];
  if (typeof method !== 'function') return null;
  const forms = method.call(value);
  if (forms === null || typeof forms !== 'object') return null;
  return Object.entries(forms).map(([mime, data]) => part(mime, data));
}

function result(value) {
  const bundle = [part('text/plain', plain(value))];
  if (value !== null && typeof value === 'object' && !util.types.isProxy(value)) {
    try {
      for (const form of offered(value) ?? []) if (form[0] !== 'text/plain') bundle.push(form);
    } catch {
      return bundle; // a rich form that fails is left out: the text is there
    }
  }
  return bundle;
}

// A value that the inspector sent by itself, because it has no identity.
function primitive(remote) {
  if (remote.type === 'undefined') return undefined;
  if (remote.unserializableValue === undefined) return remote.value;
  const written = remote.unserializableValue;
  return written.endsWith('n') ? BigInt(written.slice(0, -1)) : Number(written);
}

module.exports = { displayed, primitive, result };
