package dev.carrel.control.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.control.admission.QueueSettings;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditQuery;
import dev.carrel.control.audit.AuditSettings;
import dev.carrel.control.audit.SigningKey;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.control.store.Database;
import dev.carrel.spi.SandboxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LiveSettingsTest {
  private static final Caller ADMIN = new Caller("acme", "root", Caller.Role.ADMIN);
  private static final Values CONFIGURED =
      new Values(SandboxSettings.defaults(), QueueSettings.defaults(), true);

  @TempDir private Path folder;

  @Test
  void aChangeOutlivesTheServerAndWinsOverItsConfiguration() {
    try (var server = new Server(folder)) {
      LiveSettings settings = server.settings();
      var told = new ArrayList<Values>();
      settings.listen((_, now) -> told.add(now));
      settings.change(
          ADMIN, Map.of("memory_mb", 96L, "cpu_cores", 0.5, "warm_pool_enabled", false));
      assertThat(settings.sandboxes().memoryMb()).isEqualTo(96);
      assertThat(told).containsExactly(settings.current());
      assertThat(server.audit.page(ADMIN, AuditQuery.newest(1)).getFirst().entry().details())
          .containsEntry("memory_mb", "96");
    }
    try (var server = new Server(folder)) {
      LiveSettings settings = server.settings();
      assertThat(settings.sandboxes().memoryMb()).isEqualTo(96);
      assertThat(settings.sandboxes().cpuCores()).isEqualTo(0.5);
      assertThat(settings.current().pools()).isFalse();
      settings.reset(ADMIN);
      assertThat(settings.current()).isEqualTo(CONFIGURED);
    }
    try (var server = new Server(folder)) {
      assertThat(server.settings().current()).isEqualTo(CONFIGURED);
    }
  }

  @Test
  void whatIsStoredButMakesNoSenseIsLeftAside() {
    try (var server = new Server(folder)) {
      server.database.write(
          handle ->
              handle.execute(
                  "INSERT INTO setting VALUES ('memory_mb', 'much', 0, 'x'), ('gone', '1', 0, 'x'),"
                      + " ('pids', '0', 0, 'x'), ('disk_mb', '77', 0, 'x')"));
      LiveSettings settings = server.settings();
      assertThat(settings.current())
          .isEqualTo(
              new Values(
                  CONFIGURED.sandboxes().with(draft -> draft.diskMb = 77),
                  CONFIGURED.queue(),
                  true));
    }
  }

  @Test
  void aStoredDefaultBeyondABoundThatWasLoweredSinceIsTheBound() {
    try (var server = new Server(folder)) {
      server.settings().change(ADMIN, Map.of("memory_mb", 4096L, "pids", 64L));
    }
    var stricter =
        new Values(
            CONFIGURED.sandboxes().with(draft -> draft.maxMemoryMb = 1024),
            CONFIGURED.queue(),
            true);
    try (var server = new Server(folder)) {
      LiveSettings settings = server.settings(stricter);
      assertThat(settings.sandboxes().memoryMb()).isEqualTo(1024);
      assertThat(settings.sandboxes().pids()).isEqualTo(64);
      // What has nothing to do with it can be changed.
      settings.change(ADMIN, Map.of("max_queued", 7L));
      assertThat(settings.current().queue().maxWaiting()).isEqualTo(7);
    }
    try (var server = new Server(folder)) {
      assertThat(server.settings().sandboxes().memoryMb()).isEqualTo(4096);
    }
  }

  /** Each is changed alone, so that none writes into another's place. */
  @Test
  void everySettingReadsWhatWasWritten() {
    for (LiveSetting setting : LiveSetting.ALL) {
      Object other =
          switch (setting.kind()) {
            case WHOLE -> (Long) setting.read(CONFIGURED) + 1;
            case DECIMAL -> (Double) setting.read(CONFIGURED) + 0.5;
            case FLAG -> !(Boolean) setting.read(CONFIGURED);
            case WORD -> "other";
          };
      Values values = setting.write(CONFIGURED, other);
      assertThat(setting.read(values)).as(setting.name()).isEqualTo(other);
      assertThat(setting.parse(other.toString())).isEqualTo(other);
      for (LiveSetting others : LiveSetting.ALL) {
        if (!others.equals(setting)) {
          assertThat(others.read(values)).as(others.name()).isEqualTo(others.read(CONFIGURED));
        }
      }
    }
  }

  @Test
  void whoIsNoAdministratorChangesNothing() {
    try (var server = new Server(folder)) {
      LiveSettings settings = server.settings();
      assertThatThrownBy(
              () -> settings.change(Caller.user("acme", "ann"), Map.of("memory_mb", 96L)))
          .isInstanceOf(SandboxException.class)
          .hasMessageContaining("administrator");
      assertThatThrownBy(() -> settings.change(ADMIN, Collections.singletonMap("nothing", null)))
          .isInstanceOf(SandboxException.class);
      assertThat(settings.current()).isEqualTo(CONFIGURED);
    }
  }

  /** As much of one as settings need. */
  private static final class Server implements AutoCloseable {
    private final Database database;
    private final Audit audit;

    Server(Path folder) {
      database = Database.open(folder.resolve("carrel.db"));
      audit =
          new Audit(
              database,
              AuditSettings.defaults(),
              folder,
              SigningKey.openOrCreate(folder.resolve("signing.key")));
    }

    LiveSettings settings() {
      return settings(CONFIGURED);
    }

    LiveSettings settings(Values configured) {
      return new LiveSettings(database, audit, configured);
    }

    @Override
    public void close() {
      audit.close();
      database.close();
    }
  }
}
