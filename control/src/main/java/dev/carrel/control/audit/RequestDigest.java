package dev.carrel.control.audit;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * SHA-256 over the parts of a request, each with its length before it: no two requests look the
 * same. For one thread.
 */
public final class RequestDigest {
  private static final int ABSENT = -1;
  private static final MessageDigest UNUSED = find();

  private final MessageDigest digest = sha256();

  public RequestDigest add(@Nullable String part) {
    return add(part == null ? null : part.getBytes(StandardCharsets.UTF_8));
  }

  public RequestDigest add(byte @Nullable [] part) {
    digest.update(
        ByteBuffer.allocate(Integer.BYTES).putInt(part == null ? ABSENT : part.length).flip());
    if (part != null) {
      digest.update(part);
    }
    return this;
  }

  public RequestDigest add(Iterable<String> parts) {
    parts.forEach(this::add);
    return add((String) null);
  }

  public RequestDigest add(Map<String, String> parts) {
    new TreeMap<>(parts).forEach((name, value) -> add(name).add(value));
    return add((String) null);
  }

  /** The digest in hex; what comes after begins anew. */
  public String hex() {
    return HexFormat.of().formatHex(digest.digest());
  }

  public static MessageDigest sha256() {
    try {
      return (MessageDigest) UNUSED.clone();
    } catch (CloneNotSupportedException e) {
      throw new IllegalStateException("the JDK's own can be copied", e);
    }
  }

  /** To find one by its name takes ten times as long as to copy it, and each request needs some. */
  private static MessageDigest find() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
