package dev.carrel.control.vault;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.egress.Gates;
import dev.carrel.control.redact.Protected;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Who brokers for each sandbox that has a machine. Safe for many threads. */
final class Brokers {
  private static final String PREFIX = "carrel-secret-";
  private static final int PLACEHOLDER_BYTES = 20;

  private final Vault vault;
  private final VaultStore store;
  private final VaultKey key;
  private final Gates gates;
  private final Audit audit;
  private final Map<SandboxId, SandboxBroker> all = new ConcurrentHashMap<>();

  Brokers(Vault vault, VaultStore store, VaultKey key, Gates gates, Audit audit) {
    this.vault = vault;
    this.store = store;
    this.key = key;
    this.gates = gates;
    this.audit = audit;
  }

  /** The sandbox may use this secret from now on. Returns what its processes get in its place. */
  String admit(RunningSandbox sandbox, Vault.Opened opened) {
    String placeholder = placeholder(sandbox.id(), opened.trace().id());
    SandboxBroker broker = of(sandbox);
    broker.sent(opened.value());
    if (!broker.knows(placeholder)) {
      store.placed(sandbox.id(), opened.trace().id());
      sandbox.trust(gates.trust(sandbox.id(), sandbox.sharesHostFiles()));
      broker.admit(placeholder, opened.trace());
    }
    return placeholder;
  }

  /** A server that this sandbox reaches may know the value. */
  void sent(RunningSandbox sandbox, Protected value) {
    of(sandbox).sent(value);
  }

  /** All that is known of its secrets is known: what it asks for may pass. */
  void open(RunningSandbox sandbox) {
    gates.broker(sandbox.id(), of(sandbox));
  }

  void end(SandboxId id) {
    SandboxBroker broker = all.remove(id);
    if (broker != null) {
      broker.end();
    }
  }

  private SandboxBroker of(RunningSandbox sandbox) {
    return all.computeIfAbsent(
        sandbox.id(),
        _ -> new SandboxBroker(vault, sandbox, gates.ends(), new BrokerUses(sandbox, audit)));
  }

  /**
   * Nobody can guess it, nothing can be learnt from it, it means nothing in another sandbox, and a
   * later server finds the same one.
   */
  private String placeholder(SandboxId sandbox, String secretId) {
    byte[] mark =
        key.mark(
            ("placeholder\0" + sandbox.value() + "\0" + secretId).getBytes(StandardCharsets.UTF_8));
    return PREFIX + HexFormat.of().formatHex(mark, 0, PLACEHOLDER_BYTES);
  }
}
