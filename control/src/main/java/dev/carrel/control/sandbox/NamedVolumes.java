package dev.carrel.control.sandbox;

import dev.carrel.control.store.Reserve;
import dev.carrel.spi.DataSize;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import dev.carrel.spi.VolumeId;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Volumes that tenants name and share among their sandboxes, one at a time. A name never becomes a
 * path: the volume's id does. Safe for many threads.
 */
public final class NamedVolumes {
  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");

  private final Engines engines;
  private final SandboxRules rules;
  private final VolumeStore store;
  private final WorkspaceVolumes volumes;
  private final long maxBytes;
  private final SandboxJournal journal;

  NamedVolumes(
      Engines engines,
      SandboxRules rules,
      VolumeStore store,
      WorkspaceVolumes volumes,
      LifeSettings settings,
      SandboxJournal journal) {
    this.engines = engines;
    this.rules = rules;
    this.store = store;
    this.volumes = volumes;
    this.maxBytes = settings.maxVolumeMbPerTenant() << 20;
    this.journal = journal;
  }

  /**
   * Makes one; a sandbox that names one which does not exist does so too.
   *
   * @param sizeMb null: as large as a sandbox's disk by default
   * @param engine null: the default
   */
  public NamedVolume create(
      Caller caller, String name, @Nullable Long sizeMb, @Nullable String engine) {
    checkName("name", name);
    Engine chosen = engines.choose(engine, null);
    requireVolumes(chosen);
    Instant now = Instant.now();
    DataSize size = rules.limits(new CreateSandbox.Size(null, null, sizeMb, null)).disk();
    var volume =
        new NamedVolume(
            VolumeId.random(), caller.tenant(), chosen.name(), name, null, size, 0, now, now);
    if (!store.create(volume, maxBytes)) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "name: there is a volume '" + name + "'");
    }
    journal.done(caller, volume.tenant(), Namespace.DEFAULT, null, "volume.create", name);
    return volume;
  }

  public List<NamedVolume> list(Caller caller) {
    return store.list(caller.role() == Caller.Role.ADMIN ? null : caller.tenant()).stream()
        .map(this::measured)
        .toList();
  }

  public NamedVolume get(Caller caller, String name) {
    return measured(find(caller, name));
  }

  /** Removes it with its files, unless a sandbox has it, running or not. */
  public void delete(Caller caller, String name) {
    Reserve.forRemoval(() -> remove(caller, name));
  }

  private void remove(Caller caller, String name) {
    NamedVolume volume = find(caller, name);
    Optional<SandboxId> user = store.disown(volume);
    if (user.isPresent()) {
      throw new SandboxException(
              ErrorCode.WRONG_STATE,
              "volume '%s' is the workspace of sandbox %s".formatted(name, user.get()))
          .withHint("delete that sandbox first");
    }
    volumes.remove(volume.engine(), volume.id());
    journal.done(caller, volume.tenant(), Namespace.DEFAULT, null, "volume.delete", name);
  }

  static void checkName(String field, String name) {
    if (!NAME.matcher(name).matches()) {
      throw SandboxException.invalid(
          field,
          "must be 1 to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit, not '"
              + Text.printable(name, 64)
              + "'");
    }
  }

  static void requireVolumes(Engine engine) {
    if (engine.volumes().isEmpty()) {
      throw new SandboxException(
              ErrorCode.NOT_SUPPORTED,
              "engine '" + engine.name() + "' keeps no volumes on this host")
          .withHint("run 'carrel doctor' to see what is missing");
    }
  }

  private NamedVolume find(Caller caller, String name) {
    // Not checked as a new name is: what cannot exist is not found.
    return store
        .find(caller.tenant(), name)
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.VOLUME_NOT_FOUND,
                    "there is no volume '" + Text.printable(name, 64) + "'"));
  }

  private NamedVolume measured(NamedVolume volume) {
    return volume.withUsedBytes(volumes.usedBytes(volume.engine(), volume.id()));
  }
}
