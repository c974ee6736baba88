package dev.carrel.control.port;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Opens ports of sandboxes, and makes links to them. Safe for many threads. */
public final class Ports implements SandboxListener {
  public static final int MAX_PORT = 65_535;
  public static final Duration USUAL_LIFE = Duration.ofHours(1);
  public static final Duration LONGEST_LIFE = Duration.ofDays(7);

  /** At once, to one sandbox: each is a connection in its guest. */
  public static final int MAX_STREAMS = 256;

  private final Sandboxes sandboxes;
  private final AccessTokens tokens;
  private final Audit audit;
  private final Map<SandboxId, Integer> open = new ConcurrentHashMap<>();
  private final Map<SandboxId, Set<PortStream>> streams = new ConcurrentHashMap<>();

  public Ports(Sandboxes sandboxes, AccessTokens tokens, Audit audit) {
    this.sandboxes = sandboxes;
    this.tokens = tokens;
    this.audit = audit;
  }

  /**
   * Connects to 127.0.0.1 and this port inside; a paused sandbox goes on.
   *
   * @throws SandboxException {@code PORT_CLOSED} when nothing listens there
   */
  public PortStream open(Caller caller, SandboxId id, int port) {
    requirePort(port);
    RunningSandbox sandbox = sandboxes.requireRunning(caller, id);
    take(id);
    boolean connected = false;
    RunningSandbox.Use use = sandbox.use();
    Set<PortStream> others = streams.computeIfAbsent(id, _ -> ConcurrentHashMap.newKeySet());
    try {
      var stream =
          new PortStream(
              sandbox.guest().tunnel(port),
              sandbox.redaction(),
              closed -> {
                others.remove(closed);
                use.close();
                giveBack(id);
              });
      connected = true;
      others.add(stream);
      return stream;
    } catch (SandboxException e) {
      throw e.code() == ErrorCode.WRONG_STATE ? closed(id, port) : sandbox.explain(e);
    } finally {
      if (!connected) {
        use.close();
        giveBack(id);
      }
    }
  }

  @Override
  public void ended(SandboxId id) {
    streams.getOrDefault(id, Set.of()).forEach(PortStream::lose);
  }

  @Override
  public void removed(SandboxId id) {
    ended(id);
    streams.remove(id);
  }

  /** Makes a link to a port; it need not be open yet, nor the sandbox running. */
  public PortLink link(Caller caller, SandboxId id, int port, Duration life) {
    requirePort(port);
    if (life.isNegative() || life.isZero() || life.compareTo(LONGEST_LIFE) > 0) {
      throw SandboxException.invalid(
          "expires_in_seconds", "must be between 1 and " + LONGEST_LIFE.toSeconds());
    }
    Sandbox sandbox = sandboxes.get(caller, id);
    Instant end = Instant.now().plus(life).truncatedTo(ChronoUnit.SECONDS);
    var who = new Who(sandbox.tenant(), caller.nameFor(sandbox.tenant()), sandbox.namespace(), id);
    audit.write(
        AuditEntry.of(who, "port.link", Outcome.OK)
            .withSubject(String.valueOf(port))
            .withDetails(Map.of("expires_at", end.toString())));
    return new PortLink(tokens.ofPort(id, port, end), end);
  }

  /** Whom a link's token stands for; empty when it does not open this port, or no longer. */
  public Optional<Caller> admit(SandboxId id, int port, String token) {
    return tokens.opensPort(id, port, token, Instant.now()) ? owner(id) : Optional.empty();
  }

  /** As {@link #admit}, for the token to everything that listens in a sandbox. */
  public Optional<Caller> admitTraffic(SandboxId id, String token) {
    return tokens.openTraffic(id, token);
  }

  private Optional<Caller> owner(SandboxId id) {
    return Optional.of(
        tokens
            .owner(id)
            .orElseThrow(
                () ->
                    new SandboxException(
                        ErrorCode.SANDBOX_NOT_FOUND, "there is no sandbox " + id + " any more")));
  }

  private void take(SandboxId id) {
    open.compute(
        id,
        (_, count) -> {
          int before = count == null ? 0 : count;
          if (before >= MAX_STREAMS) {
            throw new SandboxException(
                    ErrorCode.LIMIT_REACHED,
                    "sandbox %s has %d connections to its ports, the most there may be"
                        .formatted(id, MAX_STREAMS))
                .withHint("close some: pages left open, downloads, streams");
          }
          return before + 1;
        });
  }

  private void giveBack(SandboxId id) {
    open.computeIfPresent(id, (_, count) -> count == 1 ? null : count - 1);
  }

  private static SandboxException closed(SandboxId id, int port) {
    return new SandboxException(
            ErrorCode.PORT_CLOSED, "nothing listens on port " + port + " in sandbox " + id)
        .withHint(
            "start a server there that listens on 127.0.0.1 or 0.0.0.0, or wait until it is up");
  }

  private static void requirePort(int port) {
    if (port < 1 || port > MAX_PORT) {
      throw SandboxException.invalid("port", "must be between 1 and " + MAX_PORT);
    }
  }
}
