// Which public methods the classes of a package have, found by looking at them, and which of these the program called.
// What a method calls in its turn does not count.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const inside = new AsyncLocalStorage()
const seen = new Set()
const all = new Set()
const used = new Set()
const hidden = new Set()

/** A language without private methods at run time: what its declarations call private is not for users. */
function readDeclarations(name) {
  const text = readFileSync(require.resolve(name).replace(/\.m?js$/, '.d.ts'), 'utf8')
  for (const [, type, body] of text.matchAll(/^declare (?:abstract )?class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
    const inner = /^\s*(?:private|protected) (static )?(?:readonly )?(?:get |set )?(?:async )?(\w+)/gm
    for (const [, isStatic, member] of body.matchAll(inner)) hidden.add(`${type}${isStatic ? '.' : '#'}${member}`)
  }
}

function isClass(type) {
  return typeof type === 'function' && /^class\b/.test(Function.prototype.toString.call(type)) && !(type.name in globalThis)
}

function nameOf(type) {
  return type.name.replace(/^_/, '')
}

function watchType(type) {
  for (let one = type; isClass(one) && !(one.prototype instanceof Error); one = Object.getPrototypeOf(one)) {
    if (seen.has(one)) return
    seen.add(one)
    cover(one, one, '.')
    cover(one, one.prototype, '#')
  }
}

function cover(type, holder, dot) {
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
    if (name === 'constructor' || name === 'prototype' || name.startsWith('_') || hidden.has(`${nameOf(type)}${dot}${name}`)) continue
    const key = `${nameOf(type)}${dot}${name}`
    if (typeof property.value === 'function' && !isClass(property.value)) property.value = recorded(key, property.value)
    else if (property.get) property.get = recorded(key, property.get)
    else continue
    all.add(key)
    Object.defineProperty(holder, name, property)
  }
}

function recorded(key, original) {
  return function (...given) {
    if (inside.getStore()) return original.apply(this, given)
    used.add(key)
    const result = inside.run(true, () => original.apply(this, given))
    return result instanceof Promise ? result.then(found) : found(result)
  }
}

/** What methods give has methods too. */
function found(value) {
  if (Array.isArray(value)) value.slice(0, 5).forEach(found)
  else if (value !== null && typeof value === 'object' && isClass(value.constructor)) {
    watchType(value.constructor)
    for (const [name, part] of Object.entries(value)) {
      if (!isHidden(value.constructor, name)) found(part)
    }
  }
  return value
}

function isHidden(type, name) {
  for (let one = type; isClass(one); one = Object.getPrototypeOf(one)) if (hidden.has(`${nameOf(one)}#${name}`)) return true
  return false
}

/** Looks at every class that the packages export, and at what their methods will give. */
export async function watch(...packages) {
  for (const name of packages) readDeclarations(name)
  for (const name of packages) Object.values(await import(name)).forEach(watchType)
}

/** Public methods that the program did not call; an excuse is for one of them, `Class.*` for statics or `Class#*` for the others. */
export function uncalled(excused) {
  const isExcused = (key) => excused.has(key) || excused.has(key.replace(/([.#]).*/, '$1*'))
  return [...all].filter((key) => !used.has(key) && !isExcused(key)).sort()
}

/** Whether any class has a method of that name. */
export function has(key) {
  return all.has(key)
}
