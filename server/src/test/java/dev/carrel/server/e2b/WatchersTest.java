package dev.carrel.server.e2b;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.files.Files;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.Eventually;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SharedServer;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@Timeout(60)
@ExtendWith(SharedServer.class)
class WatchersTest {
  private static final Caller ADA = Caller.user("acme", "ada");
  private static final Home HOME = Home.of("/workspace");

  private final Files files;
  private final SandboxId sandbox;

  WatchersTest(LiveServer server) {
    this.files = server.control().files();
    this.sandbox = new SandboxId(server.sandboxId());
  }

  @Test
  void oneThatNobodyAsksForEndsAlsoWhenNoOtherComes() {
    try (var watchers = new Watchers(Duration.ofSeconds(1), Duration.ofMillis(20))) {
      String id =
          watchers.add(sandbox, HOME, files.watch(ADA, sandbox, "/workspace", false), false);
      assertThat(watchers.require(sandbox, id).withEntry()).isFalse();
      Eventually.until("it has ended", () -> isGone(watchers, id));
    }
  }

  private boolean isGone(Watchers watchers, String id) {
    try {
      watchers.require(sandbox, id);
      return false;
    } catch (SandboxException e) {
      return e.code() == ErrorCode.FILE_NOT_FOUND;
    }
  }

  @Test
  void oneThatIsAskedForStays() throws Exception {
    try (var watchers = new Watchers(Duration.ofMinutes(1), Duration.ofMillis(5))) {
      String id =
          watchers.add(sandbox, HOME, files.watch(ADA, sandbox, "/workspace", false), false);
      assertThat(watchers.require(sandbox, id).take()).isEmpty();
      watchers.remove(sandbox, id);
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> watchers.require(sandbox, id));
    }
  }
}
