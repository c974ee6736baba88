package dev.carrel.control.store;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** A key of random bytes, in Base64 in a file that only its owner can read. */
public final class KeyFile {
  private static final int BYTES = 32;
  private static final Set<PosixFilePermission> OTHERS =
      EnumSet.complementOf(
          EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));

  private KeyFile() {}

  /** Reads it; makes one when there is none. */
  public static byte[] open(Path file) {
    try {
      createIfAbsent(file);
      if (!Collections.disjoint(Files.getPosixFilePermissions(file), OTHERS)) {
        throw new SandboxException(
            ErrorCode.INVALID_INPUT,
            "key file " + file + " can be used by others; run chmod 600 on it");
      }
      return decoded(Files.readString(file, StandardCharsets.US_ASCII).strip(), "key file " + file);
    } catch (IOException e) {
      throw new UncheckedIOException("key file " + file + " cannot be read", e);
    }
  }

  /** A key that came as text. */
  public static byte[] decoded(String text, String what) {
    byte[] key;
    try {
      key = Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      key = new byte[0];
    }
    if (key.length != BYTES) {
      throw new SandboxException(
              ErrorCode.INVALID_INPUT, what + " is not Base64 of " + BYTES + " bytes")
          .withHint("make one with: head -c 32 /dev/urandom | base64");
    }
    return key;
  }

  private static void createIfAbsent(Path file) throws IOException {
    if (Files.exists(file)) {
      return;
    }
    byte[] key = new byte[BYTES];
    new SecureRandom().nextBytes(key);
    var ownerOnly =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    try (var channel =
        Files.newByteChannel(
            file,
            Set.of(
                StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.SYNC),
            ownerOnly)) {
      channel.write(
          StandardCharsets.US_ASCII.encode(Base64.getEncoder().encodeToString(key) + "\n"));
    } catch (FileAlreadyExistsException e) {
      // Another process was quicker; its key is as good.
      return;
    }
  }
}
