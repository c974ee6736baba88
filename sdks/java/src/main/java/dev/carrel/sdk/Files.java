package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The files of one sandbox. Paths are resolved inside it; a relative one starts at /workspace.
 * Content is streamed: files may be of any size.
 */
public final class Files {
  private static final TypeReference<List<FileEntry>> ENTRIES = new TypeReference<>() {};
  private static final TypeReference<FileEntry> ENTRY = new TypeReference<>() {};
  private static final TypeReference<Found> FOUND = new TypeReference<>() {};
  private static final TypeReference<Matches> MATCHES = new TypeReference<>() {};

  private final Transport transport;
  private final String sandboxPath;

  Files(Transport transport, String sandboxPath) {
    this.transport = transport;
    this.sandboxPath = sandboxPath;
  }

  /**
   * What is in a directory; of a very large one not all, as {@link FileListing#truncated} tells.
   */
  public FileListing list(String path) {
    HttpResponse<InputStream> response =
        transport.send(
            transport
                .request(sandboxPath + "/files" + Transport.query(Map.of("path", path)))
                .GET());
    boolean truncated =
        response.headers().firstValue("X-Carrel-Truncated").orElse("").equals("true");
    return new FileListing(transport.read(response, ENTRIES), truncated);
  }

  /** A file's bytes, to be closed by the caller; a directory comes as a zip. */
  public InputStream read(String path) {
    return transport.send(transport.request(file(path)).GET()).body();
  }

  /** All of a file that fits in memory. */
  public byte[] readAll(String path) {
    try (InputStream in = read(path)) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw CarrelException.unreachable("reading " + path + " broke off: " + e.getMessage(), e);
    }
  }

  /** Takes the place of what was there at once; missing directories are made. */
  public void write(String path, byte[] content) {
    put(path, "0644", BodyPublishers.ofByteArray(content));
  }

  /**
   * Uploads a file of this machine.
   *
   * @param mode permission bits in octal
   */
  public void upload(Path source, String path, String mode) throws FileNotFoundException {
    put(path, mode, BodyPublishers.ofFile(source));
  }

  /**
   * Uploads a file of this machine in place of one that nobody has changed since it was looked at.
   *
   * @param mode permission bits in octal
   * @param etag what {@link #stat} said then; of another one it fails with {@link
   *     ErrorCode#PRECONDITION_FAILED}, and the file stays as it is
   */
  public void upload(Path source, String path, String mode, String etag)
      throws FileNotFoundException {
    transport.discard(
        transport.send(
            writing(path, mode).header("If-Match", etag).PUT(BodyPublishers.ofFile(source))));
  }

  /** Uploads what the stream gives, to its end. */
  public void upload(InputStream source, String path) {
    put(path, "0644", BodyPublishers.ofInputStream(() -> source));
  }

  private void put(String path, String mode, BodyPublisher content) {
    transport.discard(transport.send(writing(path, mode).PUT(content)));
  }

  private HttpRequest.Builder writing(String path, String mode) {
    return transport
        .request(file(path) + "?mode=" + mode)
        .header("Content-Type", "application/octet-stream");
  }

  /**
   * @param recursive also a directory that is not empty
   */
  public void delete(String path, boolean recursive) {
    transport.delete(file(path) + "?recursive=" + recursive);
  }

  public FileEntry stat(String path) {
    return transport.post(sandboxPath + "/fs/stat", Map.of("path", path), ENTRY);
  }

  /** What is at the path, or empty when there is nothing. */
  public Optional<FileEntry> find(String path) {
    try {
      return Optional.of(stat(path));
    } catch (CarrelException e) {
      if (e.code() == ErrorCode.FILE_NOT_FOUND) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** Makes a directory and those above it. */
  public FileEntry makeDirectory(String path) {
    return transport.post(sandboxPath + "/fs/mkdir", Map.of("path", path), ENTRY);
  }

  public FileEntry move(String from, String to) {
    return transport.post(sandboxPath + "/fs/move", Map.of("from", from, "to", to), ENTRY);
  }

  /** Copies a file, or a directory with all of it. */
  public FileEntry copy(String from, String to) {
    return transport.post(sandboxPath + "/fs/copy", Map.of("from", from, "to", to), ENTRY);
  }

  /** Files by name, newest first; {@code **} crosses directories. */
  public Found glob(String path, String pattern) {
    return transport.post(
        sandboxPath + "/fs/glob", Map.of("path", path, "pattern", pattern), FOUND);
  }

  /**
   * Lines by content.
   *
   * @param options further fields of the request: glob, ignore_case, fixed, hidden, context, limit
   */
  public Matches grep(String path, String pattern, Map<String, Object> options) {
    var request = new TreeMap<>(options);
    request.put("path", path);
    request.put("pattern", pattern);
    return transport.post(sandboxPath + "/fs/grep", request, MATCHES);
  }

  /** Changes as they happen; nothing after this call's return is missed. */
  public FileWatch watch(String path, boolean recursive) {
    return FileWatch.open(
        transport.events(
            sandboxPath
                + "/fs/watch"
                + Transport.query(Map.of("path", path, "recursive", Boolean.toString(recursive)))));
  }

  private String file(String path) {
    for (String part : path.split("/", -1)) {
      if (part.equals(".") || part.equals("..")) {
        throw CarrelException.invalid("path", "no segment may be '.' or '..': " + path);
      }
    }
    return sandboxPath + "/files/" + Transport.encodePath(path);
  }

  /** What a glob found. */
  public record Found(List<FileEntry> entries, boolean truncated) {}

  /** What a grep found. */
  public record Matches(List<Match> matches, boolean truncated, long files, long matchCount) {}

  /**
   * One line.
   *
   * @param context whether it is a neighbour and not itself a match
   * @param cut whether the line is longer than what is shown
   */
  public record Match(String path, long line, String text, boolean context, boolean cut) {}
}
