package dev.carrel.control.vault;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A secret at rest.
 *
 * @param id of this secret, for as long as it has this name
 * @param hosts that requests may carry it to; empty: processes get it themselves
 */
@SuppressWarnings("ArrayRecordComponent") // never changed
record SecretRow(
    String id,
    String tenant,
    String namespace,
    String name,
    long version,
    boolean canary,
    List<String> hosts,
    byte[] sealed,
    Instant createdAt,
    Instant updatedAt) {
  SecretRow {
    hosts = List.copyOf(hosts);
  }

  /** What this value is, as it is bound to it: no other row can pass for it. */
  static byte[] identity(
      String use,
      String id,
      String tenant,
      String namespace,
      String name,
      long version,
      boolean canary,
      List<String> hosts) {
    var bytes = new ByteArrayOutputStream();
    try (var out = new DataOutputStream(bytes)) {
      for (String part : new String[] {use, id, tenant, namespace, name}) {
        byte[] utf8 = part.getBytes(StandardCharsets.UTF_8);
        out.writeInt(utf8.length);
        out.write(utf8);
      }
      out.writeLong(version);
      out.writeBoolean(canary);
      // Written only where there are some: rows without are as old as the vault.
      for (String host : hosts) {
        out.writeUTF(host);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("memory does not fail", e);
    }
    return bytes.toByteArray();
  }

  byte[] identity() {
    return identity("secret", id, tenant, namespace, name, version, canary, hosts);
  }

  /** Null when it is not what was sealed. */
  @Nullable String open(VaultKey key) {
    byte[] plain = key.open(sealed, identity());
    return plain == null ? null : new String(plain, StandardCharsets.UTF_8);
  }

  Secret view() {
    return new Secret(
        namespace, name, version, canary, hosts, Secret.Source.STORE, createdAt, updatedAt);
  }
}
