package dev.carrel.control.skill;

import dev.carrel.image.Unpacker;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A skill as it was uploaded, read and found good: whole, or not at all.
 *
 * @param files by path
 */
record SkillPackage(
    Skill.Source source, long packageBytes, FrontMatter frontMatter, Map<String, Content> files) {

  /** A file's bytes, which nobody changes. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Content(byte[] bytes, boolean executable, String digest) {
    static Content of(byte[] bytes, boolean executable) {
      return new Content(bytes, executable, "sha256:" + hex(sha256().digest(bytes)));
    }
  }

  /**
   * @param filename as the client calls it: its ending says what it is
   */
  static SkillPackage read(String filename, Path file) throws IOException {
    String name = filename.toLowerCase(Locale.ROOT);
    var files = new TreeMap<String, Content>();
    Skill.Source source;
    if (name.endsWith(".md")) {
      source = Skill.Source.MD;
      files.put(Skill.MAIN, Content.of(Files.readAllBytes(file), false));
    } else if (name.endsWith(".zip") || name.endsWith(".skill")) {
      source = Skill.Source.ZIP;
      requireZip(file);
      Unpacker.unpack(file, Limits.UNPACKED, new Sink(files));
      files = inOneFolder(files);
    } else {
      throw SandboxException.invalid(
          "file",
          "must be named *.zip, *.skill or *.md, not '" + Text.printable(filename, 100) + "'");
    }
    Content main = files.get(Skill.MAIN);
    if (main == null) {
      throw new SandboxException(
              ErrorCode.INVALID_INPUT,
              "the skill is refused: there is no " + Skill.MAIN + " at its top")
          .withHint("pack the folder that has it, or what is in that folder");
    }
    return new SkillPackage(source, Files.size(file), FrontMatter.of(main.bytes()), files);
  }

  private static void requireZip(Path file) throws IOException {
    byte[] head;
    try (InputStream in = Files.newInputStream(file)) {
      head = in.readNBytes(2);
    }
    if (!new String(head, StandardCharsets.ISO_8859_1).equals("PK")) {
      throw SandboxException.invalid("file", "is not a zip");
    }
  }

  /** Many pack the folder of a skill, others what is in it. */
  private static TreeMap<String, Content> inOneFolder(TreeMap<String, Content> files) {
    if (files.isEmpty() || files.containsKey(Skill.MAIN)) {
      return files;
    }
    String first = files.firstKey();
    String folder = first.substring(0, first.indexOf('/') + 1);
    if (folder.isEmpty() || !files.keySet().stream().allMatch(path -> path.startsWith(folder))) {
      return files;
    }
    var inside = new TreeMap<String, Content>();
    files.forEach((path, content) -> inside.put(path.substring(folder.length()), content));
    return inside;
  }

  long size() {
    return files.values().stream().mapToLong(content -> content.bytes().length).sum();
  }

  /** Of what is in it: neither the packing nor its order nor its times count. */
  String digest() {
    MessageDigest digest = sha256();
    files.forEach(
        (path, content) -> {
          String line = path + "\0" + (content.executable() ? "x" : "-") + content.digest() + "\n";
          digest.update(line.getBytes(StandardCharsets.UTF_8));
        });
    return "sha256:" + hex(digest.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  /** Takes what has been checked; what a Mac adds by itself is left out. */
  private record Sink(Map<String, Content> files) implements Unpacker.Sink {
    @Override
    public void folder(String name) {
      // Folders come with their files.
    }

    @Override
    public void file(String name, long size, boolean executable, InputStream content)
        throws IOException {
      if (FrontMatter.hasHidden(name)) {
        throw new SandboxException(
            ErrorCode.INVALID_INPUT,
            "the skill is refused: '%s' has characters in its name that nobody sees"
                .formatted(Text.printable(name, 200)));
      }
      if (!name.startsWith("__MACOSX/") && !name.endsWith(".DS_Store")) {
        files.put(name, Content.of(content.readAllBytes(), executable));
      }
    }
  }
}
