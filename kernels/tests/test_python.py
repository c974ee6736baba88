import os
import random
import signal
import tempfile
import time

from bindings import Bindings
from driver import Died, Kernel, KernelCase
from test_unique import Unique  # noqa: F401


class PythonKernel(Bindings, KernelCase):
    language = "python"

    def own(self, name):
        return "import os, sys; assert os.environb[b'%s'] == os.environ['%s'].encode(); sys.stdout.write(os.environ['%s']);" % (name, name, name)

    def of_child(self):
        return "import os; os.system('env -0 > child');"

    def test_binding_reaches_an_os_that_is_loaded_already_and_loads_none(self):
        with Kernel("python") as kernel:
            kernel.bind({"EARLY": "one", "MPLBACKEND": "svg"})
            self.assertEqual(kernel.run("import sys; 'os' in sys.modules").text, "False")
            self.assertEqual(kernel.run("import os; os.environ['EARLY'], os.environ['MPLBACKEND']").text, "('one', 'svg')")
            kernel.bind({"EARLY": "two"})
            self.assertEqual(kernel.run("os.environ['EARLY'], os.popen('echo $EARLY').read()").text, "('two', 'two\\n')")

    # ---- start

    def test_says_who_it_is(self):
        self.assertEqual(self.kernel.ready[0], "python")
        self.assertRegex(self.kernel.ready[1], r"^3\.\d+\.\d+$")
        self.assertEqual(self.kernel.ready[2], "plain")

    def test_few_descriptors_are_enough(self):
        for files in (64, 256, 603, 604):
            self.assertEqual(self.answers_with(files, "import resource; resource.getrlimit(resource.RLIMIT_NOFILE)[0]"), str(files))
            room = self.answers_with(files, "import os\nn = 0\ntry:\n    while os.dup(0): n += 1\nexcept OSError: pass\nn > %d - 16" % files)
            self.assertEqual(room, "True")

    # ---- what code may break

    def test_builtins_that_code_replaces_are_its_own_loss(self):
        with Kernel("python") as kernel:
            kernel.run("x = 41")
            self.assertEqual(kernel.run("import builtins; builtins.len = builtins.map = builtins.type = None").status, "ok")
            self.assertEqual(kernel.run("x + 1").text, "42")
            self.assertEqual(kernel.run("len('a')").error.type, "TypeError")
            self.assertEqual(kernel.run("builtins.__dict__.clear()").status, "ok")
            self.assertEqual(kernel.run("print(x)").error.type, "NameError")

    def test_functions_that_trace_see_cells_and_nothing_else(self):
        with Kernel("python") as kernel:
            self.assertEqual(kernel.run("import sys; sys.settrace(lambda *_: 1 / 0)").status, "ok")
            self.assertEqual(kernel.run("'traced'").error.type, "ZeroDivisionError")
            self.assertEqual(kernel.run("seen = []; sys.settrace(lambda frame, *_: seen.append(frame.f_code.co_filename))").status, "ok")
            kernel.run("def f(): pass\nf()")
            self.assertEqual(kernel.run("sys.settrace(None); sorted(set(seen))").text, "['<cell 4>', '<cell 5>']")
            self.assertEqual(kernel.run("sys.setprofile(lambda *_: 1 / 0)").error.type, "ZeroDivisionError")
            self.assertEqual(kernel.run("'still here'").text, "'still here'")

    def test_loads_nothing_dear_before_the_first_cell(self):
        with Kernel("python") as kernel:
            loaded = kernel.run("import sys; sorted(sys.modules)").text
        for module in ("json", "re", "enum", "ast", "traceback", "functools", "site", "os", "linecache", "asyncio"):
            self.assertNotIn("'%s'" % module, loaded)

    def test_looks_like_a_script(self):
        code = "import sys; (__name__, sys.argv, sys.path[0], sys.stdin.read(), sys.modules['__main__'].__dict__ is globals())"
        self.assertEqual(self.value(code), "('__main__', [''], '', '', True)")

    def test_finds_installed_packages_and_modules_beside_the_code(self):
        with open(os.path.join(self.kernel.folder, "beside.py"), "w") as file:
            file.write("name = 'mine'\n")
        self.assertEqual(self.value("import beside; beside.name"), "'mine'")
        self.assertEqual(self.value("import sys; any('-packages' in entry for entry in sys.path)"), "True")

    def test_packages_that_the_user_installs_first_afterwards_are_found(self):
        with tempfile.TemporaryDirectory() as home, Kernel("python", env={"HOME": home}) as kernel:
            self.assertEqual(kernel.run("import nothing_of_that_name").error.type, "ModuleNotFoundError")
            folder = kernel.run("import site; print(site.getusersitepackages())").out.strip()
            self.assertTrue(folder.startswith(home), folder)
            os.makedirs(folder)
            with open(os.path.join(folder, "installed_later.py"), "w") as file:
                file.write("VALUE = 5")
            self.assertEqual(kernel.run("import installed_later; installed_later.VALUE").text, "5")

    def test_a_module_of_the_user_does_not_replace_what_the_kernel_needs(self):
        with Kernel("python") as kernel:
            for name in ("traceback", "linecache", "reprlib"):
                with open(os.path.join(kernel.folder, name + ".py"), "w") as file:
                    file.write("raise RuntimeError('not this one')\n")
            self.assertIn("<cell 1>", kernel.run("1/0").error.traceback)

    # ---- values

    def test_huge_values_are_cut_and_say_so(self):
        for code in ("[0] * 10**7", "'x' * 10**8", "b'x' * 10**8", "[[1] * 10**6] * 10", "{i: i for i in range(10**6)}", "set(range(10**6))"):
            outcome = self.kernel.run(code)
            self.assertEqual(outcome.status, "ok", code)
            self.assertLess(len(outcome.text), 3 << 20, code)
            self.assertIn("shortened", outcome.text, code)

    def test_a_long_repr_of_a_small_object_is_cut(self):
        text = self.value("class Long:\n  def __repr__(self): return 'y' * (5 << 20)\nLong()")
        self.assertIn("5242880 characters in all", text)

    def test_a_repr_that_fails_is_described(self):
        cases = {
            "raise ValueError('no')": "ValueError: no",
            "return 5": "TypeError",
            "return repr(self)": "RecursionError",
            "raise SystemExit": "SystemExit",
        }
        for body, expected in cases.items():
            text = self.value("class Bad:\n  def __repr__(self): %s\nBad()" % body)
            self.assertIn("repr failed with " + expected, text)

    def test_values_that_are_not_text_stay_valid_utf8(self):
        self.assertEqual(self.value(r"'\udc80'"), r"'\udc80'")
        self.assertEqual(self.value("class S:\n  def __repr__(self): return '\\udc80'\nS()"), r"\udc80")
        self.assertIn("Exceeds the limit", self.value("10**6000"))
        self.assertEqual(self.value("a = []; a.append(a); a"), "[[...]]")

    def test_a_rich_form_that_fails_leaves_the_text(self):
        outcome = self.kernel.run(
            "class Half:\n  def __repr__(self): return 'half'\n  def _repr_html_(self): raise OSError\n"
            "  def _repr_png_(self): return b'\\x89PNG'\n  def _repr_json_(self): return {'a': 1}\nHalf()"
        )
        self.assertEqual(
            outcome.result, {"text/plain": b"half", "image/png": b"\x89PNG", "application/json": b'{"a": 1}'}
        )

    def test_a_part_over_the_limit_is_left_out_and_named(self):
        outcome = self.kernel.run(
            "class Big:\n  def __repr__(self): return 'big'\n  def _repr_html_(self): return 'x' * (17 << 20)\nBig()"
        )
        self.assertEqual(list(outcome.result), ["text/plain"])
        self.assertIn("text/html left out: 17825792 bytes", outcome.text)

    def test_parts_that_are_too_much_together_are_left_out_and_named(self):
        parts = "{'a/%d' % i: b'x' * (15 << 20) for i in range(5)}"
        code = "class Many:\n  def __repr__(self): return 'many'\n  def _repr_mimebundle_(self, **_): return " + parts + "\nMany()"
        outcome = self.kernel.run(code)
        self.assertEqual(list(outcome.result), ["text/plain", "a/0", "a/1", "a/2"])
        self.assertRegex(outcome.text, "^many\n.a/3 left out: 15728640 bytes, .* 50331648.\n.a/4 left out")
        outcome = self.kernel.run("from IPython.display import publish_display_data; publish_display_data(%s)" % parts)
        self.assertEqual(list(outcome.displays[0]), ["text/plain", "a/0", "a/1", "a/2"])

    def test_a_form_without_a_name_is_left_out(self):
        code = "class Odd:\n  def __repr__(self): return 'odd'\n  def _repr_mimebundle_(self, **_): return {5: 'five', None: b'', 'a/b': 'c'}\nOdd()"
        self.assertEqual(self.kernel.run(code).result, {"text/plain": b"odd", "a/b": b"c"})

    def test_an_object_that_answers_to_every_name_has_no_rich_form(self):
        code = "class Any:\n  def __getattr__(self, name): return lambda *a, **k: 'fake'\n  def __repr__(self): return 'any'\nAny()"
        self.assertEqual(self.kernel.run(code).result, {"text/plain": b"any"})

    def test_a_class_is_not_its_instances(self):
        code = "class Html:\n  def _repr_html_(self): return '<b>'\nHtml"
        self.assertEqual(list(self.kernel.run(code).result), ["text/plain"])

    def test_mime_bundles_and_raw_display(self):
        outcome = self.kernel.run(
            "class Many:\n  def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "    return {'text/html': '<p>', 'application/x+json': [1]}, {}\ndisplay(Many())\n"
            "display({'text/plain': 'p', 'image/png': 'iVBO'}, raw=True)"
        )
        self.assertEqual(outcome.displays[0]["text/html"], b"<p>")
        self.assertEqual(outcome.displays[0]["application/x+json"], b"[1]")
        self.assertEqual(outcome.displays[1], {"text/plain": b"p", "image/png": b"\x89PN"[:3]})

    def test_a_value_that_displays_itself_does_so_once(self):
        code = "class Own:\n  def __repr__(self): return 'own'\n  def _ipython_display_(self): display({'text/html': '<o>'}, raw=True)\n"
        outcome = self.kernel.run(code + "Own()")
        self.assertEqual((outcome.result, outcome.displays), ({"text/plain": b"own"}, [{"text/html": b"<o>"}]))
        self.assertEqual(self.kernel.run("display(Own())").displays, [{"text/html": b"<o>"}])

    def test_a_plotly_figure_is_one_page(self):
        # The shape of plotly's figures, without the package.
        code = (
            "class Figure:\n  data = layout = ()\n  def to_html(self, full_html, include_plotlyjs):\n"
            "    return '<html>%s %s' % (full_html, include_plotlyjs)\n  def __repr__(self): return 'figure'\n"
            "Figure.__module__ = 'plotly.graph_objs._figure'\nFigure()"
        )
        self.assertEqual(self.kernel.run(code).result, {"text/plain": b"figure", "text/html": b"<html>True True"})

    # ---- streams

    def test_output_comes_while_the_cell_runs(self):
        outcome = self.kernel.run("import time\nprint('first')\ntime.sleep(30)", interrupt_on=b"first\n")
        self.assertEqual(outcome.status, "interrupted")

    def test_output_without_a_newline_is_there_at_the_end(self):
        outcome = self.kernel.run("import sys\nsys.stdout.write('no newline'); sys.stderr.write('nor here'); None")
        self.assertEqual((outcome.out, outcome.err), ("no newline", "nor here"))

    def test_threads_are_heard_also_after_the_cell(self):
        self.kernel.run(
            "import threading\ngo = threading.Event()\n"
            "threading.Thread(target=lambda: (go.wait(), print('from a thread'))).start()"
        )
        outcome = self.kernel.run("go.set()")
        if b"from a thread" not in outcome.stdout:
            self.kernel.more_output(b"from a thread\n")

    def test_closing_or_replacing_streams_harms_nobody(self):
        with Kernel("python") as kernel:
            self.assertEqual(kernel.run("import io, sys; sys.stdout = io.StringIO(); print('lost'); 1").text, "1")
            self.assertEqual(kernel.run("sys.stdout = None; 2").text, "2")
            self.assertEqual(kernel.run("sys.stdout = object(); 3").text, "3")
            self.assertEqual(kernel.run("del sys.stdout, sys.__stderr__; 3").text, "3")
            self.assertEqual(kernel.run("sys.stdout = sys.__stdout__; import os; os.close(1); os.close(2); 4").text, "4")
            self.assertEqual(kernel.run("os.closerange(0, 100); 5").text, "5")
            self.assertEqual(kernel.run("1/0").error.type, "ZeroDivisionError")

    def test_children_do_not_hold_the_control_channel(self):
        code = "import subprocess; subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False, capture_output=True, text=True).stdout.count('pipe:')"
        # stdout and stderr of ls; its stdin is /dev/null.
        self.assertEqual(self.value(code), "2")

    # ---- ends of cells

    def test_every_way_out_of_a_cell_is_an_answer(self):
        for code, kind in (
            ("raise BaseException('b')", "BaseException"),
            ("raise GeneratorExit", "GeneratorExit"),
            ("import sys; sys.exit('text')", "SystemExit"),
            ("def f(): f()\nf()", "RecursionError"),
            ("raise type('Odd', (Exception,), {'__str__': lambda self: 1/0})()", "Odd"),
            ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
            ("x = '", "SyntaxError"),
            ("a\x00b", "ValueError"),
            ("(" * 300, "SyntaxError"),
        ):
            outcome = self.kernel.run(code)
            self.assertEqual((outcome.status, outcome.error.type), ("error", kind), code)
            self.assertLess(len(outcome.error.traceback), 300_000)
        self.assertEqual(self.value("1"), "1")

    def test_an_error_that_cannot_be_asked_about_is_an_answer(self):
        meta = "class Meta(type):\n  __name__ = property(lambda self: 1/0)\nclass Odd(Exception, metaclass=Meta): pass\nraise Odd"
        own = "class Odd(Exception):\n  def %s(self, *_): raise ValueError\nraise Odd"
        exit_code = "class Code:\n  def __eq__(self, other): raise ValueError\nimport sys; sys.exit(Code())"
        for code, kind in [(meta, "Odd"), (exit_code, "SystemExit")] + [(own % name, "Odd") for name in ("__bool__", "__getattribute__")]:
            with Kernel("python") as kernel:
                outcome = kernel.run(code)
                self.assertEqual((outcome.status, outcome.error.type), ("error", kind), code)
                self.assertEqual(kernel.run("1").text, "1", code)
        self.assertLess(len(self.kernel.run("raise type('x' * (70 << 20), (Exception,), {})").error.type), 10_000)
        self.assertEqual(self.kernel.run("import sys; sys.exit(False)").status, "ok")

    def test_an_alarm_that_comes_after_its_cell_ends_nothing(self):
        with Kernel("python") as kernel:
            kernel.run(
                "import signal\ndef late(*_): raise TimeoutError('too late')\nkept = 5\n"
                "signal.signal(signal.SIGALRM, late)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)"
            )
            self.assertIn(b"line 2, in late", kernel.more_output(b"TimeoutError: too late\n").stderr)
            self.assertEqual(kernel.run("kept").text, "5")

    def test_tracebacks_show_only_the_users_part(self):
        trace = self.kernel.run("try:\n  1/0\nexcept Exception as e:\n  raise KeyError('k') from e").error.traceback
        self.assertNotIn("carrel_kernel", trace)
        self.assertIn("direct cause", trace)
        self.assertIn("raise KeyError('k') from e", trace)

    def test_os_exit_ends_the_context_with_its_code(self):
        with Kernel("python") as kernel:
            with self.assertRaises(Died) as death:
                kernel.run("import os; print('last words', flush=True); os._exit(3)")
            self.assertEqual((death.exception.code, death.exception.outcome.out), (3, "last words\n"))

    def test_a_segfault_leaves_a_trace(self):
        with Kernel("python") as kernel:
            with self.assertRaises(Died) as death:
                kernel.run("import ctypes; ctypes.string_at(0)")
            self.assertEqual(death.exception.code, -signal.SIGSEGV)
            self.assertIn("<cell 1>", death.exception.outcome.err)

    def test_the_end_of_the_channel_ends_the_kernel(self):
        with Kernel("python") as kernel:
            kernel.run("import atexit; atexit.register(print, 'bye'); import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()")
            os.close(kernel.requests)
            kernel.requests = None
            with self.assertRaises(Died) as death:
                kernel.answer()
            self.assertEqual((death.exception.code, death.exception.outcome.out), (0, "bye\n"))

    def test_shutdown_answers_and_ends(self):
        with Kernel("python") as kernel:
            kernel.send(4)
            self.assertEqual(kernel.answer().status, "ok")
            self.assertEqual(kernel.exit_code(), 0)

    def test_ping(self):
        self.assertTrue(self.kernel.ping().pong)

    def test_nobody_can_tell_that_a_kernel_rehearsed(self):
        look = "import sys; (sorted(globals()), sorted(sys.modules), sys._getframe().f_code.co_filename)"
        with Kernel("python") as kernel, Kernel("python") as rehearsed:
            self.assertIsNone(rehearsed.ping().text)
            self.assertEqual(rehearsed.run(look).text, kernel.run(look).text)

    def test_a_broken_request_ends_the_kernel(self):
        with Kernel("python") as kernel:
            os.write(kernel.requests, b"\xff\xff\xff\xff\x01abcdefgh")
            with self.assertRaises(Died) as death:
                kernel.answer()
            self.assertNotEqual(death.exception.code, 0)
            self.assertIn("ProtocolError", death.exception.outcome.err)

    # ---- interrupts

    def test_native_waits_can_be_interrupted(self):
        for wait in ("time.sleep(60)", "threading.Event().wait()", "os.read(os.pipe()[0], 1)", "subprocess.run(['sleep', '60'])"):
            outcome = self.kernel.run("import time, threading, os, subprocess\nprint('go')\n" + wait, interrupt_on=b"go")
            self.assertEqual((outcome.status, outcome.error.type), ("interrupted", "KeyboardInterrupt"), wait)

    def test_a_repr_that_never_ends_can_be_interrupted(self):
        outcome = self.kernel.run(
            "import time\nclass Slow:\n  def __repr__(self):\n    print('in repr'); time.sleep(60)\nSlow()", interrupt_on=b"in repr"
        )
        self.assertEqual(outcome.status, "interrupted")

    def test_an_awaiting_cell_is_cancelled_and_cleans_up(self):
        outcome = self.kernel.run(
            "import asyncio\ntry:\n  print('go')\n  await asyncio.sleep(60)\nfinally:\n  print('cleaned')", interrupt_on=b"go"
        )
        self.assertEqual((outcome.status, outcome.out), ("interrupted", "go\ncleaned\n"))
        self.assertRegex(outcome.error.traceback, r'^Traceback.*\n  File "<cell')
        self.assertEqual(self.value("await asyncio.sleep(0, 5)"), "5")

    def test_an_interrupt_at_the_very_end_of_an_awaiting_cell_does_not_stop_the_next(self):
        strike = "import asyncio\ndef strike(): raise KeyboardInterrupt\nawait asyncio.sleep(0)\nasyncio.get_running_loop().call_soon(strike)\nNone"
        self.assertEqual(self.kernel.run(strike).status, "interrupted")
        self.assertEqual(self.value("await asyncio.sleep(0.01, 5)"), "5")

    def test_an_interrupt_of_the_event_loop_names_the_line_that_waits(self):
        code = "import asyncio\nasync def slow():\n  asyncio.get_running_loop().call_later(0.05, print, 'go')\n  await asyncio.sleep(60)\nawait slow()"
        outcome = self.kernel.run(code, interrupt_on=b"go")
        self.assertEqual((outcome.status, outcome.error.type), ("interrupted", "KeyboardInterrupt"))
        self.assertRegex(outcome.error.traceback, r'^Traceback.*\n  File "<cell \d+>", line 5, in <module>')
        self.assertIn("line 4, in slow", outcome.error.traceback)

    def test_code_may_handle_its_interrupt(self):
        outcome = self.kernel.run(
            "import time\ntry:\n  print('go'); time.sleep(60)\nexcept KeyboardInterrupt:\n  answer = 'handled'\nanswer", interrupt_on=b"go"
        )
        self.assertEqual((outcome.status, outcome.text), ("ok", "'handled'"))

    def test_sigint_while_idle_does_nothing(self):
        for _ in range(20):
            self.kernel.interrupt()
        self.assertEqual(self.value("6"), "6")

    def test_a_handler_of_the_user_lasts_for_its_cell(self):
        self.assertEqual(self.value("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); 1"), "1")
        self.kernel.interrupt()
        self.assertEqual(self.value("2"), "2")

    def test_a_storm_of_interrupts_never_breaks_the_protocol(self):
        cells = (
            "1 + 1",
            "for i in range(50): print(i)",
            "display('x' * 1000)",
            "[list(range(100))] * 20",
            "1/0",
            "import time; time.sleep(0.002)",
            "try:\n  while True: pass\nexcept KeyboardInterrupt: pass",
            "class R:\n  def __repr__(self): return str([repr(i) for i in range(500)])\nR()",
        )
        randomness = random.Random(5)
        with Kernel("python") as kernel:
            kernel.run("stormy = 'kept'")
            with kernel.storm(lambda: randomness.random() * 0.0015):
                until = time.monotonic() + 4
                while time.monotonic() < until:
                    outcome = kernel.run(randomness.choice(cells))  # the driver checks every frame
                    self.assertIn(outcome.status, ("ok", "error", "interrupted"))
            self.assertEqual(kernel.run("stormy").text, "'kept'")

    # ---- processes

    def test_a_forked_child_never_answers(self):
        outcome = self.kernel.run("import os\npid = os.fork()\nif pid: print('parent', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nelse: print('child')\npid > 0")
        self.assertEqual(outcome.text, "True")
        self.assertEqual(sorted(outcome.out.split("\n")), ["", "child", "parent 0"])
        outcome = self.kernel.run("pid = os.fork()\nif pid: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nelse: raise KeyError('in child')")
        self.assertEqual((outcome.status, outcome.out), ("ok", "1\n"))
        self.assertIn("KeyError", outcome.err)
        outcome = self.kernel.run("pid = os.fork()\nif pid: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nelse: display('no'); import sys; sys.exit(9)")
        self.assertEqual((outcome.out, outcome.displays), ("9\n", []))

    def test_multiprocessing_and_pickling_of_cell_classes(self):
        code = "import multiprocessing, pickle\nclass Thing:\n  n = 4\ndef double(n): return 2 * n\nwith multiprocessing.Pool(2) as pool:\n  doubled = pool.map(double, [1, 2, 3])\n(doubled, pickle.loads(pickle.dumps(Thing())).n)"
        self.assertEqual(self.value(code), "([2, 4, 6], 4)")

    # ---- the language

    def test_future_imports_last(self):
        with Kernel("python") as kernel:
            kernel.run("from __future__ import annotations")
            self.assertEqual(kernel.run("def f(x: nowhere): pass\nf.__annotations__").text, "{'x': 'nowhere'}")

    def test_sources_can_be_inspected(self):
        self.kernel.run("def inspected():\n    return 'me'")
        self.assertIn("return 'me'", self.value("import inspect; inspect.getsource(inspected)"))

    def test_a_cell_costs_the_same_after_many_others(self):
        with Kernel("python") as kernel:
            kernel.run("import linecache")
            kernel.run("class Counting(dict):\n  looks = 0\n  def __contains__(self, name):\n    Counting.looks += 1\n    return super().__contains__(name)")
            kernel.run("linecache.cache = Counting(linecache.cache)")
            for _ in range(200):
                kernel.run("1+1")
            self.assertLess(int(kernel.run("Counting.looks").text), 500)

    def test_sources_that_are_forgotten_are_so_everywhere(self):
        with Kernel("python") as kernel:
            kernel.run("import linecache")
            for _ in range(4):
                kernel.run("#" * (3 << 20))
            self.assertEqual(kernel.run("sum(len(''.join(entry[2])) for name, entry in linecache.cache.items()) < 9 << 20").text, "True")

    def test_who_clears_the_cache_of_lines_finds_the_cells_again(self):
        with Kernel("python") as kernel:
            kernel.run("def inspected():\n    return 'me'")
            kernel.run("import inspect, linecache; linecache.clearcache()")
            self.assertIn("return 'me'", kernel.run("inspect.getsource(inspected)").text)

    def test_tasks_go_on_in_later_cells(self):
        self.kernel.run("import asyncio\nseen = []\nasync def work():\n  for i in range(3):\n    seen.append(i)\n    await asyncio.sleep(0)\ntask = asyncio.ensure_future(work())\nawait asyncio.sleep(0)")
        self.assertEqual(self.value("await task\nseen"), "[0, 1, 2]")

    def test_the_first_awaiting_cell_finds_the_tasks_that_were_made_before(self):
        work = "import asyncio\nasync def work():\n  await asyncio.sleep(0)\n  return 'done'\n"
        with Kernel("python") as kernel:
            kernel.run(work + "task = asyncio.ensure_future(work())")
            self.assertEqual(kernel.run("await task").text, "'done'")
        with Kernel("python") as kernel:
            outcome = kernel.run(work + "task = asyncio.create_task(work())\nawait task")
            self.assertEqual(outcome.text, "'done'", outcome)
            outcome = kernel.run("asyncio.run(work())")
            self.assertEqual(outcome.text, "'done'", outcome)
            self.assertEqual(kernel.run("await work()").text, "'done'")

    def test_an_error_before_an_await_starts_at_the_cell(self):
        outcome = self.kernel.run("import asyncio\ndef fails():\n  raise ValueError('here')\nfails()\nawait asyncio.sleep(0)")
        self.assertEqual(outcome.error.type, "ValueError")
        self.assertNotIn("carrel_kernel", outcome.error.traceback)
        self.assertNotIn("asyncio/", outcome.error.traceback)

    def test_completion(self):
        self.kernel.run("completable = {'a': 1}")
        self.assertEqual(self.kernel.complete("x = complet"), (4, 11, ["completable"]))
        start, end, words = self.kernel.complete("é = completable.ke")
        self.assertEqual((start, end, words), (17, 19, ["keys"]))

    def test_the_last_value_has_a_name(self):
        with Kernel("python") as kernel:
            self.assertEqual(kernel.run("_").error.type, "NameError")
            kernel.run("20 + 1")
            kernel.run("x = 7; print(x)\nNone")
            self.assertEqual(kernel.run("_ * 2").text, "42")
            kernel.run("%pwd")
            kernel.run("'kept';")
            self.assertEqual(kernel.run("import os; _ == os.getcwd()").text, "True")
            self.assertEqual(kernel.run("_ = 'own'; 5").text, "5")
            self.assertEqual(kernel.run("_").text, "'own'")
            kernel.run("del _; import builtins; builtins._ = str.upper; 6")
            self.assertEqual(kernel.run("_('translated')").text, "'TRANSLATED'")

    def test_the_shell_is_there_when_it_is_asked_for(self):
        with Kernel("python") as kernel:
            self.assertEqual(kernel.run("import sys; 'IPython' in sys.modules").text, "False")
            self.assertEqual(kernel.run("get_ipython().run_line_magic('pwd', '') == __import__('os').getcwd()").text, "True")
        with Kernel("python", env={"PYTHONPATH": os.path.join(os.path.dirname(__file__), "without-ipython")}) as kernel:
            self.assertEqual(kernel.run("get_ipython()").error.type, "NameError")

    def test_ipython_syntax_is_told_from_errors(self):
        self.assertEqual(self.kernel.run("%time 1 +").error.type, "SyntaxError")
        outcome = self.kernel.run("print('before')\n%matplotlib inline\nvalue = %pwd\nvalue == __import__('os').getcwd()")
        self.assertEqual((outcome.status, outcome.text), ("ok", "True"))
        outcome = self.kernel.run("%%bash\necho cell magic")
        self.assertEqual(outcome.out, "cell magic\n")
        self.assertIn("Return the number of items", self.kernel.run("len?").out)

    def test_shell_escapes_stream_and_can_be_interrupted(self):
        outcome = self.kernel.run("!echo go; sleep 60", interrupt_on=b"go")
        self.assertEqual(outcome.status, "interrupted")

    def test_without_ipython_the_error_helps(self):
        with Kernel("python", env={"PYTHONPATH": os.path.join(os.path.dirname(__file__), "without-ipython")}) as kernel:
            error = kernel.run("!ls").error
            self.assertEqual(error.type, "SyntaxError")
            self.assertIn("IPython is not installed", error.message)

    def test_requests_that_come_together_are_answered_in_order(self):
        self.kernel.post("import time; time.sleep(0.05)")
        first = self.kernel.request
        self.kernel.send(2)
        self.kernel.request = first
        self.assertEqual(self.kernel.answer().status, "ok")
        self.kernel.request = first + 1
        self.assertTrue(self.kernel.answer().pong)
