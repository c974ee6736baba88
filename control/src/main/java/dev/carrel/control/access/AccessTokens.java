package dev.carrel.control.access;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.ExportId;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Tokens that open one sandbox and nothing else. Each is a MAC of what it opens under the server's
 * own key, so none is stored and all survive a restart. Safe for many threads.
 */
public final class AccessTokens {
  private static final String ALGORITHM = "HmacSHA256";
  private static final int KEY_BYTES = 32;
  private static final int TOKEN_CHARS = 40;
  private static final String READ = "read";
  private static final String WRITE = "write";
  private static final Set<PosixFilePermission> OWNER =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  private final Sandboxes sandboxes;
  private final SecretKeySpec key;

  /**
   * @param file holds the server's key; made when there is none
   */
  public AccessTokens(Sandboxes sandboxes, Path file) {
    this.sandboxes = sandboxes;
    this.key = new SecretKeySpec(openOrCreate(file), ALGORITHM);
  }

  /** Opens a sandbox for as long as it exists. */
  public String of(SandboxId sandbox) {
    return mac("sandbox\n" + sandbox).substring(0, TOKEN_CHARS);
  }

  /** Opens what listens in a sandbox, and none of its files and commands. */
  public String ofTraffic(SandboxId sandbox) {
    return mac("traffic\n" + sandbox).substring(0, TOKEN_CHARS);
  }

  /** As {@link #open}, for what listens in it. */
  public Optional<Caller> openTraffic(SandboxId sandbox, String token) {
    return same(ofTraffic(sandbox), token) ? owner(sandbox) : Optional.empty();
  }

  /** Who may use a sandbox with this token: its owner, and only there. Empty for a wrong one. */
  public Optional<Caller> open(SandboxId sandbox, String token) {
    return same(of(sandbox), token) ? owner(sandbox) : Optional.empty();
  }

  /** The sandbox with a machine that this token opens: tokens differ, so at most one fits. */
  public Optional<SandboxId> find(String token) {
    return live().filter(sandbox -> same(of(sandbox), token)).findFirst();
  }

  /** Whose a sandbox is that runs or is paused. */
  public Optional<Caller> owner(SandboxId sandbox) {
    return sandboxes.find(sandbox).map(AccessTokens::owner);
  }

  /** Those that a token could be for. */
  public Stream<SandboxId> live() {
    return sandboxes.liveIds();
  }

  /** Opens a port of a sandbox until a moment. */
  public String ofPort(SandboxId sandbox, int port, Instant end) {
    return until("port\n" + sandbox + "\n" + port, end.getEpochSecond());
  }

  /** Whether a link's token opens this port now. */
  public boolean opensPort(SandboxId sandbox, int port, String token, Instant now) {
    return opens("port\n" + sandbox + "\n" + port, token, now);
  }

  /** Opens a terminal until a moment, to look at or to type as well. */
  public String ofTerminal(SandboxId sandbox, ExecId terminal, boolean writes, Instant end) {
    return word(writes) + "." + until(what(sandbox, terminal, writes), end.getEpochSecond());
  }

  /** What a link's token lets one do with this terminal now. */
  public Optional<TerminalGrant> opensTerminal(
      SandboxId sandbox, ExecId terminal, String token, Instant now) {
    int dot = token.indexOf('.');
    if (dot < 0) {
      return Optional.empty();
    }
    boolean writes = token.substring(0, dot).equals(WRITE);
    String rest = token.substring(dot + 1);
    boolean known = word(writes).equals(token.substring(0, dot));
    return known && opens(what(sandbox, terminal, writes), rest, now)
        ? Optional.of(new TerminalGrant(writes, Instant.ofEpochSecond(end(rest))))
        : Optional.empty();
  }

  /**
   * What a link to a terminal is good for.
   *
   * @param writes whether one may type, too
   */
  public record TerminalGrant(boolean writes, Instant end) {}

  private static String word(boolean writes) {
    return writes ? WRITE : READ;
  }

  private static String what(SandboxId sandbox, ExecId terminal, boolean writes) {
    return "terminal\n" + sandbox + "\n" + terminal + "\n" + word(writes);
  }

  /** Opens what was exported until a moment. */
  public String ofExport(ExportId export, Instant end) {
    return until("export\n" + export, end.getEpochSecond());
  }

  /** Whether a link's token opens this export now. */
  public boolean opensExport(ExportId export, String token, Instant now) {
    return opens("export\n" + export, token, now);
  }

  private String until(String what, long end) {
    return end + "." + mac(what + "\n" + end).substring(0, TOKEN_CHARS);
  }

  private boolean opens(String what, String token, Instant now) {
    int dot = token.indexOf('.');
    if (dot < 1 || dot > 12 || !token.substring(0, dot).chars().allMatch(Character::isDigit)) {
      return false;
    }
    long end = end(token);
    return same(until(what, end), token) && now.getEpochSecond() < end;
  }

  private static long end(String token) {
    return Long.parseLong(token.substring(0, token.indexOf('.')));
  }

  private static Caller owner(Sandbox sandbox) {
    return Caller.user(sandbox.tenant(), sandbox.owner());
  }

  private static boolean same(String expected, String offered) {
    return MessageDigest.isEqual(
        expected.getBytes(StandardCharsets.US_ASCII), offered.getBytes(StandardCharsets.UTF_8));
  }

  private String mac(String text) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + ALGORITHM, e);
    }
  }

  private static byte[] openOrCreate(Path file) {
    try {
      if (!Files.exists(file)) {
        create(file);
      }
      if (!OWNER.containsAll(Files.getPosixFilePermissions(file))) {
        throw new IllegalStateException(
            file + " can be read or written by others; run chmod 600 on it");
      }
      byte[] key = Files.readAllBytes(file);
      if (key.length != KEY_BYTES) {
        throw new IllegalStateException(file + " is no key: it must have " + KEY_BYTES + " bytes");
      }
      return key;
    } catch (IOException e) {
      throw new UncheckedIOException("key " + file + " cannot be read", e);
    }
  }

  private static void create(Path file) throws IOException {
    byte[] key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    // Whole or not at all: half a key would stop every start to come.
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    Files.deleteIfExists(fresh);
    Files.createFile(fresh, PosixFilePermissions.asFileAttribute(OWNER));
    Files.write(fresh, key);
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
  }
}
