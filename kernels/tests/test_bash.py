import os
import random
import time

from bindings import Bindings
from driver import SHUTDOWN, Died, Kernel, KernelCase


class BashKernel(Bindings, KernelCase):
    language = "bash"

    def own(self, name):
        return "printf %%s \"$%s\"" % name

    def of_child(self):
        return "env -0 > child"

    # ---- what code may break

    def test_what_hides_builtins_is_the_loss_of_one_cell(self):
        for hidden in (
            "builtin() { :; }",
            "printf() { :; }",
            "alias builtin=false printf=false eval=false",
            "enable -n builtin",
            "enable -n printf eval",
            "set -e; readonly -f builtin 2>/dev/null || true; enable -n builtin printf",
        ):
            with self.subTest(hidden), Kernel("bash") as kernel:
                kernel.run("x=41")
                self.assertEqual(kernel.run(hidden).status, "ok")
                self.assertEqual(kernel.run("echo $((x + 1))").out, "42\n")
                self.assertIn("printf", kernel.complete("print")[2])
                self.assertEqual(kernel.bind({"LATE": "one"}).status, "ok")

    def test_traps_on_debug_say_nothing_of_the_kernels_own_commands(self):
        with Kernel("bash") as kernel:
            kernel.run("trap 'echo before' DEBUG")
            self.assertEqual(kernel.run("echo one").out.splitlines()[-2:], ["before", "one"])
            self.assertEqual(kernel.run("trap - DEBUG; echo two").out.splitlines()[-1], "two")

    def test_names_that_bash_cannot_have_are_refused_and_the_others_set(self):
        with Kernel("bash") as kernel:
            for name in ("a.b", "1st", "a[$(touch evaluated)]", "é", "x y"):
                self.assertEqual(kernel.bind({name: "v", "GOOD": name}).status, "error", name)
                self.assertEqual(kernel.run('printf %s "$GOOD"').out, name)
            self.assertFalse(os.path.exists(os.path.join(kernel.folder, "evaluated")))

    def test_variables_that_bash_evaluates_are_left_alone(self):
        with Kernel("bash") as kernel:
            numbers = kernel.run("declare -pi | sed 's/^declare -[a-z]* //; s/=.*//'").out.split()
            self.assertIn("RANDOM", numbers)
            prompts = ["PROMPT_COMMAND", "PS0", "PS1", "PS2", "BASH_ENV", "SECONDS", "LINENO", "IFS", "MAILCHECK"]
            outcome = kernel.bind({name: "a[$(touch evaluated)]" for name in numbers + prompts})
            self.assertEqual((outcome.status, outcome.err), ("ok", ""))
            outcome = kernel.run("echo $((SECONDS < 60)) $IFS; bash -c :; echo 'a b' | wc -w")
            self.assertEqual((outcome.status, outcome.out, outcome.err), ("ok", "1\n2\n", ""))
            self.assertFalse(os.path.exists(os.path.join(kernel.folder, "evaluated")))

    def out(self, code):
        outcome = self.kernel.run(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.out

    def test_any_text_is_a_cell(self):
        self.assertEqual(self.out("echo 'a'\\''b' \"c'd\" $'e\\nf' `echo g`"), "a'b c'd e\nf g\n")
        self.assertEqual(self.out("cat <<'EOF'\n$x 'y'\nEOF"), "$x 'y'\n")
        self.assertEqual(self.out(""), "")
        self.assertEqual(self.out("# only a comment"), "")
        self.assertEqual(self.out("echo é"), "é\n")
        self.assertEqual(len(self.out("echo " + "x" * 200_000)), 200_001)
        self.assertEqual(self.kernel.run(b"echo a\0b").error.type, "SyntaxError")
        for code in ("echo 'open", 'echo "open', "echo $(open", "cat <<EOF", "if :", "{", "}", "case x in", "x=(", "[["):
            self.kernel.run(code)
            self.assertEqual(self.out("echo fine"), "fine\n", code)
            self.kernel.run(code)
            self.assertTrue(self.kernel.complete("ech")[2])

    def test_redirections_by_exec_last_and_can_be_undone(self):
        self.kernel.run("exec 7>&1 >kept.txt; echo to the file")
        self.assertEqual(self.out("echo more; exec 1>&7 7>&-; cat kept.txt"), "to the file\nmore\n")

    def test_options_that_would_end_a_script_are_answers(self):
        self.assertEqual(self.kernel.run("set -u; echo $never_set").status, "error")
        self.assertEqual(self.out("set +u; echo alive"), "alive\n")
        self.assertEqual(self.kernel.run("break; return 3").status, "error")
        self.assertEqual(self.out("set -o pipefail; false | true || echo failed"), "failed\n")

    def test_a_prompt_that_the_code_sets_is_shown_to_nobody(self):
        prompts = ("PS1='one> ' PS2='two> '; PROMPT_COMMAND='echo PC'", "PROMPT_COMMAND=(: 'echo PC'); PS0=zero; export PS1='one> '",
                   "PS1='one> '; echo go; sleep 60", "set -u; PS1='one> '; set +u")
        for prompt in prompts:
            with Kernel("bash") as kernel:
                kernel.run(prompt, interrupt_on=b"go")
                for _ in range(2):
                    outcome = kernel.run("echo hi")
                    self.assertEqual((outcome.status, outcome.out, outcome.err), ("ok", "hi\n", ""), prompt)

    def test_a_prompt_of_the_environment_is_shown_to_nobody(self):
        with Kernel("bash", env={"PS0": "zero", "PS1": "one> ", "PROMPT_COMMAND": "echo PC"}) as kernel:
            outcome = kernel.run("echo hi")
            self.assertEqual((outcome.out, outcome.err), ("hi\n", ""))

    def test_a_prompt_that_cannot_be_taken_back_breaks_nothing(self):
        with Kernel("bash") as kernel:
            kernel.run("set -e; readonly PS1 PS2 PS0= PROMPT_COMMAND=")
            self.assertEqual((kernel.run("echo hi").out, kernel.run("f() { return 7; }; f || echo $?").out), ("hi\n", "7\n"))

    def test_bash_does_not_log_out_for_want_of_cells(self):
        for kernel, code in ((Kernel("bash", env={"TMOUT": "1"}), "kept=5"), (Kernel("bash"), "set -e; TMOUT=1 kept=5")):
            with kernel:
                kernel.run(code)
                with self.assertRaises(TimeoutError):
                    kernel.more_output(b"timed out", timeout=1.5)
                self.assertEqual(kernel.run("echo $kept").out, "5\n", code)

    def test_a_trace_shows_the_code_alone(self):
        with Kernel("bash") as kernel:
            kernel.run("set -v")
            self.assertEqual(kernel.run("echo hi").err, "")
            kernel.run("set -x")
            self.assertTrue(kernel.complete("ech")[2])
            self.assertEqual(kernel.bind({"GOOD": "v"}).status, "ok")
            outcome = kernel.run("echo $GOOD")
            self.assertEqual((outcome.out, outcome.err), ("v\n", "+ builtin eval 'echo $GOOD'\n++ echo v\n"))
            outcome = kernel.run("false")
            self.assertEqual((outcome.error.message, outcome.err), ("exit status 1", "+ builtin eval false\n++ false\n"))

    def test_exit_ends_the_context_with_its_code(self):
        for code, status in (("exit 3", 3), ("set -e; false; echo not reached", 1), ("exec sh -c 'exit 6'", 6)):
            with Kernel("bash") as kernel:
                with self.assertRaises(Died) as death:
                    kernel.run(code)
                self.assertEqual((death.exception.code, death.exception.outcome.out), (status, ""), code)

    def test_a_killed_shell_ends_the_context_by_the_same_signal(self):
        with Kernel("bash") as kernel:
            with self.assertRaises(Died) as death:
                kernel.run("kill -9 $BASHPID")
            self.assertEqual(death.exception.code, -9)

    def test_children_have_no_descriptors_but_their_streams(self):
        self.assertEqual(self.out("ls -l /proc/self/fd | grep -c 'pipe:'"), "2\n")  # stdout to grep, and stderr

    def test_background_jobs_live_on_and_survive_interrupts(self):
        # Until it has become another program, the child of a shell can still be interrupted.
        self.kernel.run('sleep 60 & job=$!; until [ "$(cat /proc/$job/comm)" = sleep ]; do :; done')
        self.assertEqual(self.kernel.run("echo go; sleep 60", interrupt_on=b"go").status, "interrupted")
        self.assertEqual(self.out("kill -0 $job && echo alive; kill $job"), "alive\n")

    def test_a_trap_of_the_user_sees_the_interrupt(self):
        outcome = self.kernel.run("trap 'echo trapped; trap - INT' INT; (echo go; exec sleep 60); echo after", interrupt_on=b"go")
        self.assertEqual(outcome.out, "go\ntrapped\nafter\n")

    def test_an_interrupt_that_the_code_sends_itself_is_an_answer(self):
        for code in ("kill -INT $$", "kill -INT 0", "x=$(sh -c 'kill -INT $$')", "sleep 0.6; kill -INT $$"):
            with Kernel("bash") as kernel:
                outcome = kernel.run("kept=5; %s; echo not reached" % code)
                self.assertEqual((outcome.status, outcome.error.message, outcome.out), ("error", "exit status 130 (Interrupt)", ""), code)
                self.assertEqual(kernel.run("echo $kept").out, "5\n", code)

    def test_a_long_cell_is_interrupted_as_a_short_one(self):
        outcome = self.kernel.run("sleep 0.6; echo go; while :; do :; done", interrupt_on=b"go")
        self.assertEqual((outcome.status, outcome.out, outcome.err.strip()), ("interrupted", "go\n", ""))
        self.assertEqual(self.out("sleep 0.6; echo fine"), "fine\n")
        self.assertEqual(self.out("echo fine"), "fine\n")

    def test_pipelines_and_substitutions_are_interrupted(self):
        for code in ("echo go; sleep 60 | cat", "echo go; x=$(sleep 60)", "echo go; bash -c 'sleep 60'; echo no", "f() { echo go; sleep 60; }; f; f"):
            outcome = self.kernel.run(code, interrupt_on=b"go")
            self.assertEqual((outcome.status, outcome.out.strip()), ("interrupted", "go"), code)

    def test_sigint_while_idle_does_nothing(self):
        for _ in range(10):
            self.kernel.interrupt()
        self.assertEqual(self.out("echo fine"), "fine\n")

    def test_a_storm_of_interrupts_never_breaks_the_protocol(self):
        # None with $(…): bash 5.2 can send itself SIGINT for ever when one comes just as it begins to wait for a substitution.
        # Nothing but an end helps then, which is up to who waits for the cell.
        cells = ("echo one", "for i in 1 2 3; do echo $i; done", "sleep 0.01", "false", "echo a\necho b\necho c\n" * 20, "(echo sub)", "while :; do :; done")
        randomness = random.Random(3)
        with Kernel("bash") as kernel:
            kernel.run("stormy=kept")
            with kernel.storm(lambda: randomness.random() * 0.003):
                until = time.monotonic() + 3
                while time.monotonic() < until:
                    outcome = kernel.run(randomness.choice(cells))
                    self.assertNotIn("command not found", outcome.err)
            self.assertEqual(kernel.run("echo $stormy").out, "kept\n")
            self.assertTrue(kernel.complete("ech")[2])

    def test_shutdown_runs_exit_traps(self):
        with Kernel("bash") as kernel:
            kernel.run("trap 'echo bye' EXIT")
            self.assertTrue(kernel.ping().pong)
            kernel.send(SHUTDOWN)
            first = kernel.answer()
            self.assertEqual(first.status, "ok")
            with self.assertRaises(Died) as death:
                kernel.answer()
            self.assertEqual((death.exception.code, first.out + death.exception.outcome.out), (0, "bye\n"))

    def test_a_shutdown_on_the_heels_of_a_cell_runs_exit_traps(self):
        for _ in range(10):
            with Kernel("bash") as kernel:
                kernel.post("trap 'echo bye' EXIT")
                kernel.request = 0  # the driver awaits one number at a time
                kernel.send(SHUTDOWN)
                said = kernel.answer().out + kernel.answer().out
                with self.assertRaises(Died) as death:
                    kernel.answer()
                self.assertEqual((death.exception.code, said + death.exception.outcome.out), (0, "bye\n"))

    def test_a_killed_kernel_leaves_no_shell(self):
        with Kernel("bash") as kernel:
            pid = int(kernel.run("echo $$").out)
            kernel.process.kill()
            kernel.process.wait()
            until = time.monotonic() + 30
            while self.lives(pid):
                self.assertLess(time.monotonic(), until, "bash lives on")
                time.sleep(0.01)

    @staticmethod
    def lives(pid):
        try:
            with open("/proc/%d/stat" % pid) as file:
                return file.read().split(")")[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_completion(self):
        self.kernel.run("completable=1; completing() { :; }")
        self.assertEqual(self.kernel.complete("echo $completab"), (5, 15, ["$completable"]))
        self.assertEqual(self.kernel.complete("completin"), (0, 9, ["completing"]))

    def test_requests_that_come_together_are_answered_in_order(self):
        self.kernel.post("sleep 0.05")
        first = self.kernel.request
        self.kernel.send(2)
        self.kernel.request = first
        self.assertEqual(self.kernel.answer().status, "ok")
        self.kernel.request = first + 1
        self.assertTrue(self.kernel.answer().pong)
