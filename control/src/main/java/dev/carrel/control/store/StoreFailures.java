package dev.carrel.control.store;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.sql.SQLException;
import java.util.Set;
import org.jdbi.v3.core.JdbiException;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/** Tells what the host did to the store from mistakes of our own, which stay what they are. */
final class StoreFailures {
  private static final int PRIMARY = 0xFF;
  private static final Set<SQLiteErrorCode> BUSY =
      Set.of(SQLiteErrorCode.SQLITE_BUSY, SQLiteErrorCode.SQLITE_LOCKED);

  // Where a full disk shows when it is a file beside the database that cannot grow.
  private static final Set<SQLiteErrorCode> NO_SPACE =
      Set.of(
          SQLiteErrorCode.SQLITE_FULL,
          SQLiteErrorCode.SQLITE_IOERR_WRITE,
          SQLiteErrorCode.SQLITE_IOERR_SHMSIZE,
          SQLiteErrorCode.SQLITE_IOERR_TRUNCATE,
          SQLiteErrorCode.SQLITE_IOERR_FSYNC);

  private StoreFailures() {}

  static RuntimeException explained(SQLException failure) {
    var plain = new IllegalStateException("the store failed: " + failure.getMessage(), failure);
    return failure instanceof SQLiteException sqlite
        ? explained(plain, sqlite.getResultCode())
        : plain;
  }

  static RuntimeException explained(JdbiException failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLiteException sqlite) {
        return explained(failure, sqlite.getResultCode());
      }
    }
    return failure;
  }

  /** Whether the host did it, so that the same may succeed in a moment. */
  static boolean mayPass(RuntimeException failure) {
    RuntimeException known = failure instanceof JdbiException jdbi ? explained(jdbi) : failure;
    return known instanceof SandboxException told
        && (told.code() == ErrorCode.NO_SPACE || told.code() == ErrorCode.STORE_BUSY);
  }

  private static RuntimeException explained(RuntimeException failure, SQLiteErrorCode code) {
    if (NO_SPACE.contains(code)) {
      return new SandboxException(
              ErrorCode.NO_SPACE,
              "the server cannot write to its disk (" + code.name() + ")",
              failure)
          .withHint("free space on the file system of storage.data-directory, then try again");
    }
    SQLiteErrorCode primary = SQLiteErrorCode.getErrorCode(code.code & PRIMARY);
    if (BUSY.contains(primary)) {
      return new SandboxException(
              ErrorCode.STORE_BUSY, "another process holds the server's database", failure)
          .withHint("try again; if it lasts, end the process that has carrel.db open");
    }
    return failure;
  }
}
