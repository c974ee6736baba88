// Every public method of E2B's own packages against a server, as their users call them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import https from 'node:https'
import { createRequire } from 'node:module'
import * as surface from './surface.mjs'

// Older interpreters know no address but https://PORT-SANDBOX.DOMAIN: then only the package below them is used.
const packages = process.argv[2] === 'core' ? ['e2b'] : ['e2b', '@e2b/code-interpreter']
await surface.watch(...packages)
const core = await import('e2b')
const { Sandbox } = await import(packages.at(-1))
const interprets = 'runCode' in Sandbox.prototype
const require = createRequire(import.meta.url)
const version = require('e2b/package.json').version.split('.').map(Number)
const newest = version[1] >= 50
let passed = 0

async function step(name, body) {
  try {
    await body()
    passed++
  } catch (error) {
    console.error(`FAILED ${name}: ${error?.stack ?? error}`)
    process.exitCode = 1
  }
}

async function eventually(probe, what, patience = 60_000) {
  const end = Date.now() + patience
  for (;;) {
    const found = await probe()
    if (found) return found
    if (Date.now() > end) throw new Error(`never came: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const opened = []
async function open(...options) {
  const sandbox = await Sandbox.create(...options)
  opened.push(sandbox)
  return sandbox
}

const box = await open({
  metadata: { purpose: 'a test & more', run: String(process.pid) },
  envs: { COLOUR: 'blue' },
  timeoutMs: 300_000,
})

// ---- commands

await step('run gives both streams and the code', async () => {
  const result = await box.commands.run('echo out; echo err >&2; echo $COLOUR')
  assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'out\nblue\n', 'err\n'])
})

await step('run with environment, folder and callbacks', async () => {
  await box.files.makeDir('here')
  const seen = []
  const result = await box.commands.run('pwd; echo $MINE', {
    cwd: '/home/user/here',
    envs: { MINE: 'yes' },
    onStdout: (text) => seen.push(text),
  })
  assert.match(result.stdout, /\/here\nyes\n$/)
  assert.equal(seen.join(''), result.stdout)
})

await step('commands begin at home', async () => {
  const { stdout } = await box.commands.run('pwd; echo $HOME $USER $LOGNAME; cd && pwd')
  assert.equal(stdout, '/home/user\n/home/user user user\n/home/user\n')
})

await step('a failing command is an error with its code', async () => {
  await assert.rejects(box.commands.run('exit 3'), (error) => {
    assert.equal(error.constructor.name, 'CommandExitError')
    assert.equal(error.exitCode, 3)
    return true
  })
})

await step('a folder that is not there is an invalid argument', async () => {
  await assert.rejects(box.commands.run('true', { cwd: '/no/such/folder' }), { name: 'InvalidArgumentError' })
})

await step('a user that is not there is refused', async () => {
  await assert.rejects(box.commands.run('true', { user: 'mallory' }), { name: 'AuthenticationError' })
})

await step('a command that takes too long is cut and dies', async () => {
  await assert.rejects(box.commands.run('sleep 77', { timeoutMs: 1000 }), { name: 'TimeoutError' })
  await eventually(async () => (await box.commands.list()).length === 0, 'the end of the command')
})

await step('background, list, connect, stdin, wait', async () => {
  const handle = await box.commands.run('read line; echo "got $line"', { background: true, stdin: true })
  const listed = await box.commands.list()
  assert.ok(listed.some((one) => one.pid === handle.pid && one.cmd === '/bin/bash'))
  const other = await box.commands.connect(handle.pid)
  await box.commands.sendStdin(handle.pid, 'a word\n')
  assert.equal((await handle.wait()).stdout, 'got a word\n')
  assert.equal((await other.wait()).stdout, 'got a word\n')
})

await step('dropping the stream leaves the command', async () => {
  const handle = await box.commands.run('sleep 100', { background: true })
  await handle.disconnect()
  assert.ok((await box.commands.list()).some((one) => one.pid === handle.pid))
  assert.equal(await box.commands.kill(handle.pid), true)
  await eventually(async () => !(await box.commands.list()).some((one) => one.pid === handle.pid), 'its end')
  assert.equal(await box.commands.kill(handle.pid), false)
})

await step('a handle kills its command', async () => {
  const handle = await box.commands.run('sleep 100', { background: true })
  assert.equal(await handle.kill(), true)
  await assert.rejects(handle.wait(), (error) => error.exitCode !== 0)
})

if (newest) {
  await step('closing stdin ends what reads it', async () => {
    const handle = await box.commands.run('cat; echo end', { background: true, stdin: true })
    await handle.sendStdin('bytes ')
    await handle.closeStdin()
    assert.equal((await handle.wait()).stdout, 'bytes end\n')
    assert.equal(box.commands.supportsStdinClose, true)
  })
}

await step('large output and split characters arrive whole', async () => {
  const result = await box.commands.run(`head -c 3000000 /dev/zero | tr '\\0' x; printf 'żółć✓'`)
  assert.equal(result.stdout.length, 3_000_005)
  assert.ok(result.stdout.endsWith('żółć✓'))
})

// ---- files

await step('write, read in every format, overwrite', async () => {
  const info = await box.files.write('notes/one.txt', 'first')
  assert.deepEqual([info.path, info.name], ['/home/user/notes/one.txt', 'one.txt'])
  await box.files.write('/home/user/notes/one.txt', 'second ✓')
  assert.equal(await box.files.read('notes/one.txt'), 'second ✓')
  const bytes = await box.files.read('notes/one.txt', { format: 'bytes' })
  assert.equal(Buffer.from(bytes).toString(), 'second ✓')
  const blob = await box.files.read('notes/one.txt', { format: 'blob' })
  assert.equal(await blob.text(), 'second ✓')
  let streamed = ''
  for await (const piece of await box.files.read('notes/one.txt', { format: 'stream' })) {
    streamed += Buffer.from(piece).toString('latin1')
  }
  assert.equal(Buffer.from(streamed, 'latin1').toString(), 'second ✓')
  assert.equal((await box.commands.run('cat /home/user/notes/one.txt')).stdout, 'second ✓')
})

await step('empty files, blobs, buffers and streams', async () => {
  await box.files.write('empty', '')
  assert.equal(await box.files.read('empty'), '')
  await box.files.write('blob', new Blob(['from a blob']))
  assert.equal(await box.files.read('blob'), 'from a blob')
  await box.files.write('buffer', new Uint8Array([0, 255, 13, 10, 45, 45]).buffer)
  assert.deepEqual([...(await box.files.read('buffer', { format: 'bytes' }))], [0, 255, 13, 10, 45, 45])
  await box.files.write('stream', new Blob(['from a stream']).stream())
  assert.equal(await box.files.read('stream'), 'from a stream')
})

await step('several files at once keep their folders', async () => {
  const written = await box.files.write([
    { path: 'many/a.txt', data: 'A' },
    { path: '/home/user/many/deep/b.txt', data: 'B' },
  ])
  assert.deepEqual(
    written.map((one) => one.path),
    ['/home/user/many/a.txt', '/home/user/many/deep/b.txt'],
  )
  assert.equal(await box.files.read('many/deep/b.txt'), 'B')
})

if (newest) {
  await step('writeFiles, gzip and octet streams', async () => {
    const text = 'again and '.repeat(10_000)
    await box.files.writeFiles([{ path: 'packed', data: text }], { gzip: true })
    assert.equal(await box.files.read('packed', { gzip: true }), text)
    await box.files.write('plain', text, { useOctetStream: true })
    assert.equal(await box.files.read('plain'), text)
  })
}

if (newest) {
  await step('metadata of files', async () => {
    const metadata = { colour: 'blue', owner: 'me = you' }
    const info = await box.files.write('tags/one.txt', 'tagged', { metadata: { Colour: 'blue', owner: 'me = you' } })
    assert.deepEqual(info.metadata, metadata)
    assert.deepEqual((await box.files.getInfo('tags/one.txt')).metadata, metadata)
    assert.deepEqual((await box.files.list('tags')).map((one) => one.metadata), [metadata])
    const inside = await box.commands.run(`python3 -c "import os; print(os.getxattr('tags/one.txt', 'user.e2b.colour'))"`)
    assert.equal(inside.stdout.trim(), "b'blue'")
    assert.deepEqual((await box.files.rename('tags/one.txt', 'tags/two.txt')).metadata, metadata)
    await box.files.write('tags/two.txt', 'another')
    assert.equal((await box.files.getInfo('tags/two.txt')).metadata, undefined)
    await assert.rejects(box.files.write('tags/big', 'x', { metadata: { k: 'v'.repeat(5000) } }), /4096/)
  })
}

await step('what is not there', async () => {
  await assert.rejects(box.files.read('nowhere'), (error) => /NotFound/.test(error.constructor.name))
  assert.equal(await box.files.exists('nowhere'), false)
  assert.equal(await box.files.exists('notes/one.txt'), true)
  await assert.rejects(box.files.getInfo('nowhere'), (error) => /NotFound/.test(error.constructor.name))
  await assert.rejects(box.files.list('nowhere'), (error) => /NotFound/.test(error.constructor.name))
})

await step('list, depth, info', async () => {
  const flat = await box.files.list('many')
  assert.deepEqual(flat.map((one) => [one.name, one.type]), [['a.txt', 'file'], ['deep', 'dir']])
  const deep = await box.files.list('/home/user/many', { depth: 2 })
  assert.ok(deep.some((one) => one.path === '/home/user/many/deep/b.txt'))
  const info = await box.files.getInfo('many/a.txt')
  assert.deepEqual([info.size, info.permissions, info.mode & 0o777, info.owner], [1, '-rw-r--r--', 0o644, 'user'])
  assert.ok(Math.abs(Date.now() - new Date(info.modifiedTime).getTime()) < 3_600_000)
  await box.commands.run('ln -s a.txt many/link')
  assert.ok((await box.files.getInfo('many/link')).symlinkTarget.endsWith('a.txt'))
})

await step('folders are made once', async () => {
  assert.equal(await box.files.makeDir('fresh/inside'), true)
  assert.equal(await box.files.makeDir('fresh/inside'), false)
})

await step('rename and remove', async () => {
  await box.files.write('old.txt', 'moved')
  const moved = await box.files.rename('old.txt', 'elsewhere/new.txt')
  assert.equal(moved.path, '/home/user/elsewhere/new.txt')
  assert.equal(await box.files.read('elsewhere/new.txt'), 'moved')
  assert.equal(await box.files.exists('old.txt'), false)
  await box.files.remove('elsewhere')
  assert.equal(await box.files.exists('elsewhere'), false)
  await assert.rejects(box.files.rename('nowhere', 'x'), (error) => /NotFound/.test(error.constructor.name))
})

await step('watching a folder', async () => {
  await box.files.makeDir('watched/below')
  const seen = []
  const watch = await box.files.watchDir('watched', (event) => void seen.push(`${event.type} ${event.name}`), {
    recursive: true,
  })
  await box.files.write('watched/a.txt', 'x')
  await box.files.write('watched/below/b.txt', 'x')
  await eventually(() => seen.some((one) => one.endsWith('below/b.txt')), 'the change below')
  await box.files.remove('watched/a.txt')
  await eventually(() => seen.includes('remove a.txt'), 'the removal')
  await watch.stop()
  await assert.rejects(box.files.watchDir('nowhere', () => {}), (error) => /NotFound/.test(error.constructor.name))
})

await step('signed links need no header', async () => {
  await box.files.write('linked.txt', 'by link')
  const down = await box.downloadUrl('linked.txt', { useSignatureExpiration: 600 })
  const answer = await fetch(down)
  assert.deepEqual([answer.status, await answer.text()], [200, 'by link'])
  const broken = await fetch(down.replace(/signature=v1_..../, 'signature=v1_AAAA'))
  assert.equal(broken.status, 401)
  const form = new FormData()
  form.append('file', new Blob(['sent by link']), 'up.txt')
  const up = await fetch(await box.uploadUrl('up.txt', { useSignatureExpiration: 600 }), { method: 'POST', body: form })
  assert.equal(up.status, 200)
  assert.equal(await box.files.read('up.txt'), 'sent by link')
})

// ---- terminals

await step('a terminal: input, size, connect, kill', async () => {
  let text = ''
  const gather = (bytes) => void (text += Buffer.from(bytes).toString())
  const terminal = await box.pty.create({ cols: 90, rows: 20, onData: gather, envs: { HERE: 'inside' } })
  const type = (line) => box.pty.sendInput(terminal.pid, new TextEncoder().encode(line))
  await type('echo $HERE-$(tput cols)\n')
  await eventually(() => text.includes('inside-90'), 'the answer')
  await box.pty.resize(terminal.pid, { cols: 120, rows: 30 })
  await type('echo size-$(tput cols)\n')
  await eventually(() => text.includes('size-120'), 'the new size')
  if (box.pty.connect) {
    let again = ''
    const other = await box.pty.connect(terminal.pid, { onData: (bytes) => void (again += Buffer.from(bytes).toString()) })
    await type('echo both-$((40+2))\n')
    await eventually(() => again.includes('both-42'), 'what the second sees')
    await other.disconnect()
  }
  assert.equal(await box.pty.kill(terminal.pid), true)
  await assert.rejects(terminal.wait())
  assert.equal(await box.pty.kill(terminal.pid), false)
})

// ---- code

if (interprets) {
  await step('state is kept between cells, and streams are told apart', async () => {
    await box.runCode('x = 40')
    const out = []
    const execution = await box.runCode('import sys\nprint("hello ✓")\nprint("oops", file=sys.stderr)\nx + 2', {
      onStdout: (message) => void out.push(message.line),
    })
    assert.equal(execution.text, '42')
    assert.deepEqual([execution.logs.stdout.join(''), execution.logs.stderr.join('')], ['hello ✓\n', 'oops\n'])
    assert.equal(out.join(''), 'hello ✓\n')
    assert.equal(execution.error, undefined)
  })

  await step('strings without quotes, errors with traceback', async () => {
    assert.equal((await box.runCode('"a word"')).text, 'a word')
    let told
    const failed = await box.runCode('1/0', { onError: (error) => void (told = error) })
    assert.equal(failed.error.name, 'ZeroDivisionError')
    assert.match(failed.error.traceback, /ZeroDivisionError/)
    assert.equal(told.name, 'ZeroDivisionError')
  })

  await step('environment of the sandbox and of one cell', async () => {
    const code = 'import os; [os.environ.get("COLOUR"), os.environ.get("ONCE")]'
    assert.equal((await box.runCode(code, { envs: { ONCE: 'now' } })).text, "['blue', 'now']")
    assert.equal((await box.runCode(code)).text, "['blue', None]")
  })

  await step('contexts of their own', async () => {
    const context = await box.createCodeContext({ language: 'python', cwd: '/home/user/many' })
    assert.equal(context.language, 'python')
    await box.runCode('y = 7', { context })
    assert.equal((await box.runCode('y', { context })).text, '7')
    assert.match((await box.runCode('import os; os.getcwd()', { context })).text, /many$/)
    assert.equal((await box.runCode('y')).error.name, 'NameError')
    if (box.listCodeContexts) {
      assert.ok((await box.listCodeContexts()).some((one) => one.id === context.id))
      await box.restartCodeContext(context)
      assert.equal((await box.runCode('y', { context })).error.name, 'NameError')
      await box.removeCodeContext(context)
      assert.ok(!(await box.listCodeContexts()).some((one) => one.id === context.id))
    }
  })

  await step('javascript and bash', async () => {
    assert.equal((await box.runCode('const a = 20; a + 1', { language: 'javascript' })).text, '21')
    assert.equal((await box.runCode('echo from bash', { language: 'bash' })).logs.stdout.join(''), 'from bash\n')
  })

  await step('a cell that takes too long is interrupted, and the next one runs', async () => {
    await assert.rejects(box.runCode('import time\nwhile True: time.sleep(0.1)', { timeoutMs: 1500 }))
    assert.equal((await box.runCode('x')).text, '40')
  })

  await step('rich results, tables as data, charts', async () => {
    const shown = await box.runCode('from IPython.display import display, HTML\ndisplay(HTML("<b>1</b>"))')
    assert.equal(shown.results[0].html, '<b>1</b>')
    const frame = await box.runCode('import pandas as pd\npd.DataFrame({"a": [1, 2], "b": ["x", "y"]})')
    assert.deepEqual(frame.results[0].data, { a: [1, 2], b: ['x', 'y'] })
    assert.match(frame.results[0].html, /<table/)
    const chart = await box.runCode(
      'import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [4, 5, 6], label="line")\nplt.xlabel("time (s)")\nplt.title("Growth")\nplt.show()',
    )
    const result = chart.results.find((one) => one.png)
    assert.ok(Buffer.from(result.png, 'base64').subarray(1, 4).toString() === 'PNG')
    assert.equal(result.chart.type, 'line')
    assert.equal(result.chart.title, 'Growth')
    assert.deepEqual(result.chart.elements[0].points, [[1, 4], [2, 5], [3, 6]])
  })
}

// ---- life

await step('info, list by metadata, pages', async () => {
  const info = await box.getInfo()
  assert.deepEqual([info.sandboxId, info.templateId], [box.sandboxId, interprets ? 'code-interpreter-v1' : 'base'])
  assert.deepEqual(info.metadata, { purpose: 'a test & more', run: String(process.pid) })
  assert.equal((await Sandbox.getInfo(box.sandboxId)).sandboxId, box.sandboxId)
  const query = { metadata: { run: String(process.pid), purpose: 'a test & more' }, state: ['running'] }
  const found = await Sandbox.list({ query }).nextItems()
  assert.deepEqual(found.map((one) => one.sandboxId), [box.sandboxId])
  assert.equal((await Sandbox.list({ query: { metadata: { run: 'none' } } }).nextItems()).length, 0)
  const pages = []
  await open({ metadata: { paged: String(process.pid) } })
  await open({ metadata: { paged: String(process.pid) } })
  const list = Sandbox.list({ query: { metadata: { paged: String(process.pid) } }, limit: 1 })
  pages.push(...(await list.nextItems()))
  assert.ok(list.nextToken)
  while (list.hasNext) pages.push(...(await list.nextItems()))
  assert.equal(new Set(pages.map((one) => one.sandboxId)).size, 2)
})

await step('time can be given', async () => {
  await box.setTimeout(600_000)
  const end = new Date((await box.getInfo()).endAt).getTime()
  assert.ok(end - Date.now() > 500_000 && end - Date.now() <= 610_000)
  await Sandbox.setTimeout(box.sandboxId, 300_000)
})

await step('one whose time is over is gone', async () => {
  const brief = await open({ timeoutMs: 1000 })
  await eventually(async () => !(await brief.isRunning()), 'the end of its time')
  await assert.rejects(brief.getInfo(), (error) => /NotFound/.test(error.constructor.name))
})

await step('measurements', async () => {
  const [sample] = await box.getMetrics()
  assert.ok(sample.memUsed > 0 && sample.memTotal > sample.memUsed && sample.cpuCount >= 1)
  if (newest) assert.equal((await box.getMetrics({ start: new Date(0), end: new Date(1000) })).length, 0)
})

await step('pause keeps memory, connect goes on', async () => {
  const paused = await open({ timeoutMs: 300_000 })
  const handle = await paused.commands.run('sleep 200', { background: true })
  await handle.disconnect()
  if (interprets) await paused.runCode('kept = 5')
  await (paused.pause ? paused.pause() : paused.betaPause())
  assert.equal(await paused.isRunning(), false)
  assert.equal((await paused.getInfo()).state, 'paused')
  const again = await Sandbox.connect(paused.sandboxId)
  assert.equal(await again.isRunning(), true)
  assert.ok((await again.commands.list()).some((one) => one.pid === handle.pid))
  if (interprets) assert.equal((await again.runCode('kept')).text, '5')
  await again.connect()
})

if (newest) {
  await step('pause without memory keeps files', async () => {
    const paused = await open({ timeoutMs: 300_000 })
    await paused.files.write('kept.txt', 'kept')
    assert.equal(await paused.pause({ keepMemory: false }), true)
    const again = await paused.connect()
    assert.equal(await again.files.read('kept.txt'), 'kept')
  })

  await step('snapshots and forks', async () => {
    await box.files.write('state.txt', 'of then')
    const snapshot = await box.createSnapshot()
    await box.files.write('state.txt', 'of now')
    const old = await open(snapshot.snapshotId)
    assert.equal(await old.files.read('state.txt'), 'of then')
    assert.ok((await box.listSnapshots().nextItems()).some((one) => one.snapshotId === snapshot.snapshotId))
    assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), false)
    const forks = await box.fork({ count: 2 })
    opened.push(...forks)
    for (const fork of forks) assert.equal(await fork.files.read('state.txt'), 'of now')
  })

  await step('the network can be changed', async () => {
    await box.updateNetwork({ allowOut: ['docs.example'] })
    await box.updateNetwork({ denyOut: ['0.0.0.0/0'], allowOut: [] })
  })

  await step('git works on its commands', async () => {
    const { git } = box
    const repo = '/home/user/repo'
    await git.configureUser('Ada', 'ada@example.com')
    await git.setConfig('init.defaultBranch', 'main')
    assert.equal(await git.getConfig('user.name'), 'Ada')
    await git.init('/home/user/remote.git', { bare: true, initialBranch: 'main' })
    await git.init(repo, { initialBranch: 'main' })
    await box.files.write('repo/a.txt', 'a')
    assert.ok((await git.status(repo)).fileStatus.some((one) => one.name === 'a.txt'))
    await git.add(repo)
    await git.commit(repo, 'First')
    await git.remoteAdd(repo, 'origin', '/home/user/remote.git')
    assert.equal(await git.remoteGet(repo, 'origin'), '/home/user/remote.git')
    await git.push(repo, { remote: 'origin', branch: 'main', setUpstream: true })
    await git.clone('/home/user/remote.git', { path: '/home/user/copy' })
    assert.equal(await box.files.read('copy/a.txt'), 'a')
    await box.files.write('repo/a.txt', 'b')
    await git.add(repo)
    await git.commit(repo, 'Second')
    await git.push(repo)
    await git.pull('/home/user/copy')
    assert.equal(await box.files.read('copy/a.txt'), 'b')
    await git.createBranch(repo, 'other')
    await git.checkoutBranch(repo, 'main')
    assert.deepEqual((await git.branches(repo)).branches.sort(), ['main', 'other'])
    await git.deleteBranch(repo, 'other', { force: true })
    await box.files.write('repo/a.txt', 'spoilt')
    await git.restore(repo, { paths: ['a.txt'] })
    assert.equal(await box.files.read('repo/a.txt'), 'b')
    await git.reset(repo, { mode: 'hard', target: 'HEAD~1' })
    assert.equal(await box.files.read('repo/a.txt'), 'a')
    await git.dangerouslyAuthenticate({ username: 'ada', password: 'secret', host: 'git.example', protocol: 'https' })
    assert.match(await box.files.read('/home/user/.git-credentials'), /git\.example/)
  })
}

await step('without an object in hand', async () => {
  const id = box.sandboxId
  assert.equal((await Sandbox.getFullInfo(id)).sandboxId, id)
  assert.ok((await Sandbox.getMetrics(id))[0].memTotal > 0)
  const other = await (Sandbox.betaCreate ? Sandbox.betaCreate({ autoPause: true }) : open())
  if (!opened.includes(other)) opened.push(other)
  await Sandbox.betaPause(other.sandboxId)
  assert.equal((await other.getInfo()).state, 'paused')
  await other.connect()
  await other.betaPause()
  assert.equal((await other.getInfo()).state, 'paused')
  await other.connect()
  if (!newest) return
  assert.equal(await Sandbox.pause(other.sandboxId), true)
  assert.equal(await Sandbox.pause(other.sandboxId), false)
  await other.connect()
  await Sandbox.updateNetwork(other.sandboxId, { allowOut: ['docs.example'] })
  const named = await Sandbox.createSnapshot(other.sandboxId, { name: 'by-id' })
  const mine = Sandbox.listSnapshots({ sandboxId: other.sandboxId })
  assert.equal(mine.hasNext, true)
  assert.deepEqual((await mine.nextItems()).map((one) => one.snapshotId), [named.snapshotId])
  assert.deepEqual([mine.hasNext, mine.nextToken], [false, undefined])
  assert.equal(await Sandbox.deleteSnapshot(named.snapshotId), true)
  const [fork] = await Sandbox.fork(other.sandboxId)
  opened.push(fork)
  assert.equal(await fork.isRunning(), true)
})

await step('what a handle knows when its command has ended', async () => {
  const handle = await box.commands.run('echo out; echo err >&2; read line; exit 4', { background: true, stdin: true })
  await (newest ? box.commands.closeStdin(handle.pid) : box.commands.sendStdin(handle.pid, '\n'))
  await assert.rejects(handle.wait(), { exitCode: 4 })
  assert.deepEqual([handle.exitCode, handle.stdout, handle.stderr], [4, 'out\n', 'err\n'])
  assert.match(handle.error, /exit status 4/)
})

if (interprets) {
  await step('executions and results can be written down', async () => {
    const code = 'from IPython.display import HTML\nprint("a line")\nHTML("<b>1</b>")'
    const execution = await box.runCode(code)
    const json = JSON.parse(JSON.stringify(execution.toJSON()))
    assert.deepEqual(json.logs.stdout, ['a line\n'])
    const [result] = execution.results
    assert.deepEqual(result.formats(), ['html'])
    assert.equal(result.toJSON().html, '<b>1</b>')
  })
}

await step('hosts', async () => {
  assert.match(box.getHost(3000), new RegExp(`^3000-${box.sandboxId}\\.`))
})

if (process.env.E2B_DOMAIN) {
  await step('what listens on a port is reached by its host, with a token', async () => {
    await box.files.write('site/page', 'here')
    const server = await box.commands.run('exec python3 -m http.server -d site 3000', { background: true })
    const page = `https://${box.getHost(3000)}/page`
    const headers = { 'e2b-traffic-access-token': box.trafficAccessToken }
    await eventually(async () => (await fetch(page, { headers })).ok, 'the page')
    assert.equal(await (await fetch(page, { headers })).text(), 'here')
    assert.ok((await fetch(page)).status >= 400)
    await server.kill()
  })

  await step('a foreign name in the request is refused', async () => {
    const [host, port] = `api.${process.env.E2B_DOMAIN}`.split(':')
    const ask = (name) =>
      new Promise((resolve, reject) => {
        const options = { host, port, path: '/health', servername: host, headers: { Host: name } }
        https.get(options, (answer) => resolve(answer.resume().statusCode)).on('error', reject)
      })
    assert.equal(await ask(`${host}:${port}`), 200)
    assert.equal(await ask('evil.example'), 403)
    assert.equal(await ask(`api.boxes.test.evil.example:${port}`), 403)
  })
}

