package dev.carrel.control.skill;

import dev.carrel.control.store.Database;
import dev.carrel.control.store.Sql;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SkillId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.StatementContext;

/** Rows of skills, their files, and where they are installed. */
final class SkillStore {
  private final Database database;

  SkillStore(Database database) {
    this.database = database;
  }

  /** A skill of one moment, with the contents of its files by path. */
  record Whole(String digest, int version, Map<String, SkillPackage.Content> files) {}

  /** Keeps what is new of it; who has the name keeps its id. */
  Upload put(Skill fresh, Map<String, SkillPackage.Content> files) {
    return database.write(
        handle -> {
          Optional<Skill> former = named(handle, fresh.tenant(), fresh.name());
          if (former.isPresent() && former.get().digest().equals(fresh.digest())) {
            return new Upload(former.get(), Upload.Change.NONE);
          }
          requireRoom(handle, fresh, former.isPresent());
          Skill kept = former.map(old -> next(old, fresh)).orElse(fresh);
          // The files go with the row.
          handle.execute("DELETE FROM skill WHERE id = ?", kept.id().value());
          insert(handle, kept);
          files.forEach((path, content) -> insert(handle, kept.id(), path, content));
          return new Upload(kept, former.isPresent() ? Upload.Change.UPDATED : Upload.Change.ADDED);
        });
  }

  private static Skill next(Skill old, Skill fresh) {
    return new Skill(
        old.id(),
        old.tenant(),
        old.name(),
        fresh.description(),
        fresh.frontMatter(),
        fresh.source(),
        fresh.digest(),
        old.version() + 1,
        fresh.packageBytes(),
        fresh.sizeBytes(),
        fresh.fileCount(),
        old.createdBy(),
        old.createdAt(),
        fresh.updatedAt());
  }

  private static void requireRoom(Handle handle, Skill fresh, boolean replaces) {
    long[] others =
        handle
            .createQuery(
                "SELECT count(*) AS number, coalesce(sum(size_bytes), 0) AS bytes FROM skill"
                    + " WHERE tenant = ? AND name <> ?")
            .bind(0, fresh.tenant())
            .bind(1, fresh.name())
            .map((row, _) -> new long[] {row.getLong("number"), row.getLong("bytes")})
            .one();
    if (!replaces && others[0] >= Limits.MAX_OF_TENANT) {
      throw full("there are " + Limits.MAX_OF_TENANT + " skills already");
    }
    if (others[1] + fresh.sizeBytes() > Limits.MAX_BYTES_OF_TENANT) {
      throw full("skills have at most " + Limits.MAX_BYTES_OF_TENANT + " bytes together");
    }
  }

  private static SandboxException full(String why) {
    return new SandboxException(ErrorCode.LIMIT_REACHED, why).withHint("delete some first");
  }

  private static void insert(Handle handle, Skill skill) {
    handle.execute(
        "INSERT INTO skill (id, tenant, name, description, front_matter, source, digest, version,"
            + " package_bytes, size_bytes, file_count, created_by, created_at, updated_at)"
            + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        skill.id().value(),
        skill.tenant(),
        skill.name(),
        skill.description(),
        skill.frontMatter(),
        skill.source().name(),
        skill.digest(),
        skill.version(),
        skill.packageBytes(),
        skill.sizeBytes(),
        skill.fileCount(),
        skill.createdBy(),
        skill.createdAt().toEpochMilli(),
        skill.updatedAt().toEpochMilli());
  }

  private static void insert(
      Handle handle, SkillId skill, String path, SkillPackage.Content content) {
    handle.execute(
        "INSERT INTO skill_file (skill_id, path, size_bytes, executable, digest, content)"
            + " VALUES (?, ?, ?, ?, ?, ?)",
        skill.value(),
        path,
        content.bytes().length,
        content.executable() ? 1 : 0,
        content.digest(),
        content.bytes());
  }

