package dev.carrel.control;

import dev.carrel.control.admission.QueueSettings;
import dev.carrel.control.artifact.ArtifactSettings;
import dev.carrel.control.audit.AuditSettings;
import dev.carrel.control.context.ContextSettings;
import dev.carrel.control.egress.NetworkSettings;
import dev.carrel.control.exec.ExecSettings;
import dev.carrel.control.files.FileSettings;
import dev.carrel.control.host.HostSettings;
import dev.carrel.control.idempotency.KeySettings;
import dev.carrel.control.image.ImageSettings;
import dev.carrel.control.packages.PackageSettings;
import dev.carrel.control.sandbox.PoolSettings;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.control.transfer.TransferSettings;
import dev.carrel.control.vault.VaultSettings;
import dev.carrel.control.web.WebSettings;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Everything that can be set.
 *
 * @param dataDirectory the database and the spilled output; survives a reboot
 * @param libDirectory where the kernels are when an engine has no /opt/carrel of its own
 */
public record ControlSettings(
    Path dataDirectory,
    Path libDirectory,
    SandboxSettings sandboxes,
    PoolSettings pools,
    ExecSettings execs,
    ContextSettings contexts,
    FileSettings files,
    KeySettings keys,
    QueueSettings queue,
    AuditSettings audit,
    NetworkSettings network,
    VaultSettings vault,
    ArtifactSettings artifacts,
    ImageSettings images,
    WebSettings web,
    PackageSettings packages,
    HostSettings host,
    TransferSettings transfers) {

  public static ControlSettings defaults(Path dataDirectory, Path libDirectory) {
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        SandboxSettings.defaults(),
        PoolSettings.defaults(),
        ExecSettings.defaults(),
        ContextSettings.defaults(),
        FileSettings.defaults(),
        KeySettings.defaults(),
        QueueSettings.defaults(),
        AuditSettings.defaults(),
        NetworkSettings.defaults(dataDirectory.resolve("egress")),
        VaultSettings.defaults(),
        ArtifactSettings.defaults(),
        ImageSettings.defaults(),
        WebSettings.defaults(),
        PackageSettings.defaults(),
        HostSettings.off(),
        TransferSettings.defaults());
  }

  public ControlSettings withSandboxes(SandboxSettings newSandboxes) {
    return with(draft -> draft.sandboxes = newSandboxes);
  }

  public ControlSettings withExecs(ExecSettings newExecs) {
    return with(draft -> draft.execs = newExecs);
  }

  public ControlSettings withContexts(ContextSettings newContexts) {
    return with(draft -> draft.contexts = newContexts);
  }

  public ControlSettings withFiles(FileSettings newFiles) {
    return with(draft -> draft.files = newFiles);
  }

  public ControlSettings withKeys(KeySettings newKeys) {
    return with(draft -> draft.keys = newKeys);
  }

  public ControlSettings withPools(PoolSettings newPools) {
    return with(draft -> draft.pools = newPools);
  }

  public ControlSettings withNetwork(NetworkSettings newNetwork) {
    return with(draft -> draft.network = newNetwork);
  }

  public ControlSettings withQueue(QueueSettings newQueue) {
    return with(draft -> draft.queue = newQueue);
  }

  public ControlSettings withVault(VaultSettings newVault) {
    return with(draft -> draft.vault = newVault);
  }

  public ControlSettings withArtifacts(ArtifactSettings newArtifacts) {
    return with(draft -> draft.artifacts = newArtifacts);
  }

  public ControlSettings withWeb(WebSettings newWeb) {
    return with(draft -> draft.web = newWeb);
  }

  public ControlSettings withPackages(PackageSettings newPackages) {
    return with(draft -> draft.packages = newPackages);
  }

  public ControlSettings withHost(HostSettings newHost) {
    return with(draft -> draft.host = newHost);
  }

  public ControlSettings withTransfers(TransferSettings newTransfers) {
    return with(draft -> draft.transfers = newTransfers);
  }

  private ControlSettings with(Consumer<Draft> change) {
    var draft = new Draft(this);
    change.accept(draft);
    return draft.finished();
  }

  /** The fields, open to change. */
  private static final class Draft {
    private final Path dataDirectory;
    private final Path libDirectory;
    private SandboxSettings sandboxes;
    private PoolSettings pools;
    private ExecSettings execs;
    private ContextSettings contexts;
    private FileSettings files;
    private KeySettings keys;
    private QueueSettings queue;
    private AuditSettings audit;
    private NetworkSettings network;
    private VaultSettings vault;
    private ArtifactSettings artifacts;
    private final ImageSettings images;
    private WebSettings web;
    private PackageSettings packages;
    private HostSettings host;
    private TransferSettings transfers;

    Draft(ControlSettings from) {
      this.dataDirectory = from.dataDirectory;
      this.libDirectory = from.libDirectory;
      this.sandboxes = from.sandboxes;
      this.pools = from.pools;
      this.execs = from.execs;
      this.contexts = from.contexts;
      this.files = from.files;
      this.keys = from.keys;
      this.queue = from.queue;
      this.audit = from.audit;
      this.network = from.network;
      this.vault = from.vault;
      this.artifacts = from.artifacts;
      this.images = from.images;
      this.web = from.web;
      this.packages = from.packages;
      this.host = from.host;
      this.transfers = from.transfers;
    }

    ControlSettings finished() {
      return new ControlSettings(
          dataDirectory,
          libDirectory,
          sandboxes,
          pools,
          execs,
          contexts,
          files,
          keys,
          queue,
          audit,
          network,
          vault,
          artifacts,
          images,
          web,
          packages,
          host,
          transfers);
    }
  }
}
