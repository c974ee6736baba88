package dev.carrel.control.skill;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxListener;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.sandbox.Turns;
import dev.carrel.control.store.Database;
import dev.carrel.control.store.Spool;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SkillId;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jdbi.v3.core.Handle;

/**
 * Skills of tenants. Another tenant's does not exist; what a sandbox is given is its own tenant's.
 * Safe for many threads.
 */
public final class Skills implements SandboxListener {
  private static final int BUFFER = 64 * 1024;
  // Each may hold a whole skill in memory.
  private static final int READ_AT_ONCE = 4;
  private static final int GIVEN_AT_ONCE = 4;

  private final Sandboxes sandboxes;
  private final SkillStore store;
  private final Spool spool;
  private final Audit audit;
  private final Events events;
  private final Semaphore reading = new Semaphore(READ_AT_ONCE, true);
  // Sandboxes that stand still while they are given one keep only their own tenant waiting.
  private final Map<String, Semaphore> giving = new ConcurrentHashMap<>();
  private final Turns turns = new Turns();

  /**
   * @param data the server's own folder
   */
  public Skills(Sandboxes sandboxes, Database database, Path data, Audit audit, Events events) {
    this.sandboxes = sandboxes;
    this.store = new SkillStore(database);
    this.spool = new Spool(data.resolve("skills"));
    this.audit = audit;
    this.events = events;
  }

  /**
   * Keeps a skill, or its next version.
   *
   * @param filename says by its ending what it is: {@code .zip}, {@code .skill} or {@code .md}
   */
  public Upload upload(Caller caller, String filename, InputStream content)
      throws IOException, InterruptedException {
    Path file = spool.create();
    try {
      receive(content, file);
      reading.acquire();
      try {
        return keep(caller, SkillPackage.read(filename, file));
      } finally {
        reading.release();
      }
    } finally {
      Files.delete(file);
    }
  }

  private static void receive(InputStream content, Path file) throws IOException {
    try (OutputStream out = Files.newOutputStream(file)) {
      byte[] buffer = new byte[BUFFER];
      long total = 0;
      for (int count = content.read(buffer); count >= 0; count = content.read(buffer)) {
        total += count;
        if (total > Limits.MAX_PACKAGE) {
          throw new SandboxException(
                  ErrorCode.TOO_LARGE,
                  "the skill has more than " + Limits.MAX_PACKAGE + " bytes, the most one may have")
              .withHint("leave out what a sandbox can fetch by itself");
        }
        out.write(buffer, 0, count);
      }
    }
  }

  private Upload keep(Caller caller, SkillPackage sent) {
    Instant now = now();
    Upload done =
        store.put(
            new Skill(
                SkillId.random(),
                caller.tenant(),
                sent.frontMatter().name(),
                sent.frontMatter().description(),
                sent.frontMatter().json(),
                sent.source(),
                sent.digest(),
                1,
                sent.packageBytes(),
                sent.size(),
                sent.files().size(),
                caller.principal(),
                now,
                now),
            sent.files());
    switch (done.change()) {
      case ADDED -> tell(caller, "skill.add", Event.SKILL_ADDED, done.skill());
      case UPDATED -> tell(caller, "skill.update", Event.SKILL_UPDATED, done.skill());
      case NONE -> {
        // Nothing happened.
      }
    }
    return done;
  }

  /** By name. */
  public List<Skill> list(Caller caller) {
    return store.list(caller.tenant());
  }

  /**
   * @param reference its id or its name
   */
  public Skill get(Caller caller, String reference) {
    return store.find(caller.tenant(), reference).orElseThrow(() -> absent(reference));
  }

  /** By path. */
  public List<SkillFile> files(Caller caller, String reference) {
    return store.files(get(caller, reference).id());
  }

  /** The bytes of one of its files. */
  public byte[] read(Caller caller, String reference, String path) {
    return store
        .content(get(caller, reference).id(), path)
        .orElseThrow(
            () ->
                new SandboxException(
                        ErrorCode.FILE_NOT_FOUND,
                        "the skill has no file '" + Text.printable(path, 200) + "'")
                    .withHint("its files are listed with the skill itself"));
  }

  /** Sandboxes keep what they have of it. */
  public void delete(Caller caller, String reference) {
    Skill skill = get(caller, reference);
    if (!store.delete(skill.id())) {
      throw absent(reference);
    }
    tell(caller, "skill.delete", Event.SKILL_DELETED, skill);
  }

