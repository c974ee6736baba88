package dev.carrel.engine.docker;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The one layer of the image that a machine's container is made of: folders, links and the few
 * files that are the same for all machines. Whatever is large is bound onto it. The same skeleton
 * is the same bytes, so that one image serves all machines that look alike.
 */
final class RootLayer {
  private static final int BLOCK = 512;
  private static final int MAX_NAME = 100;
  private static final int SHOWN_DIGITS = 32;

  /** Each machine has its own; here they are only places to bind them to. */
  private static final Set<String> OF_ONE_MACHINE =
      Set.of("etc/hosts", "etc/hostname", "etc/resolv.conf");

  private final String digest;
  private final byte[] tar;

  private RootLayer(String digest, byte[] tar) {
    this.digest = digest;
    this.tar = tar;
  }

  String digest() {
    return digest;
  }

  byte[] tar() {
    return tar.clone();
  }

  static RootLayer of(Path skeleton) throws IOException {
    var tar = new ByteArrayOutputStream();
    try (Stream<Path> found = Files.walk(skeleton)) {
      List<Path> entries = found.filter(path -> !path.equals(skeleton)).sorted().toList();
      for (Path entry : entries) {
        add(tar, skeleton.relativize(entry).toString(), entry);
      }
    }
    tar.write(new byte[2 * BLOCK]);
    byte[] bytes = tar.toByteArray();
    return new RootLayer(digest(bytes), bytes);
  }

  private static void add(ByteArrayOutputStream tar, String name, Path entry) throws IOException {
    if (Files.isSymbolicLink(entry)) {
      tar.write(header(name, '2', 0777, 0, Files.readSymbolicLink(entry).toString()));
    } else if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
      // Runtimes give what they mount on it the mode of what is below.
      tar.write(header(name + "/", '5', name.equals("tmp") ? 01777 : 0755, 0, ""));
    } else {
      byte[] content = OF_ONE_MACHINE.contains(name) ? new byte[0] : Files.readAllBytes(entry);
      tar.write(header(name, '0', 0644, content.length, ""));
      tar.write(Arrays.copyOf(content, (content.length + BLOCK - 1) / BLOCK * BLOCK));
    }
  }

  /** As in POSIX ustar: owned by root, at the beginning of time. */
  private static byte[] header(String name, char type, int mode, int size, String link)
      throws IOException {
    byte[] header = new byte[BLOCK];
    put(header, 0, name);
    put(header, 100, "%07o".formatted(mode));
    put(header, 108, "%07o".formatted(0));
    put(header, 116, "%07o".formatted(0));
    put(header, 124, "%011o".formatted(size));
    put(header, 136, "%011o".formatted(0));
    header[156] = (byte) type;
    put(header, 157, link);
    put(header, 257, "ustar");
    put(header, 263, "00");
    int sum = 8 * ' '; // the sum counts its own field as blanks
    for (byte b : header) {
      sum += b & 0xff;
    }
    put(header, 148, "%06o".formatted(sum));
    header[155] = ' ';
    return header;
  }

  private static void put(byte[] header, int at, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length > MAX_NAME) {
      throw new IOException("the image has a name or a link that is too long at its top: " + text);
    }
    System.arraycopy(bytes, 0, header, at, bytes.length);
  }

  private static String digest(byte[] bytes) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
      return HexFormat.of().formatHex(digest).substring(0, SHOWN_DIGITS);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every JDK has it
    }
  }
}
