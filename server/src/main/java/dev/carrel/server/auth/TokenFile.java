package dev.carrel.server.auth;

import dev.carrel.control.audit.RequestDigest;
import dev.carrel.control.sandbox.Caller;
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
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Tokens in a file that only its owner can read, one a line:
 *
 * <pre>TOKEN [TENANT [PRINCIPAL [admin|user [PERMISSION,…]]]]</pre>
 *
 * A token alone is the administrator of the tenant {@code default}, without permissions. In place
 * of a token {@code jwt:SECRET} stands for all that are signed with it. Blank lines and lines that
 * start with # mean nothing. Of tokens only digests are kept in memory.
 */
public final class TokenFile implements Authenticator {
  private static final int MIN_TOKEN = 16;
  private static final int MAX_TOKEN = 512;
  private static final int MAX_ENTRIES = 1000;
  private static final String PREFIX = "carrel_";
  private static final String JWT = "jwt:";
  private static final Set<PosixFilePermission> OTHERS =
      EnumSet.of(
          PosixFilePermission.GROUP_READ,
          PosixFilePermission.GROUP_WRITE,
          PosixFilePermission.OTHERS_READ,
          PosixFilePermission.OTHERS_WRITE);

  private final List<Entry> entries;

  private TokenFile(List<Entry> entries) {
    this.entries = List.copyOf(entries);
  }

  /** Reads the file; on the first start makes it, with one fresh administrator's token. */
  public static TokenFile openOrCreate(Path file) {
    try {
      createIfAbsent(file);
      if (!Collections.disjoint(Files.getPosixFilePermissions(file), OTHERS)) {
        throw unusable(file, "can be read or written by others; run chmod 600 on it");
      }
      return parse(file, Files.readString(file, StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException("token file " + file + " cannot be read", e);
    }
  }

  /** The first token of the file, for the command line on the same machine. */
  public static String firstToken(Path file) throws IOException {
    return Files.readString(file, StandardCharsets.UTF_8)
        .lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
        .map(line -> line.split("\\s+", 2)[0])
        .filter(token -> !token.startsWith(JWT))
        .findFirst()
        .orElseThrow(() -> unusable(file, "holds no token; delete it to have one made"));
  }

  @Override
  public Optional<Caller> authenticate(String token) {
    Instant now = Instant.now();
    byte[] digest = digest(token.length() > MAX_TOKEN ? "" : token);
    Caller found = null;
    // Looks at every entry, found or not: the time must not tell which token came near.
    for (Entry entry : entries) {
      boolean fits =
          entry.secret != null
              ? entry.secret.made(token, now)
              : MessageDigest.isEqual(entry.digest, digest);
      if (fits) {
        found = entry.caller;
      }
    }
    return Optional.ofNullable(found);
  }

  private static void createIfAbsent(Path file) throws IOException {
    if (Files.exists(file)) {
      return;
    }
    Path parent = file.toAbsolutePath().getParent();
    if (parent != null) {
      Files.createDirectories(parent);
    }
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    String token = PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(secret);
    var ownerOnly =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    try (var channel =
        Files.newByteChannel(
            file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), ownerOnly)) {
      channel.write(StandardCharsets.UTF_8.encode(token + "\n"));
    } catch (FileAlreadyExistsException e) {
      // Another process was quicker; its token is as good.
      return;
    }
  }

  private static TokenFile parse(Path file, String text) {
    var entries = new ArrayList<Entry>();
    int number = 0;
    for (String line : text.lines().toList()) {
      number++;
      if (line.isBlank() || line.strip().startsWith("#")) {
        continue;
      }
      entries.add(entry(file, number, line.strip().split("\\s+")));
      if (entries.size() > MAX_ENTRIES) {
        throw unusable(file, "holds more than " + MAX_ENTRIES + " tokens");
      }
    }
    if (entries.isEmpty()) {
      throw unusable(file, "holds no token; delete it to have one made");
    }
    return new TokenFile(entries);
  }

  private static Entry entry(Path file, int number, String[] words) {
    String token = words[0];
    if (token.length() < MIN_TOKEN || token.length() > MAX_TOKEN || !isVisibleAscii(token)) {
      throw unusable(
          file,
          "line "
              + number
              + ": a token has "
              + MIN_TOKEN
              + " to "
              + MAX_TOKEN
              + " visible ASCII characters");
    }
    boolean jwt = token.startsWith(JWT);
    if (jwt && token.length() < JWT.length() + JwtSecret.MIN_LENGTH) {
      throw unusable(
          file,
          "line %d: a secret has at least %d characters".formatted(number, JwtSecret.MIN_LENGTH));
    }
    if (words.length > 5) {
      throw unusable(
          file, "line " + number + ": expected TOKEN [TENANT [PRINCIPAL [ROLE [PERMISSION,…]]]]");
    }
    String tenant = words.length > 1 ? words[1] : "default";
    String principal = words.length > 2 ? words[2] : words.length > 1 ? tenant : "admin";
    Caller.Role role = words.length == 1 ? Caller.Role.ADMIN : Caller.Role.USER;
    if (words.length >= 4) {
      role =
          switch (words[3].toLowerCase(Locale.ROOT)) {
            case "admin" -> Caller.Role.ADMIN;
            case "user" -> Caller.Role.USER;
            default -> throw unusable(file, "line " + number + ": a role is admin or user");
          };
    }
    return new Entry(
        digest(token),
        jwt ? new JwtSecret(token.substring(JWT.length())) : null,
        new Caller(tenant, principal, role, permissions(file, number, words)));
  }

  private static Set<Caller.Permission> permissions(Path file, int number, String[] words) {
    if (words.length < 5) {
      return Set.of();
    }
    try {
      return Caller.Permission.parse(List.of(words[4].split(",", -1)));
    } catch (SandboxException e) {
      throw unusable(file, "line " + number + ": " + e.message());
    }
  }

  private static boolean isVisibleAscii(String token) {
    return token.chars().allMatch(c -> c > 0x20 && c < 0x7f);
  }

  private static SandboxException unusable(Path file, String why) {
    return new SandboxException(ErrorCode.INVALID_INPUT, "token file " + file + " " + why);
  }

  private static byte[] digest(String token) {
    return RequestDigest.sha256().digest(token.getBytes(StandardCharsets.UTF_8));
  }

  @SuppressWarnings("ArrayRecordComponent") // compared with MessageDigest.isEqual only
  private record Entry(byte[] digest, @Nullable JwtSecret secret, Caller caller) {}
}