  /** As exact as the store keeps it. */
  private static Instant now() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }

  private static SandboxException absent(String reference) {
    return new SandboxException(
        ErrorCode.SKILL_NOT_FOUND, "there is no skill '" + Text.printable(reference, 64) + "'");
  }

  private void tell(Caller caller, String action, String event, Skill skill) {
    Map<String, String> details =
        Map.of("digest", skill.digest(), "version", String.valueOf(skill.version()));
    audit.write(
        AuditEntry.of(Who.of(caller), action, Outcome.OK)
            .withSubject(skill.name())
            .withDetails(details));
    events.tell(
        skill.tenant(),
        event,
        null,
        Map.of("name", skill.name(), "version", String.valueOf(skill.version())));
  }

  /** What a sandbox was given, by name. */
  public List<Installed> installed(Caller caller, SandboxId sandbox) {
    return store.installed(sandboxes.get(caller, sandbox).id());
  }

  /** What a sandbox was given, for one who may see it. */
  public List<Installed> of(Sandbox sandbox) {
    return store.installed(sandbox.id());
  }

  /** As {@link #of(Sandbox)}; those that were given none are left out. */
  public Map<SandboxId, List<Installed>> of(List<Sandbox> all) {
    return store.installed(all.stream().map(Sandbox::id).toList());
  }

  /**
   * Gives skills to a sandbox. Each is tried for itself; where the same files are in their place
   * already, nothing is done, and that is said.
   *
   * @param references ids or names
   */
  public Installation install(Caller caller, SandboxId sandbox, List<String> references)
      throws InterruptedException {
    if (references.isEmpty() || references.size() > Limits.MAX_AT_ONCE) {
      throw SandboxException.invalid(
          "skill_ids", "must have 1 to " + Limits.MAX_AT_ONCE + " entries");
    }
    RunningSandbox running = sandboxes.requireRunning(caller, sandbox);
    var installed = new ArrayList<Installed>();
    var already = new ArrayList<Installed>();
    var notFound = new ArrayList<String>();
    var failed = new ArrayList<Installation.Failure>();
    try (Turns.Turn _ = turns.await(sandbox);
        RunningSandbox.Use _ = running.use()) {
      for (String reference : new LinkedHashSet<>(references)) {
        Optional<Skill> skill = store.find(running.tenant(), reference);
        if (skill.isEmpty()) {
          notFound.add(Text.printable(reference, 64));
          continue;
        }
        try {
          Optional<Installed> there = present(running, skill.get());
          there.ifPresent(already::add);
          if (there.isEmpty()) {
            give(caller, running, skill.get())
                .ifPresentOrElse(installed::add, () -> notFound.add(reference));
          }
        } catch (SandboxException e) {
          failed.add(
              new Installation.Failure(skill.get(), refused(caller, running, skill.get(), e)));
        }
      }
    }
    return new Installation(installed, already, notFound, failed);
  }

  private Optional<Installed> present(RunningSandbox running, Skill skill) {
    return store.installed(running.id()).stream()
        .filter(one -> one.name().equals(skill.name()) && one.digest().equals(skill.digest()))
        .filter(_ -> new Installer(running).isThere(skill, store.files(skill.id())))
        .findFirst();
  }

  /** Empty when it was deleted meanwhile. */
  private Optional<Installed> give(Caller caller, RunningSandbox running, Skill skill)
      throws InterruptedException {
    Semaphore room =
        giving.computeIfAbsent(running.tenant(), _ -> new Semaphore(GIVEN_AT_ONCE, true));
    room.acquire();
    try {
      Optional<SkillStore.Whole> whole = store.whole(skill.id());
      if (whole.isEmpty()) {
        return Optional.empty();
      }
      new Installer(running).install(skill, whole.get().files());
      var done =
          new Installed(
              skill.id(), skill.name(), whole.get().digest(), whole.get().version(), now());
      store.installed(running.id(), done);
      note(caller, running, skill, Outcome.OK);
      events.tell(
          running.tenant(),
          running.namespace(),
          Event.SKILL_INSTALLED,
          running.id(),
          Map.of("name", skill.name(), "version", String.valueOf(done.version())));
      return Optional.of(done);
    } finally {
      room.release();
    }
  }

  /** A sandbox that is gone takes the whole request with it. */
  private SandboxException refused(
      Caller caller, RunningSandbox running, Skill skill, SandboxException e) {
    SandboxException explained = running.explain(e);
    if (explained.code() == ErrorCode.SANDBOX_GONE || explained.code() == ErrorCode.GUEST_LOST) {
      throw explained;
    }
    note(caller, running, skill, Outcome.of(explained.code().wireName()));
    return explained;
  }

  private void note(Caller caller, RunningSandbox running, Skill skill, Outcome outcome) {
    audit.write(
        AuditEntry.of(Who.in(running, caller), "skill.install", outcome)
            .withSubject(skill.name())
            .withDetails(
                Map.of("digest", skill.digest(), "version", String.valueOf(skill.version()))));
  }

  @Override
  public void ended(SandboxId id) {
    // Its volume may be used again.
  }

  @Override
  public void removed(SandboxId id) {
    // All that there is of it is rows.
  }

  @Override
  public void erase(Handle handle, SandboxId id) {
    SkillStore.forget(handle, id);
  }
}
