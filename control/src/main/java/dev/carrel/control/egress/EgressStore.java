package dev.carrel.control.egress;

import dev.carrel.control.store.Database;
import dev.carrel.spi.SandboxId;

/** What sandboxes have sent and received, so that a budget outlives the server. */
final class EgressStore {
  private final Database database;

  EgressStore(Database database) {
    this.database = database;
  }

  record Use(long sent, long received) {
    static final Use NONE = new Use(0, 0);

    Use plus(long moreSent, long moreReceived) {
      return new Use(sent + moreSent, received + moreReceived);
    }
  }

  Use find(SandboxId id) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT sent, received FROM egress_use WHERE sandbox_id = :id")
                .bind("id", id.value())
                .map((row, _) -> new Use(row.getLong("sent"), row.getLong("received")))
                .findOne()
                .orElse(Use.NONE));
  }

  /** Writes soon. */
  void note(SandboxId id, Use use) {
    database.later(
        handle ->
            handle.execute(
                "INSERT INTO egress_use (sandbox_id, sent, received)"
                    + " SELECT id, ?, ? FROM sandbox WHERE id = ?"
                    + " ON CONFLICT (sandbox_id)"
                    + " DO UPDATE SET sent = excluded.sent, received = excluded.received",
                use.sent(),
                use.received(),
                id.value()));
  }
}
