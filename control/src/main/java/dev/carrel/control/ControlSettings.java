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
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        newSandboxes,
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

  public ControlSettings withExecs(ExecSettings newExecs) {
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        sandboxes,
        pools,
        newExecs,
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

  public ControlSettings withFiles(FileSettings newFiles) {
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        sandboxes,
        pools,
        execs,
        contexts,
        newFiles,
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

  public ControlSettings withKeys(KeySettings newKeys) {
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        sandboxes,
        pools,
        execs,
        contexts,
        files,
        newKeys,
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

  public ControlSettings withPools(PoolSettings newPools) {
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        sandboxes,
        newPools,
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

  public ControlSettings withNetwork(NetworkSettings newNetwork) {
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
        newNetwork,
        vault,
        artifacts,
        images,
        web,
        packages,
        host,
        transfers);
  }

  public ControlSettings withQueue(QueueSettings newQueue) {
    return new ControlSettings(
        dataDirectory,
        libDirectory,
        sandboxes,
        pools,
        execs,
        contexts,
        files,
        keys,
        newQueue,
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

  public ControlSettings withAudit(AuditSettings newAudit) {
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
        newAudit,
        network,
        vault,
        artifacts,
        images,
        web,
        packages,
        host,
        transfers);
  }

  public ControlSettings withVault(VaultSettings newVault) {
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
        newVault,
        artifacts,
        images,
        web,
        packages,
        host,
        transfers);
  }

  public ControlSettings withArtifacts(ArtifactSettings newArtifacts) {
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
        newArtifacts,
        images,
        web,
        packages,
        host,
        transfers);
  }

  public ControlSettings withWeb(WebSettings newWeb) {
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
        newWeb,
        packages,
        host,
        transfers);
  }

  public ControlSettings withHost(HostSettings newHost) {
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
        newHost,
        transfers);
  }

  public ControlSettings withTransfers(TransferSettings newTransfers) {
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
        newTransfers);
  }
}
