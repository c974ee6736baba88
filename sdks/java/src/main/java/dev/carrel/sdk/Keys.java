package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Keys for clients. The server tells one once, and keeps no copy. */
public final class Keys {
  private static final TypeReference<Page> LIST = new TypeReference<>() {};
  private static final TypeReference<KeyInfo> INFO = new TypeReference<>() {};
  private static final String PATH = "/api/v1/keys";

  private final Transport transport;

  Keys(Transport transport) {
    this.transport = transport;
  }

  /**
   * Makes one.
   *
   * @param name for people
   * @param tenant whose it is; null: the caller's
   * @param principal whom it stands for; null: the caller
   */
  public KeyInfo create(String name, @Nullable String tenant, @Nullable String principal) {
    return create(name, tenant, principal, List.of());
  }

  /**
   * As {@link #create(String, String, String)}.
   *
   * @param permissions what no role brings with it, such as {@code host}; for administrators
   */
  public KeyInfo create(
      String name, @Nullable String tenant, @Nullable String principal, List<String> permissions) {
    Map<String, Object> body = new HashMap<>();
    body.put("name", name);
    body.put("permissions", List.copyOf(permissions));
    if (tenant != null) {
      body.put("tenant", tenant);
    }
    if (principal != null) {
      body.put("principal", principal);
    }
    return transport.post(PATH, body, INFO);
  }

  /** Newest first, without the keys themselves. */
  public List<KeyInfo> list() {
    return transport.get(PATH, LIST).keys();
  }

  /** From now on nobody gets in with it. */
  public void delete(String id) {
    transport.delete(PATH + "/" + Transport.encode(id));
  }

  private record Page(List<KeyInfo> keys) {}
}