await step('a kill in the middle of a command is seen as one', async () => {
  const victim = await open({ timeoutMs: 300_000 })
  const handle = await victim.commands.run('sleep 300', { background: true })
  const end = assert.rejects(handle.wait())
  assert.equal((await victim.kill()) ?? true, true)
  await end
  assert.equal(await victim.isRunning(), false)
  await assert.rejects(victim.commands.run('true'), (error) => error instanceof core.SandboxError || error instanceof Error)
  assert.equal(await Sandbox.kill(victim.sandboxId), false)
})

await step('a wrong key is refused', async () => {
  await assert.rejects(Sandbox.create({ apiKey: `e2b_${'0'.repeat(40)}` }), { name: 'AuthenticationError' })
})

// ---- what there is only in E2B's cloud

const { refused, local } = JSON.parse(readFileSync(new URL('./e2b-not-offered.json', import.meta.url)))
const { Secret, TemplateBase, Volume } = core
const template = TemplateBase && new TemplateBase().fromImage('debian')
const refusals = {
  'Sandbox#getMcpToken': [() => box.getMcpToken(), /no user 'root' in a sandbox/],
  'TemplateBase.build': [() => TemplateBase.build(template, newest ? 'mine' : { alias: 'mine' }), /carrel images/],
  'TemplateBase.buildInBackground': [
    () => TemplateBase.buildInBackground(template, newest ? 'mine' : { alias: 'mine' }),
    /carrel images/,
  ],
  'TemplateBase.getBuildStatus': [
    () => TemplateBase.getBuildStatus({ templateId: 'mine', buildId: 'one' }, { logsOffset: 0 }),
    /carrel images/,
  ],
  'TemplateBase.exists': [() => TemplateBase.exists('mine'), /carrel images/],
  'TemplateBase.aliasExists': [() => TemplateBase.aliasExists('mine'), /carrel images/],
  'TemplateBase.assignTags': [() => TemplateBase.assignTags('mine:one', 'two'), /carrel images/],
  'TemplateBase.removeTags': [() => TemplateBase.removeTags('mine', 'two'), /carrel images/],
  'TemplateBase.getTags': [() => TemplateBase.getTags('mine'), /carrel images/],
  'Volume.create': [() => Volume.create('mine'), /carrel volume\)/],
  'Volume.connect': [() => Volume.connect('mine'), /carrel volume\)/],
  'Volume.getInfo': [() => Volume.getInfo('mine'), /carrel volume\)/],
  'Volume.list': [() => Volume.list(), /carrel volume\)/],
  'Volume.destroy': [() => Volume.destroy('mine'), /carrel volume\)/],
  'Secret.create': [() => Secret.create({ name: 'mine', value: 'secret' }), /carrel vault\)/],
  'Secret.update': [() => Secret.update('mine', { value: 'secret' }), /carrel vault\)/],
  'Secret.getInfo': [() => Secret.getInfo('mine'), /carrel vault\)/],
  'Secret.exists': [() => Secret.exists('mine'), /carrel vault\)/],
  'Secret.destroy': [() => Secret.destroy('mine'), /carrel vault\)/],
  'SecretPaginator#nextItems': [() => Secret.list().nextItems(), /carrel vault\)/],
}

await step('what is not offered says so', async () => {
  assert.deepEqual(Object.keys(refusals), Object.keys(refused))
  for (const [method, [call, message]] of Object.entries(refusals)) {
    if (surface.has(method)) await assert.rejects(call(), { message }, method)
  }
  assert.match(box.getMcpUrl(), /^https?:/)
})

await step('every public method was called', () => {
  assert.deepEqual(surface.uncalled(new Set([...Object.keys(refused), ...Object.keys(local)])), [])
})

for (const one of opened) await Sandbox.kill(one.sandboxId)
console.log(`${passed} passed with e2b ${version.join('.')}`)
// Older packages leave timers behind that would keep the program for a minute.
process.exit()
