package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.Rounds;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** The sessions that clients have begun. Safe for many threads. */
final class LegacySessions implements AutoCloseable {
  private static final int MAX_PER_TENANT = 256;
  private static final long KEPT_PER_TENANT = 16 << 20;
  private static final long MAX_CAPABILITIES = 64 << 10;
  private static final int ID_BYTES = 24;
  private static final Duration FORGOTTEN = Duration.ofHours(4);
  private static final Duration ROUND = Duration.ofMinutes(10);

  private final Map<String, LegacySession> sessions = new ConcurrentHashMap<>();
  private final SecureRandom random = new SecureRandom();
  private final Duration forgotten;
  private final Rounds rounds;

  LegacySessions() {
    this(FORGOTTEN, ROUND);
  }

  /**
   * @param forgotten a session that nobody has used for so long is ended: what it is subscribed to
   *     keeps sandboxes in use
   */
  LegacySessions(Duration forgotten, Duration round) {
    this.forgotten = forgotten;
    this.rounds = new Rounds(round, this::endForgotten);
  }

  /** A new session; the one that was idle for longest goes when its tenant has too many. */
  synchronized LegacySession begin(
      Call.Client client, String version, ObjectNode capabilities, Catalog catalog) {
    if (Outbox.weigh(capabilities) > MAX_CAPABILITIES) {
      throw RpcError.invalidParams("capabilities must not be longer than " + MAX_CAPABILITIES);
    }
    String tenant = client.caller().tenant();
    boolean _ = endForgotten();
    var own =
        ofTenant(tenant).sorted(Comparator.comparing(LegacySession::idle).reversed()).toList();
    if (own.size() >= MAX_PER_TENANT) {
      if (own.getFirst().idle().isZero()) {
        throw RpcError.tooMany("there are " + MAX_PER_TENANT + " busy sessions already");
      }
      end(own.getFirst());
    }
    byte[] bytes = new byte[ID_BYTES];
    random.nextBytes(bytes);
    String id = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    var session =
        new LegacySession(id, client, version, capabilities, catalog, () -> forgetSurplus(tenant));
    sessions.put(id, session);
    rounds.begin();
    return session;
  }

  private boolean endForgotten() {
    sessions.values().stream()
        .filter(session -> session.idle().compareTo(forgotten) > 0)
        .toList()
        .forEach(this::end);
    return !sessions.isEmpty();
  }

  private Stream<LegacySession> ofTenant(String tenant) {
    return sessions.values().stream().filter(session -> session.tenant().equals(tenant));
  }

  /** Has the largest sessions forget what ended while all of a tenant keep too much together. */
  private void forgetSurplus(String tenant) {
    if (keptWeight(tenant) <= KEPT_PER_TENANT) {
      return;
    }
    var largest =
        ofTenant(tenant)
            .sorted(Comparator.comparingLong(LegacySession::keptWeight).reversed())
            .iterator();
    while (largest.hasNext() && keptWeight(tenant) > KEPT_PER_TENANT) {
      largest.next().forgetSurplus(0);
    }
  }

  private long keptWeight(String tenant) {
    return ofTenant(tenant).mapToLong(LegacySession::keptWeight).sum();
  }

  /** Another caller's session does not exist. */
  LegacySession get(Caller caller, String id) {
    LegacySession session = sessions.get(id);
    if (session == null || !session.belongsTo(caller)) {
      throw RpcError.noSession();
    }
    session.used();
    return session;
  }

  void end(LegacySession session) {
    sessions.remove(session.id());
    session.close();
  }

  @Override
  public void close() {
    rounds.close();
    sessions.values().forEach(this::end);
  }
}
