package dev.carrel.e2e.chaos;

import dev.carrel.engine.testkit.Eventually;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Random;

/** What goes wrong while clients are busy. */
enum Fault {
  SERVER_KILLED {
    @Override
    void strike(World world, Ledger ledger, Random random) {
      world.killServer();
    }
  },

  GUEST_KILLED {
    @Override
    void strike(World world, Ledger ledger, Random random) throws IOException {
      KnownBox box = ledger.any(random);
      if (box != null) {
        box.mayBecome("failed");
        box.machineMayEnd();
        world.guest(box.id()).ifPresent(ProcessHandle::destroyForcibly);
      }
    }
  },

  /** What makes sandboxes: those that exist must not notice. */
  SPAWN_SERVER_KILLED {
    @Override
    void strike(World world, Ledger ledger, Random random) {
      world.spawnServer().ifPresent(ProcessHandle::destroyForcibly);
    }
  },

  /**
   * The folder must be a small file system of its own. Files are in memory here: a volume takes its
   * space when it is written, so with a full disk below it is a failing disk, and what was not
   * synced may be lost.
   */
  DISK_FULL {
    @Override
    String sandbox() {
      return "{\"disk_mb\": 16, \"ephemeral\": true}";
    }

    @Override
    void strike(World world, Ledger ledger, Random random) throws IOException {
      Path filler = world.folder().resolve("filler");
      long end = System.nanoTime() + HOLD.toNanos();
      try {
        while (System.nanoTime() - end < 0) {
          SmallDisk.fill(filler);
        }
      } finally {
        Files.delete(filler);
      }
    }
  },

  STORE_LOCKED {
    @Override
    void strike(World world, Ledger ledger, Random random) throws SQLException {
      try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + world.database());
          Statement statement = other.createStatement()) {
        statement.execute("PRAGMA busy_timeout = 10000");
        statement.execute("BEGIN EXCLUSIVE");
        long end = System.nanoTime() + HOLD.toNanos();
        Eventually.holds(
            "the store was locked long enough",
            HOLD.multipliedBy(2),
            () -> System.nanoTime() - end > 0);
        statement.execute("ROLLBACK");
      }
    }
  };

  private static final Duration HOLD =
      Duration.ofMillis(Integer.getInteger("chaos.hold-millis", 1000));

  /** The fields of the sandboxes that live through it, as JSON. */
  String sandbox() {
    return "{\"disk_mb\": 16}";
  }

  /** Returns when it is over. */
  abstract void strike(World world, Ledger ledger, Random random) throws IOException, SQLException;
}
