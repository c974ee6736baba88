package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import dev.carrel.engine.testkit.Eventually;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cases K and C: code in a kernel can spoil its own context and nothing else. */
@ExtendWith(Carrel.class)
class KernelAbuseIT {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "import os; os._exit(3)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import ctypes; ctypes.string_at(0)",
      })
  void k01AKernelThatDiesIsReportedAndReplaced(String code, Api api) {
    try (Box box = api.create("{}")) {
      box.python("x = 1");
      JsonNode dead = box.python(code);
      assertThat(dead.get("success").asBoolean()).isFalse();
      assertThat(dead.get("state").asText()).isEqualTo("lost");
      assertThat(dead.get("error").get("message").asText()).isNotBlank();
      JsonNode next = box.python("'x' in globals()");
      assertThat(next.get("result").get("text/plain").asText()).isEqualTo("False");
    }
  }

  @Test
  void k01EndlessRecursionIsAnErrorAndStateIsKept(Api api) {
    try (Box box = api.create("{}")) {
      box.python("x = 41");
      JsonNode result = box.python("def f(): return f()\nf()");
      assertThat(result.get("error").get("type").asText()).isEqualTo("RecursionError");
      assertThat(box.python("x + 1").get("result").get("text/plain").asText()).isEqualTo("42");
    }
  }

  @Test
  void k01ABusyLoopIsInterruptedAndStateIsKept(Api api) {
    try (Box box = api.create("{}")) {
      box.python("x = 41");
      JsonNode result = box.code("python", "while True: pass", 1);
      assertThat(result.get("timed_out").asBoolean()).isTrue();
      assertThat(result.get("state").asText()).isEqualTo("kept");
      assertThat(box.python("x + 1").get("result").get("text/plain").asText()).isEqualTo("42");
    }
  }

  @Test
  void k01CodeThatIgnoresInterruptsIsKilledAndSaysSo(Api api) {
    try (Box box = api.create("{}")) {
      JsonNode result =
          box.code(
              "python",
              "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
              1);
      assertThat(result.get("timed_out").asBoolean()).isTrue();
      assertThat(result.get("state").asText()).isEqualTo("lost");
      assertThat(box.python("6*7").get("result").get("text/plain").asText()).isEqualTo("42");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "import sys; sys.stdout = None; sys.stderr = None; sys.displayhook = None",
        "import os; os.close(1); os.close(2)",
        "import builtins; builtins.repr = None; builtins.compile = None; builtins.print = None",
      })
  void k02AKernelThatSpoilsItselfNeverSpoilsTheServer(String code, Api api) {
    try (Box box = api.create("{}")) {
      api.post(
          box.path() + "/code",
          Api.object().put("language", "python").put("code", code).put("timeout_seconds", 5));
      assertThat(box.shell("echo alive")).startsWith("alive");
      assertThat(api.get("/health").status()).isEqualTo(200);
      try (Box other = api.create("{}")) {
        assertThat(other.python("6*7").get("result").get("text/plain").asText()).isEqualTo("42");
      }
    }
  }

  /** Its channel to the server is a pipe that only it writes to. */
  @Test
  void k02AForgedFrameEndsItsKernelAndNothingElse(Api api) {
    String forge =
        """
        import fcntl, os, stat, time
        def is_control(fd):
            try:
                pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
                return pipe and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
            except OSError:
                return False
        for fd in [fd for fd in range(3, 1100) if is_control(fd)]:
            os.write(fd, b'\\xff' * 64)
        time.sleep(50)
        """;
    try (Box box = api.create("{}")) {
      JsonNode forged = box.code("python", forge, 40);
      assertThat(forged.get("state").asText()).as(forged.toString()).isEqualTo("lost");
      assertThat(forged.get("timed_out").asBoolean()).as(forged.toString()).isFalse();
      assertThat(box.python("6*7").get("result").get("text/plain").asText()).isEqualTo("42");
    }
  }

  /** Python runs lines of such files at its start: also where that start was somebody else's. */
  @ParameterizedTest
  @ValueSource(strings = {"plain", "ipython"})
  void k03WhatTheSandboxKeepsForItsInterpretersRunsAsItsUser(String preload, Api api) {
    try (Box box = api.create("{}")) {
      String command = box.shell("echo $(id -u) $(grep CapEff /proc/self/status | cut -f2)");
      box.exec(
          """
          folder=$(python3 -c 'import site; print(site.getusersitepackages())')
          mkdir -p "$folder"
          cat > "$folder/attack.pth" << 'END'
          import os, site; caps = [l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')]; open(site.getuserbase() + '/seen', 'a').write('%d %s\\n' % (os.getuid(), caps[0]))
          END
          """);
      awaitFork(box, preload);
      // Another look at the packages, where the interpreter has not had one yet.
      ObjectNode cell = Api.object().put("context_id", context(box, preload).get("id").asText());
      api.post(box.path() + "/code", cell.put("code", "import there_is_no_such_package"));

      String seen = box.exec("sort -u ~/.local/seen").get("stdout").asText();
      assertThat(seen).isEqualTo(command.lines().findFirst().orElseThrow() + "\n");
    }
  }

  /** Where interpreters are forked: until one is, which the first requests set going. */
  private static void awaitFork(Box box, String preload) {
    if (Carrel.ENGINE.equals("native")) {
      Eventually.holds(
          "a warm interpreter is forked",
          Duration.ofSeconds(60),
          () -> {
            JsonNode context = context(box, preload);
            box.api().call("DELETE", box.path() + "/contexts/" + context.get("id").asText(), "");
            return context.get("start").asText().equals("zygote");
          });
    }
  }

  private static JsonNode context(Box box, String preload) {
    ObjectNode body = Api.object().put("language", "python").put("preload", preload);
    return box.api().post(box.path() + "/contexts", body).json();
  }

  @Test
  void c01ThePid1OfTheSandboxCannotBeSignalledOrStopped(Api api) {
    try (Box box = api.create("{}")) {
      for (String signal : new String[] {"KILL", "STOP", "TERM", "INT", "HUP", "CHLD", "USR1"}) {
        box.exec("kill -" + signal + " 1; kill -" + signal + " -1; true");
        assertThat(box.shell("echo alive")).as(signal).startsWith("alive");
      }
    }
  }

  @Test
  void c03NoTokenOfTheServerIsInside(Api api) throws java.io.IOException {
    try (Box box = api.create("{}")) {
      String everything =
          box.exec("cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; env")
              .get("stdout")
              .asText();
      assertThat(everything).doesNotContain(Carrel.token());
    }
  }
}
