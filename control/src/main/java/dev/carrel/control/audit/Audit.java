package dev.carrel.control.audit;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxJournal;
import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jdbi.v3.core.ConnectionException;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The record of what was done. Records are added and never changed; each is chained to the one
 * before by its hash, and the chain is signed from time to time, so that a change made behind the
 * server's back is found by {@link #verify}. Safe for many threads.
 */
public final class Audit implements SandboxJournal, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Audit.class);
  // A transaction costs as much as many rows.
  private static final Duration LINGER = Duration.ofMillis(50);
  private static final Duration AGAIN = Duration.ofSeconds(1);

  private final Database database;
  private final AuditStore store;
  private final AuditSettings settings;
  private final SigningKey key;
  private final CheckpointFile side;
  private final Journal journal;
  private final Chain chain;
  private final Thread writing;
  private final Checkpoints checkpoints;

  /**
   * @param directory where the key and the last checkpoint are, outside the database
   */
  public Audit(Database database, AuditSettings settings, Path directory, SigningKey key) {
    this.database = database;
    this.settings = settings;
    this.key = key;
    this.store = new AuditStore(database);
    this.side = new CheckpointFile(directory.resolve("audit.checkpoint"));
    this.journal = Journal.open(directory.resolve("audit.journal"), store.written());
    this.chain =
        new Chain(database, journal, settings.outputChars(), Opening.head(store, side, key));
    if (!journal.isEmpty()) {
      // What an earlier process acknowledged and did not come to write.
      database.join(chain::appendNoted);
    }
    this.checkpoints = new Checkpoints(database, store, settings, key, side, chain, this::prune);
    checkpoints.begin();
    this.writing = Thread.ofVirtual().name("audit-journal").start(this::writeNoted);
  }

  /** Whether anything is recorded. */
  public boolean enabled() {
    return settings.enabled();
  }

  /**
   * Returns once the record is in the database, with those of others in one transaction.
   *
   * @throws SandboxException when it cannot be written: then what it tells of must not be
   *     acknowledged
   */
  public void write(AuditEntry entry) {
    if (settings.enabled()) {
      database.join(connection -> chain.append(connection, entry));
    }
  }

  /**
   * As {@link #write}, and returns sooner: once the record is on the disk beside the database, from
   * where it gets there in a moment, also when this process is killed.
   */
  public void note(AuditEntry entry) {
    if (settings.enabled() && !journal.add(chain.open(entry))) {
      write(entry);
    }
  }

  private void writeNoted() {
    try {
      while (true) {
        journal.await();
        Thread.sleep(LINGER);
        if (!attemptNoted()) {
          Thread.sleep(AGAIN);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Brings what was noted into the chain; false when that cannot be just now. */
  private boolean attemptNoted() {
    try {
      if (!journal.isEmpty()) {
        database.join(chain::appendNoted);
      }
      return true;
    } catch (RuntimeException e) {
      // The top of a loop: a full disk passes, and what was noted stays in the journal.
      LOG.warn("audit records wait in the journal: {}", e.getMessage());
      return false;
    }
  }

  /** Records soon, for what nobody waits for. */
  public void later(AuditEntry entry) {
    if (settings.enabled()) {
      database.later(handle -> append(handle, entry));
    }
  }

  /** Records in the caller's own transaction, for what is or is not, together with it. */
  public void append(Handle handle, AuditEntry entry) {
    if (settings.enabled()) {
      try {
        chain.append(handle.getConnection(), entry);
      } catch (SQLException e) {
        throw new ConnectionException(e);
      }
    }
  }

  @Override
  public void moved(Handle handle, Sandbox now, String step, String cause, String principal) {
    Isolation isolation = now.isolation();
    var outcome =
        new AuditEntry.Outcome(
            cause,
            null,
            null,
            null,
            null,
            List.of(),
            isolation == null ? null : isolation.strength().name().toLowerCase(Locale.ROOT));
    append(
        handle,
        AuditEntry.of(
                new AuditEntry.Who(now.tenant(), principal, now.namespace(), now.id()),
                "sandbox." + step,
                outcome)
            .withDetails(Map.of("image", now.image(), "engine", now.engine())));
  }

  @Override
  public void done(
      Caller caller,
      String tenant,
      String namespace,
      @Nullable SandboxId sandbox,
      String action,
      String subject) {
    write(
        AuditEntry.of(
                new AuditEntry.Who(tenant, caller.nameFor(tenant), namespace, sandbox),
                action,
                AuditEntry.Outcome.OK)
            .withSubject(subject));
  }

  /** What the caller may read: its tenant's records, or all for an administrator. */
  public List<AuditRecord> page(Caller caller, AuditQuery query) {
    String tenant = caller.role() == Caller.Role.ADMIN ? null : caller.tenant();
    attemptNoted();
    return store.page(tenant, query).stream().map(AuditRecord::of).toList();
  }

  /** What went on in a sandbox, newest first. Whether the caller may see that one is checked. */
  public List<Activity> activity(Caller caller, SandboxId sandbox, int limit) {
    return page(caller, new AuditQuery(null, sandbox, null, null, null, null, limit)).stream()
        .map(Activity::of)
        .toList();
  }

  /** Waits until there is any record after this one; false when none came in time. */
  public boolean await(long sequence, Duration patience) throws InterruptedException {
    return chain.await(sequence, patience.toMillis());
  }

  /** The newest record's number. */
  public long last() {
    attemptNoted();
    return chain.head().sequence();
  }

  /** Looks at every record; for administrators. */
  public AuditVerdict verify(Caller caller) {
    if (caller.role() != Caller.Role.ADMIN) {
      throw new SandboxException(ErrorCode.FORBIDDEN, "only an administrator may verify the audit")
          .withHint("use the token of the server's own token file");
    }
    attemptNoted();
    return checkpoints.undisturbed(new Verification(store, key, side, chain::head)::run);
  }

  public SigningKey key() {
    return key;
  }

  /** Removes what is too old or too much, and leaves a signed word about it. */
  void prune() {
    checkpoints.prune(this::lastToGo, this::append);
  }

  /** The newest of the records that are too old or too many. */
  private long lastToGo() {
    long until = 0;
    if (settings.maxAge().isPositive()) {
      Instant oldest = Instant.now().minus(settings.maxAge());
      until = store.lastBefore(ChronoUnit.MICROS.between(Instant.EPOCH, oldest));
    }
    long fitting = settings.maxSize().bytes() / store.usualSize();
    return Math.max(until, chain.head().sequence() - fitting);
  }

  /** Signs what is there. */
  @Override
  public void close() {
    writing.interrupt();
    try {
      writing.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    attemptNoted();
    checkpoints.close();
    journal.close();
  }

  static AuditEntry pruned(long until) {
    return AuditEntry.of(
            new AuditEntry.Who("default", AuditEntry.Who.SERVER, Namespace.DEFAULT, null),
            "audit.prune",
            AuditEntry.Outcome.OK)
        .withDetails(Map.of("until", String.valueOf(until)));
  }
}
