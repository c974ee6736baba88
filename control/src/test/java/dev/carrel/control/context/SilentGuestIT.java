package dev.carrel.control.context;

import static dev.carrel.control.ControlFixture.ALICE;
import static dev.carrel.control.ControlFixture.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.ControlFixture;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.spi.Language;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** What becomes of contexts while their sandbox's guest does not answer. */
final class SilentGuestIT {
  @Test
  void serverThatLeavesWaitsForNoInterrupt() throws Exception {
    try (var fixture = new ControlFixture()) {
      Sandbox sandbox = fixture.sandbox();
      Contexts contexts = fixture.control().contexts();
      contexts.start(ALICE, sandbox.id(), ExecuteCode.of(Language.PYTHON, "while True: pass"));
      eventually(() -> only(contexts, sandbox).status() == Context.Status.BUSY);
      String guest = guest(fixture.run().resolve(sandbox.id().value()));
      signal("STOP", guest);
      try {
        Thread interrupting =
            Thread.ofPlatform()
                .start(() -> contexts.interrupt(ALICE, sandbox.id(), only(contexts, sandbox).id()));
        eventually(() -> waitsForTheGuest(interrupting));
        Thread leaving = Thread.ofPlatform().start(contexts::close);

        assertThat(leaving.join(Duration.ofSeconds(20))).as("it has left").isTrue();
      } finally {
        signal("CONT", guest);
      }
    }
  }

  private static boolean waitsForTheGuest(Thread thread) {
    for (StackTraceElement frame : thread.getStackTrace()) {
      if (frame.getClassName().endsWith(".SocketChannelImpl")) {
        return true;
      }
    }
    return !thread.isAlive();
  }

  private static Context only(Contexts contexts, Sandbox sandbox) {
    return contexts.list(ALICE, sandbox.id()).getFirst();
  }

  private static String guest(Path folder) throws IOException {
    var state = new Properties();
    try (var text = Files.newInputStream(folder.resolve("process.properties"))) {
      state.load(text);
    }
    return String.valueOf(state.getProperty("pid"));
  }

  private static void signal(String name, String pid) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, pid).start().waitFor();
  }
}
