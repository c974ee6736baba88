import os
import random
import select
import time

from bindings import Bindings
from driver import Died, Kernel, KernelCase


class NodeKernel(Bindings, KernelCase):
    language = "node"

    def own(self, name):
        return "process.stdout.write(process.env['%s']); undefined" % name

    def of_child(self):
        return "require('child_process').execSync('env -0 > child'); undefined"

    def test_few_descriptors_are_enough(self):
        for files in (64, 256):
            self.assertEqual(self.answers_with(files, "1 + 1"), "2")

    # ---- values

    # ---- what code may break

    def test_prototypes_that_code_breaks_are_its_own_loss(self):
        for broken in (
            "Array.prototype.push = Array.prototype.includes = Array.prototype[Symbol.iterator] = null",
            "Promise.prototype.then = () => {}; Promise.prototype.catch = null",
            "Buffer.concat = Buffer.from = Buffer.prototype.readUInt32LE = Buffer.prototype.toString = null",
            "RegExp.prototype.test = null",
        ):
            with self.subTest(broken), Kernel("node") as kernel:
                kernel.run("var x = 41")
                kernel.run(broken + "; 0")
                self.assertEqual(kernel.run("if (x !== 41) throw x").status, "ok")
                self.assertEqual(kernel.run("throw 1").status, "error")
                self.assertTrue(kernel.ping().pong)

    def test_a_then_of_all_objects_keeps_no_later_cell(self):
        given = "Object.prototype.then = function (resolve) { if (this.answer) resolve(this.answer); }"
        with Kernel("node") as kernel:
            # Node 20 waits for it at the end of this very cell.
            kernel.run(given + "; console.log('go')", interrupt_on=b"go")
            self.assertEqual(kernel.run("41 + 1").text, "42")
            self.assertEqual(kernel.run("await { answer: 'its own' }").text, "its own")
            self.assertEqual(kernel.run("await null; ({ a: 1 })").text, "{ a: 1 }")
            self.assertEqual(kernel.run("throw 1").status, "error")
            self.assertIn("process", kernel.complete("proc")[2])
            kernel.run("delete Object.prototype.then; var plain = { b: 2 }")
            self.assertEqual(kernel.run("await plain").text, "{ b: 2 }")

    def test_what_leaves_nothing_to_go_on_with_ends_the_context(self):
        with Kernel("node") as kernel:
            with self.assertRaises(Died) as died:
                kernel.run("Promise.prototype.constructor = null")
                kernel.run("1")
            self.assertEqual(died.exception.code, 70)

    def test_values_of_every_kind_are_shown(self):
        for code, expected in (
            ("null", "null"), ("-0", "-0"), ("NaN", "NaN"), ("10n", "10n"), ("Symbol('s')", "Symbol(s)"), ("''", ""),
            ("[,1]", "[ <1 empty item>, 1 ]"), ("({ get x() { throw 1; } })", "{ x: [Getter] }"),
            ("Object.create(null)", "[Object: null prototype] {}"), ("(() => {})", "[Function (anonymous)]"),
            ("new Proxy({ a: 1 }, { get() { throw new Error('trap'); } })", "{ a: 1 }"),
            ("new Proxy({ a: 1 }, { getPrototypeOf() { throw new Error('trap'); } })", "{ a: 1 }"),
            ("({ then: 5 })", "{ then: 5 }"),
        ):
            self.assertEqual(self.value(code), expected, code)

    def test_huge_values_are_cut(self):
        for code in ("new Array(1e7).fill(1)", "'x'.repeat(5e6)", "Buffer.alloc(1e8)", "new Map(Array.from({length: 1e5}, (_, i) => [i, i]))"):
            outcome = self.kernel.run(code)
            self.assertEqual(outcome.status, "ok", code)
            self.assertLess(len(outcome.text), 3 << 20, code)

    def test_a_value_that_cannot_be_shown_is_described(self):
        self.assertIn("showing it failed with Error: no", self.value("({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no'); } })"))

    def test_forms_that_are_too_large_are_left_out_and_named(self):
        self.kernel.run("offer = (forms) => ({ [Symbol.for('Jupyter.display')]: () => forms, a: 1 })")
        large = "{ 'text/html': 'x'.repeat(17 << 20), 'text/latex': 'y' }"
        many = "Object.fromEntries([1, 2, 3, 4, 5].map((i) => [`a/${i}`, Buffer.alloc(15 << 20)]))"
        for forms, left, names in ((large, "text/html left out: 17825792 bytes", ["text/latex"]), (many, "a/4 left out: 15728640 bytes", ["a/1", "a/2", "a/3"])):
            outcome = self.kernel.run("offer(%s)" % forms)
            self.assertEqual(list(outcome.result), ["text/plain"] + names)
            self.assertIn("a: 1", outcome.text)
            self.assertIn(left, outcome.text)
            outcome = self.kernel.run("display(offer(%s))" % forms)
            self.assertEqual(list(outcome.displays[0]), ["text/plain"] + names)
            self.assertIn(left, outcome.displays[0]["text/plain"].decode())

    def test_rich_values_and_binary_displays(self):
        outcome = self.kernel.run("({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<p>' }), a: 1 })")
        self.assertEqual(outcome.result["text/html"], b"<p>")
        outcome = self.kernel.run("display({ image: Buffer.from([1, 2]) }); display({ image: 'AQI=' }); display({ audio: new Uint8Array([3]) }); display(7)")
        self.assertEqual(outcome.displays, [{"image/png": b"\1\2"}, {"image/png": b"\1\2"}, {"audio/wav": b"\3"}, {"text/plain": b"7"}])

    # ---- semantics

    def test_declarations_behave_as_in_a_console(self):
        self.kernel.run("let a = 1; const f = () => a; function g() { return 1; } var v = 1")
        self.kernel.run("a = 2; function g() { return 2; } var v = 3")
        self.assertEqual(self.value("[f(), g(), v]"), "[ 2, 2, 3 ]")
        self.assertEqual(self.value("{ let a = 9; } a"), "2")
        self.assertEqual(self.kernel.run("typeof undeclared").text, "undefined")
        self.assertEqual(self.kernel.run("undeclared").error.type, "ReferenceError")

    def test_strings_that_look_like_code_are_left_alone(self):
        self.assertEqual(self.value("const text = `import x from 'y'; import('z') const let`; text"), "import x from 'y'; import('z') const let")

    def test_imports_of_every_kind(self):
        folder = self.kernel.folder
        with open(os.path.join(folder, "mine.mjs"), "w") as file:
            file.write("export default 'd'; export const named = 'n'; export const more = 'm';\n")
        os.makedirs(os.path.join(folder, "node_modules", "pack"))
        with open(os.path.join(folder, "node_modules", "pack", "index.js"), "w") as file:
            file.write("module.exports = { packed: true };\n")
        code = "import d, { named as n } from './mine.mjs';\nimport * as all from './mine.mjs';\nimport './mine.mjs';\n[d, n, all.more, (await import('pack')).default.packed, require('pack').packed]"
        self.assertEqual(self.value(code), "[ 'd', 'n', 'm', true, true ]")
        self.assertEqual(self.value("import d from './mine.mjs'; import { packed } from 'pack'; packed"), "true")
        self.assertIn("does not provide an export named 'nope'", self.kernel.run("import { nope } from './mine.mjs'").error.message)
        self.assertIn("Cannot find package", self.kernel.run("import x from 'absent-package'").error.message)
        self.assertEqual(self.value("import.meta.dirname === process.cwd()"), "true")
        self.assertEqual(self.value("export const exported = 3; exported"), "3")

    def test_errors_of_every_kind(self):
        for code, kind in (
            ("throw 'text'", "string"), ("throw null", "null"), ("throw { a: 1 }", "object"),
            ("class Own extends Error { name = 'Own' }; throw new Own('o')", "Own"),
            ("(function f() { f(); })()", "RangeError"), ("JSON.parse('{')", "SyntaxError"),
            ("await Promise.any([])", "AggregateError"), ("let let = 1", "SyntaxError"),
        ):
            outcome = self.kernel.run(code)
            self.assertEqual((outcome.status, outcome.error.type), ("error", kind), code)
            self.assertNotIn("kernel.cjs", outcome.error.traceback)
            self.assertNotIn("inspector", outcome.error.traceback)
        self.assertIn("Caused by: TypeError: inner", self.kernel.run("throw new Error('outer', { cause: new TypeError('inner') })").error.traceback)

    # ---- streams

    def test_streams_are_in_order_and_complete(self):
        outcome = self.kernel.run(
            "const { execSync } = require('child_process');\nprocess.stdout.write('1 ');\nexecSync('printf \"2 \"', { stdio: 'inherit' });\nconsole.log('3');\n"
            "console.table([{ a: 1 }]); console.warn('warned'); undefined"
        )
        self.assertTrue(outcome.out.startswith("1 2 3\n"), outcome.out)
        self.assertIn("│ (index) │", outcome.out)
        self.assertEqual(outcome.err, "warned\n")

    def test_much_output_arrives_whole(self):
        outcome = self.kernel.run("for (let i = 0; i < 20000; i++) console.log('x'.repeat(99)); undefined")
        self.assertEqual(len(outcome.stdout), 2_000_000)

    def test_late_errors_and_output_reach_the_streams(self):
        self.kernel.run("setTimeout(() => { console.log('late'); Promise.reject(new TypeError('lost')); }, 30); undefined")
        late = self.kernel.more_output(b"[async TypeError] lost")
        self.assertIn("late", late.out)
        self.assertIsNone(late.error)
        self.assertEqual(self.value("1"), "1")

    def test_what_an_earlier_cell_throws_does_not_fail_the_one_that_runs(self):
        self.kernel.run("globalThis.fire = () => setImmediate(() => { throw new TypeError('of before') }); undefined")
        outcome = self.kernel.run("fire(); await new Promise((done) => setTimeout(done, 50)); 1")
        self.assertIn("[async TypeError] of before", outcome.err)
        self.assertEqual((outcome.status, outcome.text), ("ok", "1"))

    def test_children_do_not_hold_the_control_channel(self):
        code = "require('child_process').execSync('ls /proc/self/fd', { encoding: 'utf8' }).split('\\n').filter((fd) => fd < 10).join('')"
        self.assertEqual(self.value(code), "0123")  # 3 is the folder that ls reads

    # ---- ends

    def test_process_exit_ends_the_context_with_its_code(self):
        with Kernel("node") as kernel:
            with self.assertRaises(Died) as death:
                kernel.run("process.stdout.write('last words'); process.exit(5)")
            self.assertEqual((death.exception.code, death.exception.outcome.out), (5, "last words"))

    def test_the_end_of_the_channel_ends_the_kernel(self):
        with Kernel("node") as kernel:
            kernel.run("setInterval(() => {}, 1000); undefined")
            os.close(kernel.requests)
            kernel.requests = None
            self.assertEqual(kernel.exit_code(), 0)

    def test_shutdown_and_ping(self):
        with Kernel("node") as kernel:
            self.assertTrue(kernel.ping().pong)
            kernel.send(4)
            self.assertEqual(kernel.answer().status, "ok")
            self.assertEqual(kernel.exit_code(), 0)

    # ---- interrupts

    def test_busy_code_is_stopped_wherever_it_runs(self):
        for code in (
            "console.log('go'); while (true);",
            "console.log('go'); await null; while (true);",
            "setTimeout(() => { console.log('go'); while (true); }, 1); await new Promise(() => {})",
            "console.log('go'); try { while (true); } catch { while (true); } finally { while (true); }",
            "({ [Symbol.for('nodejs.util.inspect.custom')]() { console.log('go'); while (true); } })",
        ):
            outcome = self.kernel.run(code, interrupt_on=b"go")
            self.assertEqual(outcome.status, "interrupted", code)
        self.assertEqual(self.value("1"), "1")

    def test_an_answer_that_is_being_written_is_not_cut_by_an_interrupt(self):
        self.value("1")
        self.kernel.post("'x'.repeat(1000000)")  # more than the pipe holds: the kernel waits in its write
        select.select([self.kernel.events], [], [], 10)
        self.kernel.interrupt()
        time.sleep(0.2)  # longer than the watchdog waits before it stops the main thread
        self.assertEqual(len(self.kernel.answer().text), 1000000)
        self.assertEqual(self.value("'next'"), "next")

    def test_sigint_while_idle_does_nothing(self):
        for _ in range(5):
            self.kernel.interrupt()
        self.assertTrue(self.kernel.ping().pong)
        self.assertEqual(self.value("6"), "6")

    def test_handlers_of_the_user_cannot_unhook_the_kernel(self):
        self.kernel.run("process.removeAllListeners(); undefined")
        self.kernel.interrupt()
        self.assertEqual(self.value("2"), "2")
        self.kernel.run("setTimeout(() => { throw new Error('survived') }, 0); undefined")
        self.assertEqual(self.value("3"), "3")

    def test_what_the_user_replaces_the_kernel_does_not_miss(self):
        replacements = ("globalThis.Promise = class {}", "globalThis.setImmediate = globalThis.Buffer = () => {}", "require('fs').writeSync = () => 1",
                        "globalThis.Error = globalThis.Object = null", "require('util').inspect = require('util').types.isPromise = null")
        for code in replacements:
            with Kernel("node") as kernel:
                self.assertEqual(kernel.run("0, " + code).status, "ok", code)
                self.assertEqual(kernel.run("null.x").error.type, "TypeError", code)
                self.assertEqual(kernel.run("await ({ kept: 5 })").text, "{ kept: 5 }", code)
        with Kernel("node") as kernel:
            kernel.run("process.exit = () => {}")
            kernel.send(4)
            self.assertEqual((kernel.answer().status, kernel.exit_code()), ("ok", 0))

    def test_an_error_that_cannot_be_asked_about_ends_nothing(self):
        odd = "const odd = new Error('x'); Object.defineProperty(odd, 'cause', { get() { throw odd; } });"
        revoked = "const { proxy: odd, revoke } = Proxy.revocable({}, {}); revoke();"
        for code, message in ((odd, "x"), (revoked, "(describing it failed)")):
            with Kernel("node") as kernel:
                self.assertEqual(kernel.run(code + "throw odd").error.message, message)
                kernel.run("setTimeout(() => { throw odd; }, 50); 0")
                kernel.more_output(b"[async Error] " + message.encode())
                self.assertEqual(kernel.run("1").text, "1")

    def test_a_storm_of_interrupts_never_breaks_the_protocol(self):
        cells = ("1 + 1", "for (let i = 0; i < 50; i++) console.log(i)", "display('x')", "throw new Error('e')", "await new Promise((r) => setTimeout(r, 3))", "let s = 0; for (let i = 0; i < 1e6; i++) s += i; s")
        randomness = random.Random(7)
        with Kernel("node") as kernel:
            kernel.run("const stormy = 'kept'")
            with kernel.storm(lambda: randomness.random() * 0.01):
                until = time.monotonic() + 3
                while time.monotonic() < until:
                    self.assertIn(kernel.run(randomness.choice(cells)).status, ("ok", "error", "interrupted"))
            self.assertEqual(kernel.run("stormy").text, "kept")

    def test_completion(self):
        self.kernel.run("const completable = { alpha: 1 }")
        self.assertEqual(self.kernel.complete("x = complet"), (4, 11, ["completable"]))
        self.assertEqual(self.kernel.complete("é; completable.al"), (16, 18, ["alpha"]))

    def test_requests_that_come_together_are_answered_in_order(self):
        self.kernel.post("await new Promise((r) => setTimeout(r, 50))")
        first = self.kernel.request
        self.kernel.send(2)
        self.kernel.request = first
        self.assertEqual(self.kernel.answer().status, "ok")
        self.kernel.request = first + 1
        self.assertTrue(self.kernel.answer().pong)
