package dev.carrel.control.egress;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.store.KeyFile;
import dev.carrel.egress.EgressProxy;
import dev.carrel.egress.Gate;
import dev.carrel.egress.TokenDoor;
import dev.carrel.egress.Tokens;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The way to the proxy over TCP: who is let in, what is said about the others. */
final class TokenGate implements TokenDoor.Keeper {
  // Anybody can be turned away as often as he likes; the record need not grow with it.
  private static final Duration TOLD_AGAIN = Duration.ofSeconds(1);
  private static final String NOBODY = "-";

  private final Tokens tokens;
  private final InetSocketAddress address;
  private final Function<Tokens.Bearer, @Nullable Gate> gates;
  private final Audit audit;
  private Instant told = Instant.MIN;
  private long untold;

  /**
   * @param gates finds the gate of the machine that a token names
   */
  TokenGate(
      TokenSettings settings,
      EgressProxy proxy,
      Function<Tokens.Bearer, @Nullable Gate> gates,
      Audit audit)
      throws IOException {
    this.tokens = new Tokens(KeyFile.open(settings.key()));
    this.gates = gates;
    this.audit = audit;
    this.address = proxy.listen(settings.listen(), tokens, this);
  }

  @Override
  public @Nullable Gate find(Tokens.Bearer bearer) {
    return gates.apply(bearer);
  }

  @Override
  public void refused(String from, String why) {
    long more;
    synchronized (this) {
      Instant now = Instant.now();
      if (told.plus(TOLD_AGAIN).isAfter(now)) {
        untold++;
        return;
      }
      more = untold;
      untold = 0;
      told = now;
    }
    var who = new AuditEntry.Who(NOBODY, AuditEntry.Who.SERVER, Namespace.DEFAULT, null);
    audit.later(
        AuditEntry.of(who, "egress.token", AuditEntry.Outcome.of("denied"))
            .withSubject(from)
            .withDetails(Map.of("reason", why, "others_before", Long.toString(more))));
  }

  String issue(Tokens.Bearer bearer, Instant expires) {
    return tokens.issue(bearer, expires);
  }

  /** What a client sets as its proxy. */
  String url(String token) {
    InetAddress host = address.getAddress();
    String name = host.isAnyLocalAddress() ? "127.0.0.1" : host.getHostAddress();
    return "http://sandbox:jwt_%s@%s:%d"
        .formatted(token, name.contains(":") ? "[" + name + "]" : name, address.getPort());
  }
}
