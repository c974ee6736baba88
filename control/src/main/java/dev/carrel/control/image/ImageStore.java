package dev.carrel.control.image;

import dev.carrel.control.store.Database;
import dev.carrel.image.Digest;
import dev.carrel.image.ImageFolder.Stored;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** Rows of images, and of roots that were replaced and may still be in use. */
final class ImageStore {
  // A machine starts on the root that was there when it was asked for.
  private static final Duration STARTING = Duration.ofMinutes(1);

  private final Database database;

  ImageStore(Database database) {
    this.database = database;
  }

  List<Image> list() {
    return database.read(
        handle ->
            handle.createQuery("SELECT * FROM image ORDER BY name").map(ImageStore::read).list());
  }

  Optional<Image> find(String name) {
    return database.read(handle -> find(handle, name));
  }

  private static Optional<Image> find(Handle handle, String name) {
    return handle
        .createQuery("SELECT * FROM image WHERE name = :name")
        .bind("name", name)
        .map(ImageStore::read)
        .findOne();
  }

  /** Notes that it is being got; what was there stays usable. */
  void begin(String name, Image.Source source, String origin, Instant now) {
    database.write(
        handle ->
            handle.execute(
                "INSERT INTO image (name, source, origin, status, layers, size_bytes, languages,"
                    + " created_at, updated_at) VALUES (?, ?, ?, 'building', '', 0, '', ?, ?)"
                    + " ON CONFLICT (name) DO UPDATE SET source = excluded.source,"
                    + " origin = excluded.origin, status = 'building', failure = NULL,"
                    + " updated_at = excluded.updated_at",
                name,
                source.wireName(),
                origin,
                now.toEpochMilli(),
                now.toEpochMilli()));
  }

  void ready(String name, Stored stored, Instant now) {
    database.write(
        handle -> {
          find(handle, name)
              .filter(old -> old.digest() != null && !stored.root().equals(old.digest()))
              .ifPresent(old -> retire(handle, old, now));
          return handle.execute(
              "UPDATE image SET status = 'ready', digest = ?, layers = ?, size_bytes = ?,"
                  + " languages = ?, failure = NULL, updated_at = ? WHERE name = ?",
              stored.root().toString(),
              words(stored.layers()),
              stored.bytes(),
              stored.languages().stream()
                  .map(Language::wireName)
                  .sorted()
                  .collect(Collectors.joining(" ")),
              now.toEpochMilli(),
              name);
        });
  }

  void failed(String name, String why, Instant now) {
    database.write(
        handle ->
            handle.execute(
                "UPDATE image SET status = 'failed', failure = ?, updated_at = ? WHERE name = ?",
                why,
                now.toEpochMilli(),
                name));
  }

  /** What an earlier process was getting when it ended. */
  void failUnfinished(Instant now) {
    database.write(
        handle ->
            handle.execute(
                "UPDATE image SET status = 'failed', failure = 'the server ended meanwhile',"
                    + " updated_at = ? WHERE status = 'building'",
                now.toEpochMilli()));
  }

  /** Removes a row that no sandbox needs. */
  void delete(Image image, Instant now) {
    database.write(
        handle -> {
          long users = users(handle, image.name());
          if (users > 0) {
            throw new SandboxException(
                    ErrorCode.WRONG_STATE,
                    "image %s is in use by %d sandboxes".formatted(image.name(), users))
                .withHint("delete those first; 'carrel sandbox list' shows them");
          }
          retire(handle, image, now);
          return handle.execute("DELETE FROM image WHERE name = ?", image.name());
        });
  }

  /** Whether any sandbox, also a stopped one, is on it. */
  boolean used(String name) {
    return database.read(handle -> users(handle, name)) > 0;
  }

  private static long users(Handle handle, String name) {
    return handle
        .createQuery("SELECT COUNT(*) FROM sandbox WHERE image = :name AND status <> 'destroyed'")
        .bind("name", name)
        .mapTo(Long.class)
        .one();
  }

  private static void retire(Handle handle, Image old, Instant now) {
    if (old.digest() != null) {
      handle.execute(
          "INSERT INTO retired_root (digest, layers, image, retired_at) VALUES (?, ?, ?, ?)",
          old.digest().toString(),
          words(old.layers()),
          old.name(),
          now.toEpochMilli());
    }
  }

  /** Roots that were replaced and that a machine may still be on; others are forgotten. */
  List<Retired> retired(Instant now) {
    return database.write(
        handle -> {
          handle.execute(
              "DELETE FROM retired_root WHERE retired_at < ? AND NOT EXISTS ("
                  + "SELECT 1 FROM sandbox WHERE sandbox.image = retired_root.image"
                  + " AND status IN ('creating', 'running', 'paused', 'destroyed')"
                  + " AND (started_at IS NULL OR started_at < retired_root.retired_at + ?))",
              now.minus(STARTING).toEpochMilli(),
              STARTING.toMillis());
          return handle
              .createQuery("SELECT * FROM retired_root")
              .map(
                  (row, _) ->
                      new Retired(Digest.parse(text(row, "digest")), digests(text(row, "layers"))))
              .list();
        });
  }

  /** The layers that a name had at a time, if it has had others since. */
  Optional<List<Digest>> layersAt(String name, Instant time) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT layers FROM retired_root WHERE image = :name AND retired_at > :time"
                        + " ORDER BY retired_at LIMIT 1")
                .bind("name", name)
                .bind("time", time.toEpochMilli())
                .map((row, _) -> digests(text(row, "layers")))
                .findOne());
  }

  record Retired(Digest digest, List<Digest> layers) {}

  private static Image read(ResultSet row, StatementContext context) throws SQLException {
    String digest = row.getString("digest");
    return new Image(
        text(row, "name"),
        Image.Source.parse(text(row, "source")),
        text(row, "origin"),
        Image.Status.parse(text(row, "status")),
        digest == null ? null : Digest.parse(digest),
        digests(text(row, "layers")),
        row.getLong("size_bytes"),
        languages(text(row, "languages")),
        row.getString("failure"),
        Instant.ofEpochMilli(row.getLong("created_at")),
        Instant.ofEpochMilli(row.getLong("updated_at")));
  }

  private static String words(List<Digest> digests) {
    return digests.stream().map(Digest::toString).collect(Collectors.joining(" "));
  }

  private static List<Digest> digests(String words) {
    return split(words).stream().map(Digest::parse).toList();
  }

  private static Set<Language> languages(String words) {
    return split(words).stream().map(Language::parse).collect(Collectors.toUnmodifiableSet());
  }

  private static List<String> split(String words) {
    return words.isEmpty() ? List.of() : Arrays.asList(words.split(" ", -1));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }
}
