package dev.carrel.server.rest;

import dev.carrel.control.Control;
import dev.carrel.server.auth.Authenticator;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.PublicAddress;
import dev.carrel.server.http.Router;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/** Every route of the native API over one control plane. */
public final class RestApi {
  private final Control control;
  private final Authenticator authenticator;
  private final PublicAddress address;
  private final Metrics metrics;

  public RestApi(Control control, Authenticator authenticator, PublicAddress address) {
    this.control = control;
    this.authenticator = authenticator;
    this.address = address;
    this.metrics = new Metrics(control);
  }

  public MeterRegistry metrics() {
    return metrics.registry();
  }

  public void addTo(Router router) {
    new ServerRoutes(control.engines(), control.images(), metrics).addTo(router);
    new DocsRoutes().addTo(router);
    Supplier<Duration> retention = () -> control.settings().sandboxes().stoppedRetention();
    new SandboxRoutes(
            control.sandboxes(),
            control.furnishings(),
            control.skills(),
            control.budgets(),
            retention)
        .addTo(router);
    new PoolRoutes(control.sandboxes().pools(), control.sandboxes()::images).addTo(router);
    new SettingsRoutes(control.settings(), control.engines(), control.sandboxes()).addTo(router);
    new ApprovalRoutes(control.approvals()).addTo(router);
    new ActivityRoutes(control.sandboxes(), control.audit()).addTo(router);
    new EventRoutes(control.sandboxes()).addTo(router);
    new VolumeRoutes(control.sandboxes().namedVolumes()).addTo(router);
    new ImageRoutes(control.images(), control.engines(), control.sandboxes().snapshots())
        .addTo(router);
    new SnapshotRoutes(
            control.sandboxes().snapshots(), control.skills(), control.budgets(), retention)
        .addTo(router);
    new VaultRoutes(control.vault()).addTo(router);
    new KeyRoutes(control.apiKeys()).addTo(router);
    new QueueRoutes(control.queue()).addTo(router);
    new BudgetRoutes(control.budgets()).addTo(router);
    new UsageRoutes(control.sandboxes()).addTo(router);
    new EgressRoutes(control.egress()).addTo(router);
    new WebRoutes(control.web()).addTo(router);
    new HostRoutes(control.host()).addTo(router);
    new AdminRoutes(control.sandboxes(), control.skills(), control.budgets(), retention)
        .addTo(router);
    new AuditRoutes(control.audit()).addTo(router);
    new ExecRoutes(control.execs()).addTo(router);
    new ArtifactRoutes(control.artifacts()).addTo(router);
    new PackageRoutes(control.packages()).addTo(router);
    new PortRoutes(control.ports(), address).addTo(router);
    new OutputRoutes(control.execs()).addTo(router);
    new TerminalRoutes(control.terminals(), authenticator, address).addTo(router);
    new CodeRoutes(control.contexts(), control.validator()).addTo(router);
    new ValidateRoutes(control.validator()).addTo(router);
    new ContextRoutes(control.contexts()).addTo(router);
    new FileRoutes(control.files()).addTo(router);
    new FsRoutes(control.files()).addTo(router);
    new BridgeRoutes(control.bridge()).addTo(router);
    new ImportRoutes(control.imports()).addTo(router);
    new ExportRoutes(control.exports(), address).addTo(router);
    new UploadRoutes(control.uploads()).addTo(router);
    new SkillRoutes(control.skills()).addTo(router);
  }

  /** Why the sandbox that a request names has died; empty when it names none, or one that lives. */
  public Optional<String> causeOfDeath(Exchange exchange) {
    try {
      return exchange
          .findParameter("id")
          .map(SandboxId::new)
          .map(id -> control.sandboxes().get(exchange.caller(), id).failure())
          .map(failure -> failure.cause());
    } catch (SandboxException e) {
      // Deleted meanwhile: then nobody can say.
      return Optional.empty();
    }
  }
}