  /** By name. */
  List<Skill> list(String tenant) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT * FROM skill WHERE tenant = ? ORDER BY name")
                .bind(0, tenant)
                .map(SkillStore::readSkill)
                .list());
  }

  /**
   * @param reference its id or its name
   */
  Optional<Skill> find(String tenant, String reference) {
    return database.read(
        handle ->
            named(handle, tenant, reference)
                .or(
                    () ->
                        handle
                            .createQuery("SELECT * FROM skill WHERE tenant = ? AND id = ?")
                            .bind(0, tenant)
                            .bind(1, reference)
                            .map(SkillStore::readSkill)
                            .findOne()));
  }

  private static Optional<Skill> named(Handle handle, String tenant, String name) {
    return handle
        .createQuery("SELECT * FROM skill WHERE tenant = ? AND name = ?")
        .bind(0, tenant)
        .bind(1, name)
        .map(SkillStore::readSkill)
        .findOne();
  }

  /** By path. */
  List<SkillFile> files(SkillId skill) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT path, size_bytes, executable, digest FROM skill_file"
                        + " WHERE skill_id = ? ORDER BY path")
                .bind(0, skill.value())
                .map(
                    (row, _) ->
                        new SkillFile(
                            row.getString("path"),
                            row.getLong("size_bytes"),
                            row.getBoolean("executable"),
                            row.getString("digest")))
                .list());
  }

  Optional<byte[]> content(SkillId skill, String path) {
    return database.read(
        handle ->
            handle
                .createQuery("SELECT content FROM skill_file WHERE skill_id = ? AND path = ?")
                .bind(0, skill.value())
                .bind(1, path)
                .map((row, _) -> row.getBytes("content"))
                .findOne());
  }

  /** In one look, so that no upload can come between; empty when it is gone. */
  Optional<Whole> whole(SkillId id) {
    return database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT s.digest AS whole, s.version, f.path, f.executable, f.digest, f.content"
                        + " FROM skill s JOIN skill_file f ON f.skill_id = s.id WHERE s.id = ?")
                .bind(0, id.value())
                .<Optional<Whole>>reduceRows(
                    Optional.empty(),
                    (soFar, row) -> {
                      Whole whole =
                          soFar.orElseGet(
                              () ->
                                  new Whole(
                                      row.getColumn("whole", String.class),
                                      row.getColumn("version", Integer.class),
                                      new TreeMap<>()));
                      whole
                          .files()
                          .put(
                              row.getColumn("path", String.class),
                              new SkillPackage.Content(
                                  row.getColumn("content", byte[].class),
                                  row.getColumn("executable", Integer.class) != 0,
                                  row.getColumn("digest", String.class)));
                      return Optional.of(whole);
                    }));
  }

  boolean delete(SkillId id) {
    return database.write(handle -> handle.execute("DELETE FROM skill WHERE id = ?", id.value()))
        > 0;
  }

  /** What a sandbox was given, by name. */
  List<Installed> installed(SandboxId sandbox) {
    return database.read(
        handle ->
            Sql.list(
                handle,
                "SELECT * FROM sandbox_skill WHERE sandbox_id = ? ORDER BY name",
                SkillStore::readInstalled,
                sandbox.value()));
  }

  /** As {@link #installed(SandboxId)}, of several. */
  Map<SandboxId, List<Installed>> installed(List<SandboxId> sandboxes) {
    if (sandboxes.isEmpty()) {
      return Map.of();
    }
    var found = new HashMap<SandboxId, List<Installed>>();
    database.read(
        handle ->
            handle
                .createQuery(
                    "SELECT * FROM sandbox_skill WHERE sandbox_id IN (<ids>) ORDER BY name")
                .bindList("ids", sandboxes.stream().map(SandboxId::value).toList())
                .map(
                    (row, _) ->
                        found
                            .computeIfAbsent(
                                new SandboxId(row.getString("sandbox_id")), _ -> new ArrayList<>())
                            .add(readInstalled(row)))
                .list());
    return found;
  }

  void installed(SandboxId sandbox, Installed skill) {
    database.write(
        handle ->
            handle.execute(
                "INSERT INTO sandbox_skill (sandbox_id, name, skill_id, digest, version,"
                    + " installed_at) VALUES (?, ?, ?, ?, ?, ?)"
                    + " ON CONFLICT (sandbox_id, name) DO UPDATE SET skill_id = excluded.skill_id,"
                    + " digest = excluded.digest, version = excluded.version,"
                    + " installed_at = excluded.installed_at",
                sandbox.value(),
                skill.name(),
                skill.id().value(),
                skill.digest(),
                skill.version(),
                skill.at().toEpochMilli()));
  }

  static void forget(Handle handle, SandboxId sandbox) {
    Sql.update(handle, "DELETE FROM sandbox_skill WHERE sandbox_id = ?", sandbox.value());
  }

  private static Skill readSkill(ResultSet row, StatementContext context) throws SQLException {
    return new Skill(
        new SkillId(row.getString("id")),
        row.getString("tenant"),
        row.getString("name"),
        row.getString("description"),
        row.getString("front_matter"),
        Skill.Source.valueOf(row.getString("source")),
        row.getString("digest"),
        row.getInt("version"),
        row.getLong("package_bytes"),
        row.getLong("size_bytes"),
        row.getInt("file_count"),
        row.getString("created_by"),
        Instant.ofEpochMilli(row.getLong("created_at")),
        Instant.ofEpochMilli(row.getLong("updated_at")));
  }

  private static Installed readInstalled(ResultSet row) throws SQLException {
    return new Installed(
        new SkillId(row.getString("skill_id")),
        row.getString("name"),
        row.getString("digest"),
        row.getInt("version"),
        Instant.ofEpochMilli(row.getLong("installed_at")));
  }
}
