package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/** The sandboxes of this token's owner. */
public final class Sandboxes {
  static final String PATH = "/api/v1/sandboxes";
  private static final TypeReference<SandboxInfo> INFO = new TypeReference<>() {};
  private static final TypeReference<Page> PAGE = new TypeReference<>() {};

  private final Transport transport;

  Sandboxes(Transport transport) {
    this.transport = transport;
  }

  /** Starts one with the server's defaults; returns once it runs. */
  public Sandbox create() {
    return create(SandboxOptions.defaults());
  }

  /**
   * Starts one, or finds the one with this session key; returns once it runs. An answer that is
   * lost is asked for again, and one sandbox is made however often.
   */
  public Sandbox create(SandboxOptions options) {
    return create(options, UUID.randomUUID().toString());
  }

  /**
   * As {@link #create(SandboxOptions)}, once for each key, also when this program begins anew.
   *
   * @param idempotencyKey a name of the caller's own for this one request, for example a random
   *     UUID
   */
  public Sandbox create(SandboxOptions options, String idempotencyKey) {
    SandboxInfo info = transport.post(PATH, options, idempotencyKey, INFO);
    return Sandbox.created(transport, info, options.sessionKey() == null);
  }

  public Sandbox get(String id) {
    return new Sandbox(transport, transport.get(PATH + "/" + Transport.encode(id), INFO));
  }

  /** One page, newest first, from 1. */
  public Page list(int page, int pageSize) {
    return list(Map.of("page", Integer.toString(page), "page_size", Integer.toString(pageSize)));
  }

  /**
   * One page by the server's query parameters: page, page_size, status, search, image, namespace,
   * sort_by, sort_order.
   */
  public Page list(Map<String, String> query) {
    return transport.get(PATH + Transport.query(new TreeMap<>(query)), PAGE);
  }

  /** Ends every process in it and removes all its files. */
  public void delete(String id) {
    transport.delete(PATH + "/" + Transport.encode(id));
  }

  /** A page of a list; {@code total} counts all pages. */
  public record Page(
      List<SandboxInfo> items,
      long total,
      int page,
      int pageSize,
      Map<String, Long> statusCounts) {}
}
