package dev.carrel.image;

import dev.carrel.spi.Text;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/**
 * The members of an image archive, which may come in any order. Nothing is unpacked: a member is
 * read where it lies. For one thread.
 */
final class ArchiveFile implements AutoCloseable {
  private static final int MAX_MEMBERS = 10_000;
  private static final int MAX_LINKS = 4;

  private final FileChannel channel;
  private final Map<String, Member> members = new HashMap<>();
  private final Map<String, String> links = new HashMap<>();

  private ArchiveFile(FileChannel channel) {
    this.channel = channel;
  }

  /** Reads the headers of a tar that is not compressed. */
  static ArchiveFile open(Path tar) throws IOException {
    FileChannel channel = FileChannel.open(tar, StandardOpenOption.READ);
    var archive = new ArchiveFile(channel);
    try {
      archive.index();
      return archive;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  private void index() throws IOException {
    var in = new Position(channel);
    var reader = new TarReader(in, BadImage::because);
    int count = 0;
    for (TarEntry entry = reader.next(); entry != null; entry = reader.next()) {
      if (++count > MAX_MEMBERS) {
        throw BadImage.tooLarge("an archive of more than " + MAX_MEMBERS + " members");
      }
      String name = clean(entry.name());
      switch (entry.type()) {
        case FILE -> members.put(name, new Member(in.at(), entry.size()));
        // docker save names a layer that two images share by a link.
        case SYMLINK -> links.put(name, beside(name, entry.link()));
        case HARDLINK -> links.put(name, clean(entry.link()));
        case DIRECTORY, NODE -> {
          // Nothing in them.
        }
      }
    }
  }

  boolean has(String name) {
    return members.containsKey(name);
  }

  InputStream open(String name) {
    String real = clean(name);
    for (int i = 0; i < MAX_LINKS && links.containsKey(real); i++) {
      real = String.valueOf(links.get(real));
    }
    Member member = members.get(real);
    if (member == null) {
      throw BadImage.because("it lacks its part " + Text.printable(name, 100));
    }
    return new BufferedInputStream(new Slice(channel, member.offset(), member.size()), 1 << 16);
  }

  byte[] small(String name) throws IOException {
    try (InputStream in = open(name)) {
      byte[] bytes = in.readNBytes(ImageLimits.MAX_JSON + 1);
      if (bytes.length > ImageLimits.MAX_JSON) {
        throw BadImage.tooLarge("a manifest of more than " + ImageLimits.MAX_JSON + " bytes");
      }
      return bytes;
    }
  }

  private static String clean(String name) {
    String rest = name;
    while (rest.startsWith("./")) {
      rest = rest.substring(2);
    }
    return rest;
  }

  private static String beside(String name, String link) {
    try {
      return Path.of("/").resolve(name).resolveSibling(link).normalize().toString().substring(1);
    } catch (InvalidPathException e) {
      throw BadImage.because("a link in it leads nowhere: " + Text.printable(name, 100));
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  private record Member(long offset, long size) {}

  /** Reads from the start, skips without reading, and knows where it is. */
  private static final class Position extends InputStream {
    private final FileChannel channel;
    private final InputStream in;

    Position(FileChannel channel) {
      this.channel = channel;
      this.in = Channels.newInputStream(channel);
    }

    long at() throws IOException {
      return channel.position();
    }

    @Override
    public int read() throws IOException {
      return in.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return in.read(bytes, offset, length);
    }

    @Override
    public void skipNBytes(long count) throws IOException {
      if (count > channel.size() - channel.position()) {
        throw BadImage.because("the archive ends too early");
      }
      channel.position(channel.position() + count);
    }
  }
}
