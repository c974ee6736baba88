package dev.carrel.control.vault;

import dev.carrel.control.redact.Protected;
import dev.carrel.control.redact.RedactedStream;
import dev.carrel.control.redact.Redaction;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.egress.Broker;
import dev.carrel.egress.Filter;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.Target;
import dev.carrel.egress.TlsEnds;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The secrets that one sandbox uses without having them. A value goes out in place of its
 * placeholder, to the hosts it is bound to; should a server send it back, it does not come in.
 */
final class SandboxBroker implements Broker {
  private static final int TLS = 443;

  private final Vault vault;
  private final RunningSandbox sandbox;
  private final TlsEnds ends;
  private final BrokerUses uses;
  // What servers were sent; the sandbox's own would also mask what it has anyway.
  private final Redaction echoes = new Redaction(_ -> {});
  private final Map<String, Secured> byPlaceholder = new ConcurrentHashMap<>();

  private record Secured(Vault.Place place, String id) {}

  SandboxBroker(Vault vault, RunningSandbox sandbox, TlsEnds ends, BrokerUses uses) {
    this.vault = vault;
    this.sandbox = sandbox;
    this.ends = ends;
    this.uses = uses;
  }

  boolean knows(String placeholder) {
    return byPlaceholder.containsKey(placeholder);
  }

  void admit(String placeholder, SecretRow secret) {
    byPlaceholder.put(
        placeholder,
        new Secured(
            new Vault.Place(secret.tenant(), secret.namespace(), secret.name()), secret.id()));
  }

  void sent(Protected value) {
    echoes.protect(List.of(value));
  }

  @Override
  public boolean brokers(Target target) {
    return byPlaceholder.values().stream()
        .map(secured -> vault.hosts(secured.place(), secured.id()))
        .anyMatch(hosts -> isBound(hosts, target));
  }

  @Override
  public TlsEnds ends() {
    return ends;
  }

  @Override
  public String fill(Target target, String text, UnaryOperator<String> written) {
    String filled = text;
    for (Map.Entry<String, Secured> entry : byPlaceholder.entrySet()) {
      if (filled.contains(entry.getKey())) {
        String value = valueFor(target, entry.getValue());
        filled = value == null ? filled : filled.replace(entry.getKey(), written.apply(value));
      }
    }
    return filled;
  }

  /** The present value, which from here on comes back in no shape; null: the host gets none. */
  private @Nullable String valueFor(Target target, Secured secured) {
    if (!isBound(vault.hosts(secured.place(), secured.id()), target)) {
      return null;
    }
    try {
      Vault.Opened opened = vault.findBrokered(secured.place(), secured.id());
      if (opened == null) {
        return null;
      }
      vault.keepIn(sandbox, List.of(opened));
      sent(opened.value());
      uses.count(opened.value().name(), target);
      return opened.value().value();
    } catch (SandboxException e) {
      throw new UncheckedIOException(new IOException(e.message(), e));
    }
  }

  private static boolean isBound(List<String> hosts, Target target) {
    return hosts.stream()
        .map(HostPattern::parse)
        .anyMatch(
            pattern ->
                pattern.matches(target.host())
                    && target.port() == (pattern.port() == 0 ? TLS : pattern.port()));
  }

  @Override
  public Filter out() {
    if (!sandbox.redaction().watches()) {
      return Filter.NONE;
    }
    return new Stream(sandbox.redaction().canaryStream());
  }

  @Override
  public Filter in() {
    return echoes.active() ? new Stream(echoes.sameLengthStream()) : Filter.NONE;
  }

  private record Stream(RedactedStream stream) implements Filter {
    @Override
    public ByteBuffer next(ByteBuffer piece) {
      return stream.next(piece);
    }

    @Override
    public ByteBuffer end() {
      return stream.end();
    }

    @Override
    public @Nullable String found() {
      return stream.alarmed() ? "a value is in it that must not leave the sandbox" : null;
    }
  }

  /** The sandbox's machine is gone. */
  void end() {
    uses.flush();
  }
}
