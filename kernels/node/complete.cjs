'use strict';
// Completion of names and properties. The expression before the dot is evaluated only as far as it has no side effects.

const { Buffer, Set, String } = globalThis;
const MAX_WORDS = 200;
const PROPERTIES = `function () {
  const names = new Set();
  for (let object = Object(this); object !== null && names.size < 5000; object = Object.getPrototypeOf(object)) {
    for (const name of Object.getOwnPropertyNames(object)) names.add(name);
  }
  return [...names].join('\\n');
}`;

// In a box without a prototype, like every value of a promise here: code may have given objects a `then`.
async function namesOf(post, expression) {
  const { answer } = await post('Runtime.evaluate', { expression, throwOnSideEffect: true, silent: true, objectGroup: 'complete' });
  if (answer.exceptionDetails) return { __proto__: null, names: [] };
  const remote = answer.result;
  const call = { functionDeclaration: PROPERTIES, returnByValue: true, silent: true };
  if (remote.objectId === undefined) {
    const { answer: boxed } = await post('Runtime.evaluate', { expression: `Object(${expression})`, throwOnSideEffect: true, objectGroup: 'complete' });
    if (boxed.exceptionDetails || boxed.result.objectId === undefined) return { __proto__: null, names: [] };
    remote.objectId = boxed.result.objectId;
  }
  const { answer: names } = await post('Runtime.callFunctionOn', { ...call, objectId: remote.objectId });
  await post('Runtime.releaseObjectGroup', { objectGroup: 'complete' });
  return { __proto__: null, names: String(names.result.value ?? '').split('\n') };
}

// { found: { start, end, words } } for the name that ends at the byte `cursor`.
async function matches(post, code, cursor) {
  const before = code.subarray(0, cursor).toString('utf8');
  const word = /[\w$.\u0080-\uffff]*$/.exec(before)[0];
  const dot = word.lastIndexOf('.');
  const stem = word.slice(dot + 1);
  let names;
  if (dot > 0) {
    names = (await namesOf(post, word.slice(0, dot))).names;
  } else {
    const { answer: lexical } = await post('Runtime.globalLexicalScopeNames', {});
    names = [...lexical.names, ...(await namesOf(post, 'globalThis')).names];
  }
  const words = [...new Set(names)].filter((name) => name.startsWith(stem) && /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name));
  const found = { start: cursor - Buffer.byteLength(stem), end: cursor, words: words.sort().slice(0, MAX_WORDS) };
  return { __proto__: null, found };
}

module.exports = { matches };
