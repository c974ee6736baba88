import os
import random
import time
import unittest

from bindings import Bindings
from driver import Died, Kernel, KernelCase


class RKernel(Bindings, KernelCase):
    language = "r"

    def own(self, name):
        return "cat(Sys.getenv('%s'))" % name

    def of_child(self):
        return "invisible(system('env -0 > child'))"

    def test_few_descriptors_are_enough(self):
        # R itself refuses to start with 128.
        self.assertEqual(self.answers_with(256, "1 + 1"), "[1] 2")

    def test_methods_of_the_user_print(self):
        self.assertEqual(self.value("print.own <- function(x, ...) cat('my own\\n')\nstructure(1, class = 'own')"), "my own")
        self.assertIn('"P"', self.value("P <- setClass('P', representation(n = 'numeric')); P(n = 1)"))
        self.assertEqual(self.value("setMethod('show', 'P', function(object) cat('shown\\n')); P(n = 2)"), "shown")

    def test_a_huge_value_is_cut(self):
        text = self.value("options(max.print = 1e7); 1:2e6")
        self.assertIn("bytes in all, the first", text)
        self.kernel.run("options(max.print = 99999)")

    def test_forms_that_are_too_large_are_left_out_and_named(self):
        outcome = self.kernel.run("display(raw(70 * 1024^2), 'image/png'); display('<b>', 'text/html')")
        note = b"[image/png left out: 73400320 bytes, the limit is 16777216]"
        self.assertEqual(outcome.displays, [{"text/plain": note}, {"text/html": b"<b>"}])
        outcome = self.kernel.run("structure(strrep('x', 17 * 1024^2), class = 'html')")
        self.assertEqual(list(outcome.result), ["text/plain"])
        self.assertLess(len(outcome.text), 2 << 20)
        self.assertTrue(outcome.text.endswith("[text/html left out: 17825792 bytes, the limit is 16777216]"))

    def test_text_of_every_kind(self):
        self.assertEqual(self.value("'é ü 漢'"), '[1] "é ü 漢"')
        self.assertEqual(self.kernel.run("cat('漢\\n')").out, "漢\n")
        self.assertEqual(self.kernel.run(b"x <- 'a\0b'").error.message, "the code contains a NUL byte, which R cannot read")
        self.assertIsNone(self.value(""))
        self.assertIsNone(self.value("# only a comment"))

    def test_errors_have_their_class_and_the_users_calls(self):
        error = self.kernel.run("stop(structure(class = c('ownError', 'error', 'condition'), list(message = 'm', call = NULL)))").error
        self.assertEqual((error.type, error.message, error.traceback), ("ownError", "m", "Error: m"))
        error = self.kernel.run("sqrt('a')").error
        self.assertIn('Error in sqrt("a")', error.traceback)
        error = self.kernel.run("f <- function() f(); f()").error
        self.assertRegex(error.message, "nested too deeply|C stack usage")
        self.assertEqual(self.value("1"), "[1] 1")

    def test_warnings_go_to_stderr_or_become_errors(self):
        self.assertIn("Warning: careful", self.kernel.run("warning('careful')").err)
        self.assertIn("Warning in f(): inside", self.kernel.run("f <- function() warning('inside'); f()").err)
        self.assertEqual(self.kernel.run("suppressWarnings(warning('w')); 1").err, "")
        self.assertEqual(self.kernel.run("options(warn = 2); as.numeric('a')").status, "error")
        self.kernel.run("options(warn = 1)")

    def test_only_what_was_drawn_is_shown(self):
        self.assertEqual(self.kernel.run("library(grid)").displays, [])
        outcome = self.kernel.run("plot(1); plot(2); hist(c(1, 2, 3)); 'done'")
        self.assertEqual([list(shown) for shown in outcome.displays], [["image/png"]] * 3)
        self.assertTrue(all(shown["image/png"].startswith(b"\x89PNG") for shown in outcome.displays))
        outcome = self.kernel.run("plot(3); stop('after drawing')")
        self.assertEqual((outcome.status, len(outcome.displays)), ("error", 1))
        self.assertEqual(self.kernel.run("png('own.png'); plot(1); invisible(dev.off()); file.exists('own.png')").displays, [])
        self.assertEqual(self.kernel.run("graphics.off(); options(device = NULL)").status, "ok")
        self.assertEqual(len(self.kernel.run("plot(1)").displays), 1)

    def test_a_widget_is_one_page_without_other_files(self):
        folder = os.path.join(self.kernel.folder, "widgets")
        os.makedirs(folder)
        with open(os.path.join(folder, "w.js"), "w") as file:
            file.write("var note = '</script>';")
        code = (
            "dependency <- htmltools::htmlDependency('w', '1', src = c(file = '%s'), script = 'w.js')\n"
            "htmlwidgets::createWidget('probe', list(n = 7), package = 'htmlwidgets', dependencies = list(dependency))" % folder
        )
        outcome = self.kernel.run(code)
        self.assertEqual(outcome.text, "<htmlwidget probe>")
        html = outcome.result["text/html"].decode()
        self.assertIn("<\\/script>", html)
        self.assertNotIn('src="lib/', html)
        self.assertIn('"n":7', html)

    def test_the_users_sinks_are_the_users(self):
        self.assertEqual(self.kernel.run("sink('sunk.txt'); print('hidden')").out, "")
        self.assertEqual(self.value("5"), "[1] 5")
        self.assertEqual(self.kernel.run("sink(); readLines('sunk.txt')").text, '[1] "[1] \\"hidden\\""')

    def test_the_kernel_is_out_of_reach(self):
        self.kernel.run("rm(list = ls(all.names = TRUE)); send <- frame <- text <- print <- c <- function(...) stop('hijacked')")
        outcome = self.kernel.run("7")
        self.kernel.run("rm(list = ls())")
        self.assertEqual(outcome.text, "[1] 7")

    def test_all_connections_of_the_user_can_be_closed(self):
        code = "own <- file('own.txt', 'w'); sink('sunk.txt'); closeAllConnections(); c(nrow(showConnections()), sink.number())"
        self.assertEqual(self.value(code), "[1] 2 0")
        self.assertEqual(self.kernel.run("close(own)").status, "error")
        self.assertEqual(self.value("cat('still here\\n'); 8"), "[1] 8")

    def test_errors_in_any_encoding_are_told(self):
        odd = "x <- rawToChar(as.raw(rep(255, %d)));"
        self.assertEqual(self.kernel.run(odd % 2 + "stop(simpleError(x))").error.message, "<ff><ff>")
        self.assertTrue(self.kernel.run(odd % 300000 + "stop(simpleError(x))").error.message.endswith("<ff>\n[... cut]"))
        self.assertIn("ff", self.kernel.run(odd % 2 + "Encoding(x) <- 'bytes'; stop(simpleError(x))").error.message)
        self.assertEqual(self.kernel.run("x <- 'caf\\xe9'; Encoding(x) <- 'latin1'; stop(x)").error.message, "café")
        self.assertEqual(self.value("9"), "[1] 9")

    def test_interrupts_keep_the_state(self):
        self.kernel.run("kept <- 'yes'")
        for code in ("repeat {}", "Sys.sleep(60)", "while (TRUE) sum(runif(1e4))", "lapply(1, function(i) repeat {})"):
            outcome = self.kernel.run("cat('go\\n'); " + code, interrupt_on=b"go")
            self.assertEqual((outcome.status, outcome.error.type), ("interrupted", "interrupt"), code)
        self.assertEqual(self.value("kept"), '[1] "yes"')
        outcome = self.kernel.run("tryCatch({ cat('go\\n'); repeat {} }, interrupt = function(e) 'handled')", interrupt_on=b"go")
        self.assertEqual((outcome.status, outcome.text), ("ok", '[1] "handled"'))

    def test_sigint_while_idle_does_nothing(self):
        for _ in range(10):
            self.kernel.interrupt()
        self.assertTrue(self.kernel.ping().pong)
        self.assertEqual(self.value("6"), "[1] 6")

    def test_a_storm_of_interrupts_never_breaks_the_protocol(self):
        # No Sys.sleep(): one that finds an interrupt waiting leaves R with a handler that jumps into its frame, which is gone by the next
        # interrupt (R_SelectEx). A third of such storms end R so, whatever a kernel does.
        cells = (
            "1 + 1",
            "for (i in 1:50) cat(i, '\\n')",
            "display(strrep('x', 1000))",
            "as.list(1:100)",
            "stop('no')",
            "tryCatch(repeat {}, interrupt = function(e) 'handled')",
            "plot(1:3)",
        )
        randomness = random.Random(5)
        with Kernel("r") as kernel:
            kernel.run("stormy <- 'kept'")
            with kernel.storm(lambda: randomness.random() * 0.0015):
                until = time.monotonic() + 4
                while time.monotonic() < until:
                    outcome = kernel.run(randomness.choice(cells))  # the driver checks every frame
                    self.assertIn(outcome.status, ("ok", "error", "interrupted"))
            self.assertEqual(kernel.run("stormy").text, '[1] "kept"')
            self.assertEqual(kernel.run("cat(sink.number(), length(dev.list()))").out, "0 0")

    def test_every_figure_is_shown_whatever_becomes_of_its_device(self):
        with Kernel("r") as kernel:
            for code in ("plot(1); dev.off(); plot(2)", "plot(1); dev.new(); plot(2)", "plot(1); plot(2); graphics.off()"):
                self.assertEqual(len(kernel.run(code).displays), 2, code)
                self.assertEqual(len(kernel.run("plot(3)").displays), 1, code)
            self.assertEqual(len(kernel.run("plot(1); dev.off(); pdf('own.pdf'); plot(2)").displays), 1)
            self.assertEqual(kernel.run("names(dev.list())").text, '[1] "pdf"')

    def test_a_forked_child_does_not_speak_the_protocol(self):
        outcome = self.kernel.run("plot(1); parallel::mclapply(1:2, function(i) { display(strrep('x', 1e5)); i })[[2]]")
        self.assertEqual((outcome.text, [list(bundle) for bundle in outcome.displays]), ("[1] 2", [["image/png"]]))

    def test_an_abort_ends_the_cell_alone(self):
        with Kernel("r") as kernel:
            outcome = kernel.run("kept <- 5; (function() invokeRestart('abort'))(); cat('not reached')")
            self.assertEqual((outcome.status, outcome.error.type, outcome.out), ("error", "abort", ""))
            self.assertEqual(kernel.run("kept").text, "[1] 5")

    def test_quit_ends_the_context_with_its_code(self):
        with Kernel("r") as kernel:
            with self.assertRaises(Died) as death:
                kernel.run("cat('last words\\n'); quit(status = 4)")
            self.assertEqual((death.exception.code, death.exception.outcome.out), (4, "last words\n"))

    def test_shutdown(self):
        with Kernel("r") as kernel:
            kernel.send(4)
            self.assertEqual(kernel.answer().status, "ok")
            self.assertEqual(kernel.exit_code(), 0)

    @unittest.skipUnless(os.getuid() == 0, "only root can become another user")
    def test_channels_that_it_may_not_open_anew_are_passed_on(self):
        with Kernel("r", user=65534) as kernel:
            self.assertEqual(kernel.run("1 + 1").text, "[1] 2")
            self.assertEqual(kernel.run("cat('go\\n'); repeat {}", interrupt_on=b"go").status, "interrupted")
            self.assertEqual(kernel.run("strrep('x', 3)").text, '[1] "xxx"')

    def test_completion(self):
        self.kernel.run("completable <- 1")
        self.assertEqual(self.kernel.complete("x <- completab"), (5, 14, ["completable"]))

    def test_requests_that_come_together_are_answered_in_order(self):
        self.kernel.post("Sys.sleep(0.05)")
        first = self.kernel.request
        self.kernel.send(2)
        self.kernel.request = first
        self.assertEqual(self.kernel.answer().status, "ok")
        self.kernel.request = first + 1
        self.assertTrue(self.kernel.answer().pong)
