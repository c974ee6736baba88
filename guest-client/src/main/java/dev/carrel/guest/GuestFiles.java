package dev.carrel.guest;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Files of one sandbox. The guest does the work inside, as the sandbox's user, so a path means what
 * it means there and can reach nothing else.
 *
 * <p>Paths go out as exact UTF-8 or are refused ({@code INVALID_INPUT}); for those that come back
 * see {@link FileEntry#exact}.
 */
public final class GuestFiles {
  /** How far down a listing goes. */
  public static final int MAX_DEPTH = 64;

  /** The most entries of one answer. */
  public static final int MAX_ENTRIES = Checks.MAX_ENTRIES;

  private static final int MAX_PATTERN = 4096;
  private static final int MAX_OWNER_BITS = 32;
  private static final int TYPE_LENGTH = 1;
  private static final int MAX_ATTRIBUTES = 8192;

  private final Guest guest;
  private final @Nullable String root;
  private final boolean attributes;

  GuestFiles(Guest guest, @Nullable String root) {
    this(guest, root, false);
  }

  private GuestFiles(Guest guest, @Nullable String root, boolean attributes) {
    this.guest = guest;
    this.root = root;
    this.attributes = attributes;
  }

  /**
   * The same files, of which only those beneath this folder can be reached: a path or a link that
   * leads out is a {@code PERMISSION_DENIED}, whatever is swapped for links meanwhile.
   */
  public GuestFiles beneath(String folder) {
    return new GuestFiles(guest, Checks.path("root", folder), attributes);
  }

  /** The same files, told with their attributes where they are looked at, listed or moved. */
  public GuestFiles withAttributes() {
    return new GuestFiles(guest, root, true);
  }

  /** What is at this path; a link's target is looked at, not the link. */
  public FileEntry stat(String path) {
    return entry(request(Wire.STAT).path(10, "path", path), path);
  }

  /** What is at this path, be it a link. */
  public FileEntry statLink(String path) {
    return entry(request(Wire.STAT).path(10, "path", path).put(11, false), path);
  }

  /** A whole file. */
  public FileDownload read(String path) {
    return read(path, 0, Long.MAX_VALUE);
  }

  /**
   * Part of a file, or less where it ends before.
   *
   * @param length {@code Long.MAX_VALUE} means to the end
   */
  public FileDownload read(String path, long offset, long length) {
    if (offset < 0 || length < 0) {
      throw SandboxException.invalid("range", "must not be negative");
    }
    Request request = request(Wire.READ).path(10, "path", path).put(11, offset);
    if (length != Long.MAX_VALUE) {
      request.put(12, length);
    }
    Connection connection = guest.connect(request);
    return Guest.begin(
        connection,
        new Answer(connection, ErrorCode.FILE_NOT_FOUND, path),
        answer -> new FileDownload(answer, entry(answer.expect(Wire.ENTRY)), length));
  }

  /**
   * Begins to write a file; nothing is changed before {@link FileUpload#commit}, save appending.
   */
  public FileUpload write(FileWrite write) {
    Request request =
        request(Wire.WRITE)
            .path(10, "path", write.path())
            .put(12, write.append())
            .put(13, write.parents())
            .put(15, write.ifAbsent());
    write.mode().ifPresent(mode -> request.put(11, mode));
    write.size().ifPresent(size -> request.put(14, size));
    write.attributes().forEach((key, value) -> request.put(16, "metadata", key + "=" + value));
    return new FileUpload(guest.connect(request), write.path(), guest.work());
  }

  /** Writes a small file in one call. */
  public FileEntry write(FileWrite write, byte[] content) {
    try (FileUpload upload = write(write.withSize(content.length))) {
      upload.write(content);
      return upload.commit();
    }
  }

  /**
   * What is in a folder.
   *
   * @param depth 1 means only what is directly in it
   */
  public FileListing list(String path, int depth, int limit) {
    Checks.range("depth", depth, 1, MAX_DEPTH);
    return listing(request(Wire.LIST_DIR).path(10, "path", path).put(11, depth), 12, limit, path);
  }

  /** Makes a folder, and those above it that are missing. */
  public FileEntry mkdir(String path) {
    return entry(request(Wire.MKDIR).path(10, "path", path), path);
  }

  /** Makes one folder; its parent must be there, and it must not. */
  public FileEntry mkdirOnly(String path) {
    return entry(request(Wire.MKDIR).path(10, "path", path).put(11, false), path);
  }

  public FileEntry move(String from, String to, OnExisting existing) {
    return transfer(Wire.MOVE, from, to, existing);
  }

  /** Puts each of two where the other is, in one step: nobody finds nothing at either name. */
  public FileEntry exchange(String from, String to) {
    return entry(request(Wire.MOVE).path(10, "from", from).path(11, "to", to).put(14, true), from);
  }

  /** Copies a file, or a folder with all it holds; links are copied as links. */
  public FileEntry copy(String from, String to, OnExisting existing) {
    return transfer(Wire.COPY, from, to, existing);
  }

  /** Removes and returns how many nodes went. */
  public long remove(String path, RemoveOption... options) {
    Set<RemoveOption> set = Set.copyOf(Arrays.asList(options));
    Request request =
        request(Wire.REMOVE)
            .path(10, "path", path)
            .put(11, set.contains(RemoveOption.RECURSIVE))
            .put(12, set.contains(RemoveOption.MISSING_OK));
    return guest.order(
        request, ErrorCode.FILE_NOT_FOUND, path, answer -> answer.expect(Wire.OK).natural(21));
  }

  /**
   * Removes all that is there, if anything is. Also for who was cancelled: else a thread that is
   * interrupted reaches no guest, and would leave what it has begun.
   */
  public void clear(String path) {
    boolean cancelled = Thread.interrupted();
    try {
      remove(path, RemoveOption.RECURSIVE, RemoveOption.MISSING_OK);
      if (cancelled) {
        // The guest may have come to the request that was cancelled only after this one.
        remove(path, RemoveOption.RECURSIVE, RemoveOption.MISSING_OK);
      }
    } finally {
      if (cancelled) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Finds by name, newest first.
   *
   * @param pattern with {@code *}, {@code ?}, {@code [...]}, {@code {a,b}} and {@code **}
   */
  public FileListing glob(String root, String pattern, int limit, boolean hidden) {
    return glob(root, pattern, limit, hidden, false);
  }

  /**
   * Finds by name, newest first.
   *
   * @param gitignore whether what .gitignore files name is left out
   */
  public FileListing glob(
      String root, String pattern, int limit, boolean hidden, boolean gitignore) {
    Request request =
        request(Wire.GLOB)
            .path(10, "path", root)
            .put(11, "pattern", pattern(pattern))
            .put(13, hidden)
            .put(14, gitignore);
    return listing(request, 12, limit, root);
  }

  /** Finds by content, the file that changed last first. */
  public GrepResult grep(GrepRequest grep) {
    Request request =
        request(Wire.GREP)
            .path(10, "path", grep.path())
            .put(11, "pattern", pattern(grep.pattern()))
            .put(13, grep.ignoreCase())
            .put(14, grep.context())
            .put(15, grep.limit())
            .put(16, grep.maxLine())
            .put(17, grep.fixed())
            .put(18, grep.hidden())
            .put(19, grep.gitignore());
    if (grep.glob() != null) {
      request.put(12, "glob", pattern(grep.glob()));
    }
    long lines = (long) grep.limit() * (1 + 2L * grep.context());
    return guest.order(
        request,
        ErrorCode.FILE_NOT_FOUND,
        grep.path(),
        answer -> {
          List<GrepResult.Line> found =
              answer.items(Wire.MATCH, lines, fields -> line(fields, grep.maxLine()));
          Fields ok = answer.ok();
          return new GrepResult(
              found,
              ok.natural(22),
              ok.natural(23),
              ok.flag(Wire.TAG_TRUNCATED),
              ok.natural(Wire.TAG_UNREADABLE));
        });
  }

  /** Watches a folder and all below it. Returns once nothing can be missed any more. */
  public FileWatch watch(String path) {
    Connection connection = guest.connect(request(Wire.WATCH).path(10, "path", path));
    return Guest.begin(
        connection,
        new Answer(connection, ErrorCode.FILE_NOT_FOUND, path),
        answer -> {
          answer.expect(Wire.OK);
          connection.deadline().close();
          return new FileWatch(connection, path);
        });
  }

  static FileEntry entry(Fields fields) throws IOException {
    Fields.Name path = fields.path(Wire.TAG_PATH);
    String letter = fields.text(51, TYPE_LENGTH);
    FileEntry.Type type = letter == null ? null : FileEntry.Type.of(letter);
    if (type == null) {
      throw new Malformed("an entry of no known type");
    }
    return new FileEntry(
        path.shown(),
        path.exact(),
        type,
        fields.natural(52),
        (int) fields.integer(53, 0, 07777),
        fields.integer(54, 0, (1L << MAX_OWNER_BITS) - 1),
        fields.integer(55, 0, (1L << MAX_OWNER_BITS) - 1),
        Instant.ofEpochSecond(0, fields.integer(56).orElse(0)),
        fields.text(57, Fields.MAX_PATH),
        fields.integer(58).orElse(0),
        attributes(fields));
  }

  /** Whoever is inside can set them too, so they may be anything. */
  private static Map<String, String> attributes(Fields fields) throws Malformed {
    var found = new HashMap<String, String>();
    for (String text : fields.texts(59, MAX_ATTRIBUTES, MAX_ATTRIBUTES)) {
      int equals = text.indexOf('=');
      if (equals > 0) {
        found.put(text.substring(0, equals), text.substring(equals + 1));
      }
    }
    return found;
  }

  private static GrepResult.Line line(Fields fields, int maxLine) throws IOException {
    Fields.Name path = fields.path(Wire.TAG_PATH);
    String text = fields.text(61, maxLine);
    return new GrepResult.Line(
        path.shown(),
        path.exact(),
        fields.integer(60, 1, Long.MAX_VALUE),
        text == null ? "" : text,
        fields.flag(62),
        fields.flag(63));
  }

  private FileEntry transfer(int type, String from, String to, OnExisting existing) {
    Request request =
        request(type)
            .path(10, "from", from)
            .path(11, "to", to)
            .put(12, existing == OnExisting.REPLACE);
    return guest.order(request, ErrorCode.FILE_NOT_FOUND, from, GuestFiles::only);
  }

  private FileEntry entry(Request request, String subject) {
    return guest.ask(request, ErrorCode.FILE_NOT_FOUND, subject, GuestFiles::only);
  }

  /** The one entry of an answer. */
  static FileEntry only(Answer answer) throws IOException {
    FileEntry entry = entry(answer.expect(Wire.ENTRY));
    answer.expect(Wire.OK);
    return entry;
  }

  private FileListing listing(Request request, int limitTag, int limit, String subject) {
    Checks.range("limit", limit, 1, Checks.MAX_ENTRIES);
    return guest.order(
        request.put(limitTag, limit),
        ErrorCode.FILE_NOT_FOUND,
        subject,
        answer -> {
          List<FileEntry> entries = answer.items(Wire.ENTRY, limit, GuestFiles::entry);
          Fields ok = answer.ok();
          return new FileListing(
              entries, ok.flag(Wire.TAG_TRUNCATED), ok.natural(Wire.TAG_UNREADABLE));
        });
  }

  private Request request(int type) {
    var request = new Request(type);
    if (attributes) {
      request.put(Wire.TAG_ATTRIBUTES, true);
    }
    return root == null ? request : request.path(Wire.TAG_ROOT, "root", root);
  }

  private static String pattern(String pattern) {
    if (pattern.isEmpty() || pattern.length() > MAX_PATTERN) {
      throw SandboxException.invalid("pattern", "must have 1 to " + MAX_PATTERN + " characters");
    }
    return pattern;
  }
}
