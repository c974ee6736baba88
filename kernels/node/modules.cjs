'use strict';
// `import` in cells. V8 has static imports only in modules, and its REPL mode gives import() no way to ask Node. Both are
// found with a parser (the one inside Node) and become calls of load().

const { Array, JSON, Object, process } = globalThis;
const path = require('node:path');
const vm = require('node:vm');

const LOAD = 'globalThis[Symbol.for("carrel.import")]';
let acorn = null;
let importer = { from: null, load: null };

function parser() {
  if (acorn === null) {
    const warned = process.noDeprecation;
    process.noDeprecation = true;
    const source = process.binding('natives')['internal/deps/acorn/acorn/dist/acorn'];
    process.noDeprecation = warned;
    const module = { exports: {} };
    vm.runInThisContext(`(function (module, exports) {${source}\n})`)(module, module.exports);
    acorn = module.exports;
  }
  return acorn;
}

function parse(source) {
  for (const sourceType of ['module', 'script']) {
    try {
      return parser().parse(source, {
        ecmaVersion: 'latest', sourceType, allowAwaitOutsideFunction: true, allowHashBang: true,
      });
    } catch {
      continue; // V8 will say what is wrong, or knows a syntax that is newer than the parser
    }
  }
  return null;
}

// The cell with every import as a call; lines stay where they are.
function rewrite(source) {
  const tree = parse(source);
  if (tree === null) return source;
  const edits = [];
  visit(tree, (node) => edit(node, source, edits));
  edits.sort((a, b) => b.start - a.start);
  let text = source;
  for (const { start, end, replacement } of edits) {
    const lines = source.slice(start, end).split('\n').length - 1;
    text = text.slice(0, start) + replacement + '\n'.repeat(lines) + text.slice(end);
  }
  return text;
}

function visit(node, look) {
  look(node);
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) {
      for (const item of child) if (item && typeof item.type === 'string') visit(item, look);
    } else if (child && typeof child.type === 'string') {
      visit(child, look);
    }
  }
}

function edit(node, source, edits) {
  switch (node.type) {
    case 'ImportExpression':
      edits.push({ start: node.start, end: node.start + 'import'.length, replacement: LOAD });
      break;
    case 'MetaProperty':
      if (node.meta.name === 'import') edits.push({ start: node.start, end: node.end, replacement: `${LOAD}("", "meta")` });
      break;
    case 'ImportDeclaration':
      edits.push({ start: node.start, end: node.end, replacement: declaration(node, source) });
      break;
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      edits.push({ start: node.start, end: node.declaration ? node.declaration.start : node.end, replacement: '' });
      break;
    default:
      break;
  }
}

function declaration(node, source) {
  const name = (part) => (part.type === 'Literal' ? part.value : part.name);
  const named = [];
  let whole = null;
  for (const specifier of node.specifiers) {
    if (specifier.type === 'ImportNamespaceSpecifier') whole = specifier.local.name;
    else if (specifier.type === 'ImportDefaultSpecifier') named.push(['default', specifier.local.name]);
    else named.push([name(specifier.imported), specifier.local.name]);
  }
  const options = node.attributes?.length
    ? `{with: {${node.attributes.map((a) => `${JSON.stringify(name(a.key))}: ${JSON.stringify(a.value.value)}`)}}}`
    : 'undefined';
  const wanted = JSON.stringify(named.map(([imported]) => imported));
  const call = `await ${LOAD}(${source.slice(node.source.start, node.source.end)}, ${options}, ${wanted})`;
  const pattern = `{${named.map(([imported, local]) => `${JSON.stringify(imported)}: ${local}`).join(', ')}}`;
  if (whole) return `const ${whole} = ${call}${named.length ? `, ${pattern} = ${whole}` : ''};`;
  return named.length ? `const ${pattern} = ${call};` : `${call};`;
}

function importerFrom(folder) {
  const load = new vm.Script('(specifier, options) => import(specifier, options)', {
    filename: path.join(folder, 'cell.mjs'),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext();
  return (...request) => {
    const emitWarning = process.emitWarning;
    process.emitWarning = () => {}; // "experimental" is the option above, not the user's import
    try {
      return load(...request);
    } finally {
      process.emitWarning = emitWarning;
    }
  };
}

// Imports as a module in the working directory would.
function load(specifier, options, wanted) {
  const from = process.cwd();
  if (options === 'meta') {
    const { pathToFileURL } = require('node:url');
    return { url: pathToFileURL(path.join(from, 'cell.mjs')).href, dirname: from, filename: path.join(from, 'cell.mjs') };
  }
  if (importer.from !== from) importer = { from, load: importerFrom(from) };
  const loaded = importer.load(specifier, options);
  if (!wanted?.length) return loaded;
  return loaded.then((namespace) => {
    for (const name of wanted) {
      if (!(name in namespace)) {
        throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
      }
    }
    return namespace;
  });
}

module.exports = { load, rewrite };
