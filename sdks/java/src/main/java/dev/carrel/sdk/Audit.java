package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What was done on the server: your tenant's records, or all for an administrator. */
public final class Audit {
  private static final TypeReference<Page> PAGE = new TypeReference<>() {};
  private static final TypeReference<AuditVerdict> VERDICT = new TypeReference<>() {};
  private static final TypeReference<SigningKey> KEY = new TypeReference<>() {};
  private static final String PATH = "/api/v1/audit";

  private final Transport transport;

  Audit(Transport transport) {
    this.transport = transport;
  }

  /**
   * Newest first.
   *
   * @param before only records before this one; null: the newest
   */
  public List<AuditRecord> list(AuditFilter filter, @Nullable Long before, int limit) {
    Map<String, String> parameters = filter.parameters();
    parameters.put("limit", Integer.toString(limit));
    if (before != null) {
      parameters.put("before", before.toString());
    }
    return transport.get(PATH + Transport.query(parameters), PAGE).records();
  }

  /**
   * New records, as they are written.
   *
   * @param after the last one seen; null: from now on
   */
  public Stream follow(AuditFilter filter, @Nullable Long after) {
    return new Stream(transport.events(PATH + Transport.query(filter.parameters()), after));
  }

  /** Writes all records to {@code out}, oldest first, a JSON object a line. */
  public void export(AuditFilter filter, OutputStream out) throws IOException {
    String path = PATH + "/export" + Transport.query(filter.parameters());
    try (InputStream body = transport.send(transport.request(path).GET()).body()) {
      body.transferTo(out);
    }
  }

  /** Looks for what was changed behind the server's back; for administrators. */
  public AuditVerdict verify() {
    return transport.post(PATH + "/verify", Map.of(), VERDICT);
  }

  /** The public key of what the server signs. */
  public SigningKey key() {
    return transport.get(PATH + "/key", KEY);
  }

  /** Records as they come. One thread reads, any may close. */
  public static final class Stream implements Iterable<AuditRecord>, AutoCloseable {
    private final ServerEvents events;

    Stream(ServerEvents events) {
      this.events = events;
    }

    /** Waits for the next record; empty once closed. */
    public Optional<AuditRecord> next() {
      return events.next().map(event -> event.as(AuditRecord.class));
    }

    /** Each record as it comes, until it is closed. */
    @Override
    public Iterator<AuditRecord> iterator() {
      return new Arrivals<>(this::next);
    }

    @Override
    public void close() {
      events.close();
    }
  }

  /**
   * A public key.
   *
   * @param publicKey X.509, base64
   */
  public record SigningKey(String id, String algorithm, String publicKey) {}

  private record Page(List<AuditRecord> records) {}
}
