package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A key that a client comes in with.
 *
 * @param permissions what no role brings with it
 * @param mask its beginning
 * @param key itself; null unless it was made just now
 */
public record KeyInfo(
    String id,
    String name,
    String tenant,
    String principal,
    String role,
    List<String> permissions,
    String mask,
    String createdBy,
    String createdAt,
    @Nullable String key) {
  public KeyInfo {
    permissions = List.copyOf(permissions);
  }
}
