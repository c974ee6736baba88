package dev.carrel.control.audit;

import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the end of the chain that an earlier process wrote. */
final class Opening {
  private static final Logger LOG = LoggerFactory.getLogger(Opening.class);

  private Opening() {}

  static Head head(AuditStore store, CheckpointFile side, SigningKey key) {
    Head last =
        store
            .last()
            .map(row -> new Head(row.sequence(), row.hash()))
            .or(() -> pruned(store, key))
            .orElse(Head.genesis(key));
    Optional<Checkpoint> signed = side.read(key);
    if (signed.isPresent() && signed.get().sequence() > last.sequence()) {
      LOG.error(
          "the audit records {} to {} are gone: the database was cut or set back;"
              + " run carrel audit --verify",
          last.sequence() + 1,
          signed.get().sequence());
      // Goes on after what was lost: the gap stays for everybody to see.
      return new Head(signed.get().sequence(), signed.get().hash());
    }
    return last;
  }

  private static Optional<Head> pruned(AuditStore store, SigningKey key) {
    return store.checkpoints().stream()
        .filter(checkpoint -> checkpoint.kind() == Checkpoint.Kind.PRUNED)
        .filter(checkpoint -> checkpoint.genuine(key))
        .map(checkpoint -> new Head(checkpoint.sequence(), checkpoint.hash()))
        .reduce((_, newer) -> newer);
  }
}
