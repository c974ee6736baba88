package dev.carrel.e2e.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Cases R: a sandbox hurts only itself, and says what it ran into. */
@ExtendWith(Carrel.class)
class ResourceIT {
  @Test
  void r01AForkBombIsHeldAndTheSandboxStaysUsable(Api api) {
    try (Box box = api.create("{\"pids\": 64}")) {
      if (Carrel.OWN_KERNEL) {
        // Its threads are bounded on the host; where they run out all of it ends, and nobody
        // else's.
        box.tried("f() { f | f & }; f; sleep 3");
        try (Box other = api.create("{}")) {
          assertThat(other.shell("echo alive")).startsWith("alive");
        }
        return;
      }
      JsonNode bomb =
          box.exec("f() { f | f & }; f; for i in $(seq 200); do sleep 30 & done; sleep 30", 3);
      assertThat(
              bomb.get("timed_out").asBoolean() || !bomb.get("cause").asText().equals("returned"))
          .isTrue();
      assertThat(box.shell("echo alive")).startsWith("alive");
    }
  }

  @Test
  void r01HittingTheProcessLimitIsNamed(Api api) {
    try (Box box = api.create("{\"pids\": 32}")) {
      box.put(
          "forks.py",
          """
          import os, time
          for i in range(100):
              if os.fork() == 0:
                  time.sleep(20)
                  os._exit(0)
          """);
      JsonNode result = box.exec("exec /usr/bin/python3 /workspace/forks.py", 20);
      if (Carrel.OWN_KERNEL) {
        // gVisor counts no processes: its threads are bounded, far above this.
        assertThat(result.get("cause").asText()).isEqualTo("returned");
        return;
      }
      assertThat(result.get("exit_code").asInt()).isNotZero();
      assertThat(result.get("cause").asText()).isEqualTo("pids_limit");
      assertThat(result.get("hint").asText()).isNotBlank();
    }
  }

  @Test
  void r02AMemoryBalloonIsKilledInsideOnlyAndSaysWhy(Api api) {
    try (Box box = api.create("{\"memory_mb\": 96}")) {
      JsonNode result =
          box.exec(
              "exec /usr/bin/python3 -c 'x=bytearray(1<<20)\nwhile True: x+=bytearray(8<<20)'", 30);
      if (Carrel.OWN_KERNEL) {
        // The limit is the machine's, so all of it ends, and nobody else's.
        assertThat(result.get("cause").asText()).isIn("out_of_memory", "sandbox_lost");
        try (Box other = api.create("{}")) {
          assertThat(other.shell("echo alive")).startsWith("alive");
        }
        return;
      }
      assertThat(result.get("cause").asText()).isEqualTo("out_of_memory");
      // What was counted before is not the next one's.
      assertThat(box.exec("exit 3", 10).get("cause").asText()).isEqualTo("returned");
      assertThat(result.get("hint").asText()).contains("memory");
      assertThat(box.shell("echo alive")).startsWith("alive");
    }
  }

  @Test
  void r02AKillThatIsNotForMemoryIsNotCalledSo(Api api) {
    try (Box box = api.create("{}")) {
      assertThat(box.exec("kill -9 $$").get("cause").asText()).isEqualTo("signalled");
      assertThat(box.exec("kill -SEGV $$").get("cause").asText()).isEqualTo("crashed");
      assertThat(box.exec("exit 137").get("cause").asText()).isEqualTo("returned");
    }
  }

  @Test
  void r02r03FillingTheDiskIsAnErrorNotADeath(Api api) {
    try (Box box = api.create("{\"memory_mb\": 128, \"disk_mb\": 16}")) {
      JsonNode full =
          box.exec(
              "dd if=/dev/zero of=/workspace/big bs=1M count=512 2>&1; dd if=/dev/zero of=/tmp/big"
                  + " bs=1M count=512 2>&1; true");
      assertThat(full.get("cause").asText()).isEqualTo("returned");
      assertThat(full.get("stdout").asText()).contains("No space left");
      assertThat(api.bytes("PUT", box.path() + "/files/more", new byte[32 << 20]).status())
          .isEqualTo(507);
      assertThat(box.shell("rm /workspace/big && echo room > /workspace/x && cat /workspace/x"))
          .startsWith("room");
    }
  }

  @Test
  void r03DeepTreesAreDeletable(Api api) {
    try (Box box = api.create("{}")) {
      box.put(
          "deep.py",
          """
          import os
          os.chdir('/workspace')
          os.mkdir('deep')
          os.chdir('deep')
          for i in range(3000):
              os.mkdir('d' * 100)
              os.chdir('d' * 100)
          """);
      assertThat(box.exec("/usr/bin/python3 /workspace/deep.py").get("exit_code").asInt()).isZero();
      assertThat(api.call("DELETE", box.path() + "/files/deep?recursive=true", "").status())
          .isEqualTo(204);
      assertThat(box.shell("ls /workspace")).doesNotContain("deep\n");
    }
  }

  @Test
  void r05AFloodOfOutputIsBoundedAndDeclared(Api api) {
    try (Box box = api.create("{}")) {
      JsonNode result = box.exec("head -c 200000000 /dev/zero | tr '\\0' x");
      assertThat(result.get("stdout").asText().length()).isLessThan(1_000_000);
      assertThat(result.get("stdout_truncated").asBoolean()).isTrue();
      assertThat(result.get("exit_code").asInt()).isZero();
    }
  }

  @Test
  void r06StandardInputThatNobodyReadsBlocksNobody(Api api) {
    try (Box box = api.create("{}")) {
      JsonNode result =
          api.post(
                  box.path() + "/exec",
                  Api.object().put("command", "exit 3").put("stdin", "x".repeat(500_000)))
              .json();
      assertThat(result.get("exit_code").asInt()).isEqualTo(3);
    }
  }

  @Test
  void r07NothingOutlivesItsTimeout(Api api) {
    try (Box box = api.create("{}")) {
      box.put(
          "evade.py",
          """
          import os, signal, time
          for number in (1, 2, 3, 15): signal.signal(number, signal.SIG_IGN)
          if os.fork() == 0:
              os.setsid()
              if os.fork() == 0:
                  open('/workspace/daemon', 'w').write(str(os.getpid()))
                  time.sleep(600)
              os._exit(0)
          os.wait()
          time.sleep(600)
          """);
      Instant start = Instant.now();
      JsonNode result = box.exec("/usr/bin/python3 /workspace/evade.py; echo survived", 3);
      assertThat(Duration.between(start, Instant.now())).isLessThan(Duration.ofSeconds(12));
      assertThat(result.get("timed_out").asBoolean()).isTrue();
      assertThat(result.get("stdout").asText()).doesNotContain("survived");
      if (Carrel.OWN_KERNEL) {
        return; // whom nobody waits for goes to the first process there, and ends with the sandbox
      }
      assertThat(box.shell("kill -0 $(cat /workspace/daemon) 2>&1; true"))
          .contains("No such process");
    }
  }

  @Test
  void r10AStormOfSandboxesIsServed(Api api) throws Exception {
    try (var threads = java.util.concurrent.Executors.newVirtualThreadPerTaskExecutor()) {
      var futures = new java.util.ArrayList<java.util.concurrent.Future<String>>();
      for (int i = 0; i < 60; i++) {
        futures.add(
            threads.submit(
                () -> {
                  try (Box box = api.create("{}")) {
                    return box.shell("echo ok");
                  }
                }));
      }
      for (var future : futures) {
        assertThat(future.get()).startsWith("ok");
      }
    }
  }
}
