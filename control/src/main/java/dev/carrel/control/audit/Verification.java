package dev.carrel.control.audit;

import dev.carrel.control.audit.AuditVerdict.Kind;
import dev.carrel.control.audit.AuditVerdict.Problem;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * One look at the whole chain. Records are read in pieces, so that the server goes on writing
 * meanwhile; what is written after it began is not looked at. For one thread.
 */
final class Verification {
  private static final int PIECE = 2000;
  private static final int MAX_PROBLEMS = 100;

  private final AuditStore store;
  private final SigningKey key;
  private final CheckpointFile side;
  private final Supplier<Head> writer;
  private final MessageDigest sha256 = RequestDigest.sha256();
  private final List<Problem> problems = new ArrayList<>();
  private final Map<Long, Checkpoint> heads = new TreeMap<>();
  private long records;
  private long checkpoints;

  /**
   * @param writer tells where the chain ends, as who writes it knows
   */
  Verification(AuditStore store, SigningKey key, CheckpointFile side, Supplier<Head> writer) {
    this.store = store;
    this.key = key;
    this.side = side;
    this.writer = writer;
  }

  AuditVerdict run() {
    Head start = start();
    // Asked after the checkpoints were read, so that none of them is of a record after this one.
    Head known = writer.get();
    Head end = walk(start, known.sequence());
    if (end.sequence() < known.sequence()) {
      found(
          Kind.TRUNCATED,
          known.sequence(),
          "the chain ends at %d, and %d was written".formatted(end.sequence(), known.sequence()));
    } else if (!Arrays.equals(end.hash(), known.hash())) {
      found(Kind.REWRITTEN, known.sequence(), "the last record is not the one that was written");
    }
    // What is left was signed for records that are not there.
    heads.values().stream()
        .filter(checkpoint -> checkpoint.sequence() > start.sequence())
        .forEach(
            checkpoint ->
                found(
                    Kind.TRUNCATED,
                    checkpoint.sequence(),
                    "a checkpoint was signed at a record that is not there"));
    return new AuditVerdict(
        records,
        records == 0 ? 0 : start.sequence() + 1,
        end.sequence(),
        checkpoints,
        problems.subList(0, Math.min(problems.size(), MAX_PROBLEMS)));
  }

  /** Takes the checkpoints in, and tells after which record the chain begins. */
  private Head start() {
    Head start = Head.genesis(key);
    for (Checkpoint checkpoint : store.checkpoints()) {
      if (!checkpoint.genuine(key)) {
        found(
            Kind.UNSIGNED,
            checkpoint.sequence(),
            "a checkpoint was not signed with this server's key");
      } else if (checkpoint.kind() == Checkpoint.Kind.HEAD) {
        heads.put(checkpoint.sequence(), checkpoint);
      } else if (checkpoint.sequence() > start.sequence()) {
        start = new Head(checkpoint.sequence(), checkpoint.hash());
      }
    }
    Optional<Checkpoint> beside = side.read(key);
    if (beside.isPresent()) {
      Checkpoint last = beside.get();
      Checkpoint same = heads.putIfAbsent(last.sequence(), last);
      if (same != null && !Arrays.equals(same.hash(), last.hash())) {
        found(Kind.REWRITTEN, last.sequence(), "the checkpoint beside the database says otherwise");
      }
    } else if (side.exists() || !heads.isEmpty()) {
      found(
          Kind.UNSIGNED,
          heads.keySet().stream().reduce(0L, Math::max),
          "the checkpoint beside the database is gone or not of this server");
    }
    return start;
  }

  private Head walk(Head start, long last) {
    Head before = start;
    List<StoredRecord> piece = store.after(0, PIECE);
    while (!piece.isEmpty()) {
      for (StoredRecord row : piece) {
        if (row.sequence() > last) {
          return before;
        }
        before = step(before, row);
      }
      piece = store.after(piece.getLast().sequence(), PIECE);
    }
    return before;
  }

  private Head step(Head before, StoredRecord row) {
    records++;
    if (row.sequence() <= before.sequence()) {
      found(Kind.CHANGED, row.sequence(), "a record that was pruned is there again");
      return before;
    }
    boolean next = row.sequence() == before.sequence() + 1;
    if (!next) {
      found(
          Kind.MISSING,
          before.sequence() + 1,
          "records %d to %d are gone".formatted(before.sequence() + 1, row.sequence() - 1));
    } else if (!Arrays.equals(row.hash(), row.hashAfter(before.hash(), sha256))) {
      found(Kind.CHANGED, row.sequence(), "the record is not what its hash covers");
    }
    Checkpoint signed = heads.remove(row.sequence());
    if (signed != null) {
      checkpoints++;
      if (!Arrays.equals(signed.hash(), row.hash())) {
        found(Kind.REWRITTEN, row.sequence(), "the record is not the one that was signed");
      }
    }
    return new Head(row.sequence(), row.hash());
  }

  private void found(Kind kind, long sequence, String message) {
    if (problems.size() < MAX_PROBLEMS) {
      problems.add(new Problem(kind, sequence, message));
    }
  }
}
