package dev.carrel.control.audit;

import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.store.Database;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** An audit on a database of its own, which a test may open, close and tamper with. */
final class Ledger implements AutoCloseable {
  static final Caller ADMIN = new Caller("default", "root", Caller.Role.ADMIN);
  static final SandboxId BOX = SandboxId.random();

  private final Path folder;
  private final AuditSettings settings;
  private Database database;
  private Audit audit;

  Ledger(Path folder) {
    this(folder, AuditSettings.defaults().withCheckpoints(1_000_000, Duration.ofHours(1)));
  }

  Ledger(Path folder, AuditSettings settings) {
    this.folder = folder;
    this.settings = settings;
    this.database = Database.open(file());
    this.audit = audit();
  }

  Path file() {
    return folder.resolve("carrel.db");
  }

  Path checkpoint() {
    return folder.resolve("audit.checkpoint");
  }

  Database database() {
    return database;
  }

  Audit get() {
    return audit;
  }

  void write(int count) {
    for (int i = 0; i < count; i++) {
      audit.write(entry("acme", i));
    }
  }

  static AuditEntry entry(String tenant, int number) {
    return new AuditEntry(
        new Who(tenant, "alice", "default", BOX),
        "exec.run",
        "ex_" + number,
        new RequestDigest().add("true").hex(),
        new Outcome("returned", 0, Duration.ofMillis(3), "out", "", List.of(), "none"),
        Map.of("command", "echo " + number));
  }

  /** Does something behind the server's back. */
  int tamper(String sql, Object... values) {
    return database.write(handle -> handle.execute(sql, values));
  }

  AuditVerdict verify() {
    return audit.verify(ADMIN);
  }

  /** Ends in order and begins again. */
  void restart() {
    close();
    open();
  }

  /** Begins again with the files as they are now: nothing is signed at the end. */
  void crash() {
    Map<Path, byte[]> now = files();
    close();
    try {
      for (Path file : files().keySet()) {
        Files.delete(file);
      }
      for (Map.Entry<Path, byte[]> file : now.entrySet()) {
        Files.write(file.getKey(), file.getValue());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    open();
  }

  void open() {
    database = Database.open(file());
    audit = audit();
  }

  @Override
  public void close() {
    audit.close();
    database.close();
  }

  private Map<Path, byte[]> files() {
    var found = new HashMap<Path, byte[]>();
    // The journal first: what goes from it to the database meanwhile is then in both.
    for (String name : List.of("audit.journal", "carrel.db", "carrel.db-wal", "audit.checkpoint")) {
      Path file = folder.resolve(name);
      try {
        if (Files.exists(file)) {
          found.put(file, Files.readAllBytes(file));
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return found;
  }

  private Audit audit() {
    return new Audit(
        database, settings, folder, SigningKey.openOrCreate(folder.resolve("signing.key")));
  }
}
