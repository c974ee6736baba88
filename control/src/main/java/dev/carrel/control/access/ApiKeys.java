package dev.carrel.control.access;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.store.Database;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/**
 * Keys for clients: {@code e2b_} and forty hexadecimal digits, which is what the strictest of them
 * takes. Stored as digests. Safe for many threads.
 */
public final class ApiKeys {
  private static final String PREFIX = "e2b_";
  private static final int SECRET_BYTES = 20;
  private static final int MASK_CHARS = PREFIX.length() + 4;
  private static final int LENGTH = PREFIX.length() + 2 * SECRET_BYTES;
  private static final int MAX_NAME = 128;
  private static final int MAX_KEYS_PER_TENANT = 1000;

  private final Database database;
  private final Audit audit;
  private final SecureRandom random = new SecureRandom();
  private final Map<String, ApiKey> byDigest = new ConcurrentHashMap<>();

  public ApiKeys(Database database, Audit audit) {
    this.database = database;
    this.audit = audit;
    database
        .read(handle -> handle.createQuery("SELECT * FROM api_key").map(ApiKeys::read).list())
        .forEach(row -> byDigest.put(row.digest, row.key));
  }

  /**
   * Makes a key.
   *
   * @param owner whom it shall stand for; only an administrator makes one for somebody else
   */
  public ApiKey.Issued issue(Caller caller, String name, Caller owner) {
    if (name.isBlank() || name.length() > MAX_NAME) {
      throw SandboxException.invalid("name", "must have 1 to " + MAX_NAME + " characters");
    }
    boolean own =
        owner.tenant().equals(caller.tenant())
            && owner.principal().equals(caller.principal())
            && owner.role() == Caller.Role.USER
            && owner.permissions().isEmpty();
    if (!own && caller.role() != Caller.Role.ADMIN) {
      throw new SandboxException(
          ErrorCode.FORBIDDEN, "only an administrator makes keys for others, or with more rights");
    }
    if (ofTenant(owner.tenant()).size() >= MAX_KEYS_PER_TENANT) {
      throw new SandboxException(
              ErrorCode.LIMIT_REACHED,
              "tenant %s has %d keys, the most it may have"
                  .formatted(owner.tenant(), MAX_KEYS_PER_TENANT))
          .withHint("delete one that nobody uses");
    }
    byte[] bytes = new byte[SECRET_BYTES];
    random.nextBytes(bytes);
    String secret = PREFIX + HexFormat.of().formatHex(bytes);
    byte[] id = new byte[6];
    random.nextBytes(id);
    var key =
        new ApiKey(
            "key-" + HexFormat.of().formatHex(id),
            name,
            owner,
            secret.substring(0, MASK_CHARS),
            caller.principal(),
            Instant.now().truncatedTo(ChronoUnit.MILLIS));
    String digest = digest(secret);
    database.write(
        handle -> {
          insert(handle, digest, key);
          audit.append(handle, entry(caller, "issue", key));
          return key;
        });
    byDigest.put(digest, key);
    return new ApiKey.Issued(key, secret);
  }

  /** Newest first. */
  public List<ApiKey> list(Caller caller) {
    return byDigest.values().stream()
        .filter(key -> visible(caller, key))
        .sorted(Comparator.comparing(ApiKey::createdAt).reversed())
        .toList();
  }

  /** From now on nobody gets in with it. */
  public void delete(Caller caller, String id) {
    var found =
        byDigest.entrySet().stream()
            .filter(entry -> entry.getValue().id().equals(id) && visible(caller, entry.getValue()))
            .findFirst()
            .orElseThrow(
                () -> new SandboxException(ErrorCode.KEY_NOT_FOUND, "there is no such key"));
    // First: one that cannot be deleted is there for whoever tries again.
    database.write(
        handle -> {
          audit.append(handle, entry(caller, "delete", found.getValue()));
          return handle.execute("DELETE FROM api_key WHERE id = ?", id);
        });
    byDigest.remove(found.getKey());
  }

  /** Whom a key stands for; the digest makes the time of the search tell nothing. */
  public Optional<Caller> authenticate(String secret) {
    if (secret.length() != LENGTH || !secret.startsWith(PREFIX)) {
      return Optional.empty();
    }
    return Optional.ofNullable(byDigest.get(digest(secret))).map(ApiKey::caller);
  }

  private List<ApiKey> ofTenant(String tenant) {
    return byDigest.values().stream().filter(key -> key.caller().tenant().equals(tenant)).toList();
  }

  private static void insert(Handle handle, String digest, ApiKey key) {
    handle.execute(
        "INSERT INTO api_key (id, digest, name, tenant, principal, role, mask, created_by,"
            + " created_at, permissions) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        key.id(),
        digest,
        key.name(),
        key.caller().tenant(),
        key.caller().principal(),
        key.caller().role().name().toLowerCase(Locale.ROOT),
        key.mask(),
        key.createdBy(),
        key.createdAt().toEpochMilli(),
        key.caller().permissions().stream()
            .map(Caller.Permission::wireName)
            .sorted()
            .collect(Collectors.joining(",")));
  }

  private static AuditEntry entry(Caller caller, String verb, ApiKey key) {
    return AuditEntry.of(
            new Who(key.caller().tenant(), caller.nameFor(key.caller().tenant()), "default", null),
            "key." + verb,
            Outcome.OK)
        .withSubject(key.id())
        .withDetails(Map.of("name", key.name(), "principal", key.caller().principal()));
  }

  private static boolean visible(Caller caller, ApiKey key) {
    return caller.role() == Caller.Role.ADMIN || caller.tenant().equals(key.caller().tenant());
  }

  private static Row read(ResultSet row, StatementContext context) throws SQLException {
    return new Row(
        row.getString("digest"),
        new ApiKey(
            row.getString("id"),
            row.getString("name"),
            new Caller(
                row.getString("tenant"),
                row.getString("principal"),
                Caller.Role.valueOf(row.getString("role").toUpperCase(Locale.ROOT)),
                permissions(row.getString("permissions"))),
            row.getString("mask"),
            row.getString("created_by"),
            Instant.ofEpochMilli(row.getLong("created_at"))));
  }

  private static Set<Caller.Permission> permissions(String stored) {
    return stored.isEmpty() ? Set.of() : Caller.Permission.parse(List.of(stored.split(",", -1)));
  }

  private static String digest(String secret) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256")
                  .digest(secret.getBytes(StandardCharsets.US_ASCII)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private record Row(String digest, ApiKey key) {}
}
