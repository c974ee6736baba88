package dev.carrel.control;

import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.access.ApiKeys;
import dev.carrel.control.admission.Creates;
import dev.carrel.control.admission.Queue;
import dev.carrel.control.approval.Approvals;
import dev.carrel.control.artifact.Artifacts;
import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.SigningKey;
import dev.carrel.control.bridge.Bridge;
import dev.carrel.control.budget.Budgets;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.egress.Egress;
import dev.carrel.control.egress.Gates;
import dev.carrel.control.event.Events;
import dev.carrel.control.event.ExecutionEvents;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.files.Edits;
import dev.carrel.control.files.Files;
import dev.carrel.control.furnish.Furnishings;
import dev.carrel.control.host.Host;
import dev.carrel.control.idempotency.RequestKeys;
import dev.carrel.control.image.Images;
import dev.carrel.control.packages.Packages;
import dev.carrel.control.port.Ports;
import dev.carrel.control.sandbox.Engines;
import dev.carrel.control.sandbox.LifeSettings;
import dev.carrel.control.sandbox.Recovery;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.SandboxWatch;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.sandbox.SteadyClock;
import dev.carrel.control.settings.LiveSettings;
import dev.carrel.control.settings.Values;
import dev.carrel.control.skill.Skills;
import dev.carrel.control.store.Database;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.control.terminal.Terminals;
import dev.carrel.control.transfer.Exports;
import dev.carrel.control.transfer.Imports;
import dev.carrel.control.transfer.Uploads;
import dev.carrel.control.validate.Validator;
import dev.carrel.control.vault.Vault;
import dev.carrel.control.web.Web;
import dev.carrel.spi.Engine;
import dev.carrel.spi.Language;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The control plane, assembled. Opening it finds the sandboxes of an earlier process again; closing
 * it leaves them running.
 */
public final class Control implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Control.class);

  private final Engines engines;
  private final Database database;
  private final Telemetry telemetry = new Telemetry();
  private final LiveSettings live;
  private final Audit audit;
  private final Gates gates;
  private final Images images;
  private final Sandboxes sandboxes;
  private final Egress egress;
  private final Web web;
  private final Vault vault;
  private final Approvals approvals;
  private final Host host;
  private final Budgets budgets;
  private final Queue queue;
  private final Creates creates;
  private final Furnishings furnishings;
  private final Artifacts artifacts;
  private final Execs execs;
  private final Packages packages;
  private final Contexts contexts;
  private final Files files;
  private final Edits edits;
  private final Exports exports;
  private final Imports imports;
  private final Uploads uploads;
  private final Skills skills;
  private final Bridge bridge;
  private final ApiKeys apiKeys;
  private final AccessTokens accessTokens;
  private final Ports ports;
  private final Terminals terminals;
  private final Validator validator;
  private final Joining joining;
  private final SandboxWatch watch;
  private final LifeSettings.OnShutdown onShutdown;

  private Control(
      ControlSettings settings,
      List<Engine> engineList,
      List<Workshop> workshops,
      InstantSource clock) {
    engines = new Engines(engineList, settings.sandboxes());
    database =
        Database.open(
            settings.dataDirectory().resolve("carrel.db"),
            Optional.of(settings.libDirectory().resolve("blank.db"))
                .filter(java.nio.file.Files::exists));
    onShutdown = settings.sandboxes().life().onShutdown();
    audit =
        new Audit(
            database,
            settings.audit(),
            settings.dataDirectory(),
            SigningKey.openOrCreate(settings.dataDirectory().resolve("signing.key")));
    var events = new Events();
    var executions = new ExecutionEvents(events);
    gates =
        new Gates(
            settings.network(),
            settings.dataDirectory().resolve("egress-ca.pem"),
            database,
            events,
            audit);
    live =
        new LiveSettings(database, audit, new Values(settings.sandboxes(), settings.queue(), true));
    images =
        new Images(
            settings.images(),
            workshops,
            gates::closed,
            live::sandboxes,
            settings.dataDirectory().resolve("images"),
            database,
            audit);
    live.images(name -> images.find(name).isPresent());
    sandboxes =
        new Sandboxes(
            live::sandboxes,
            settings.pools(),
            images,
            engines,
            gates,
            database,
            telemetry,
            events,
            audit,
            clock);
    images.pooled(() -> sandboxes.pools().images());
    images.listen(() -> sandboxes.pools().renew());
    egress = new Egress(sandboxes, gates);
    web = new Web(settings.web(), sandboxes, gates, audit, clock);
    vault = new Vault(settings.vault(), settings.dataDirectory(), database, gates, events, audit);
    sandboxes.listen(vault);
    approvals = new Approvals(database, sandboxes, audit, events);
    sandboxes.listen(approvals);
    gates.grants(approvals::rules);
    host = new Host(settings.host(), settings.dataDirectory(), sandboxes, approvals, vault, audit);
    approvals.commands(host::subject);
    budgets = new Budgets(database, sandboxes, audit, events);
    sandboxes.listen(budgets);
    gates.meters(sandbox -> bytes -> budgets.pass(sandbox, bytes));
    var keys = new RequestKeys(database, settings.keys());
    queue = new Queue(live.current().queue(), telemetry, events, budgets::execution);
    sandboxes.listen(queue);
    creates = new Creates(sandboxes, queue, keys, telemetry);
    artifacts = new Artifacts(sandboxes, settings.artifacts(), database, audit, events);
    execs =
        new Execs(
            sandboxes,
            settings.execs(),
            database,
            settings.dataDirectory().resolve("execs"),
            keys,
            queue,
            vault,
            telemetry,
            audit,
            executions,
            artifacts);
    packages =
        new Packages(
            settings.packages(),
            settings.dataDirectory().resolve("packages"),
            sandboxes,
            execs,
            egress,
            gates,
            telemetry,
            audit,
            events);
    furnishings = new Furnishings(creates, budgets, packages);
    contexts =
        new Contexts(
            sandboxes,
            settings.contexts(),
            database,
            settings.libDirectory(),
            keys,
            settings.keys(),
            queue,
            vault,
            telemetry,
            audit,
            executions);
    files = new Files(sandboxes, settings.files(), audit);
    edits = new Edits(sandboxes, audit);
    apiKeys = new ApiKeys(database, audit);
    accessTokens = new AccessTokens(sandboxes, settings.dataDirectory().resolve("access.key"));
    exports = new Exports(settings.transfers(), sandboxes, files, accessTokens, database, audit);
    sandboxes.listen(exports);
    imports =
        new Imports(
            settings.transfers(),
            sandboxes,
            files,
            exports,
            gates,
            settings.dataDirectory(),
            audit);
    uploads = new Uploads(settings.transfers(), sandboxes, database, audit);
    sandboxes.listen(uploads);
    skills = new Skills(sandboxes, database, settings.dataDirectory(), audit, events);
    sandboxes.listen(skills);
    ports = new Ports(sandboxes, accessTokens, audit);
    sandboxes.listen(ports);
    terminals = new Terminals(sandboxes, execs, accessTokens, audit);
    bridge = new Bridge(sandboxes, contexts, files);
    validator = new Validator(sandboxes, creates, execs, contexts);
    joining = new Joining(sandboxes, execs, contexts);
    recover();
    approvals.begin();
    budgets.begin();
    sandboxes.pools().enable(live.current().pools());
    live.listen(this::changed);
    sandboxes.pools().begin();
    watch = new SandboxWatch(sandboxes, live::sandboxes);
    if (settings.contexts().warmAtStart()) {
      Thread.ofVirtual().name("warm-at-start").start(() -> warm(settings.contexts().preload()));
    }
  }

  /** Takes the engines over: closing this closes them. */
  public static Control open(
      ControlSettings settings, List<Engine> engines, List<Workshop> workshops) {
    return open(settings, engines, workshops, SteadyClock.system());
  }

  /**
   * As {@link #open(ControlSettings, List, List)}.
   *
   * @param clock what the ends of sandboxes are decided by
   */
  static Control open(
      ControlSettings settings,
      List<Engine> engines,
      List<Workshop> workshops,
      InstantSource clock) {
    try {
      // Commands, output and variables of sandboxes are in it: nobody else may look.
      java.nio.file.Files.createDirectories(
          settings.dataDirectory(),
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot create " + settings.dataDirectory(), e);
    }
    return new Control(settings, engines, workshops, clock);
  }

  /** What an administrator may change while this runs. */
  public LiveSettings settings() {
    return live;
  }

  public Sandboxes sandboxes() {
    return sandboxes;
  }

  /** The way to new sandboxes for callers who may be many. */
  public Creates creates() {
    return creates;
  }

  public Furnishings furnishings() {
    return furnishings;
  }

  public Vault vault() {
    return vault;
  }

  /** What may be used up in all. */
  public Budgets budgets() {
    return budgets;
  }

  public Queue queue() {
    return queue;
  }

  public Execs execs() {
    return execs;
  }

  public Contexts contexts() {
    return contexts;
  }

  public Web web() {
    return web;
  }

  public Egress egress() {
    return egress;
  }

  /** What a person has to allow first. */
  public Approvals approvals() {
    return approvals;
  }

  /** The machine that this server runs on. */
  public Host host() {
    return host;
  }

  public Packages packages() {
    return packages;
  }

  public Artifacts artifacts() {
    return artifacts;
  }

  public Validator validator() {
    return validator;
  }

  public Images images() {
    return images;
  }

  public Files files() {
    return files;
  }

  /** Changes of parts of files. */
  public Edits edits() {
    return edits;
  }

  /** What may leave sandboxes. */
  public Exports exports() {
    return exports;
  }

  /** What is brought into sandboxes. */
  public Imports imports() {
    return imports;
  }

  /** Files that come in parts. */
  public Uploads uploads() {
    return uploads;
  }

  /** What agents are taught. */
  public Skills skills() {
    return skills;
  }

  /** Values on their way from one interpreter to another. */
  public Bridge bridge() {
    return bridge;
  }

  /** What clients come in with. */
  public ApiKeys apiKeys() {
    return apiKeys;
  }

  /** What opens one sandbox. */
  public AccessTokens accessTokens() {
    return accessTokens;
  }

  /** What listens in sandboxes. */
  public Ports ports() {
    return ports;
  }

  /** Shells that outlive those who look at them. */
  public Terminals terminals() {
    return terminals;
  }

  public Audit audit() {
    return audit;
  }

  public Engines engines() {
    return engines;
  }

  public Telemetry telemetry() {
    return telemetry;
  }

  /**
   * Takes no new work, writes what is to be written, and leaves the sandboxes running or stops them
   * as the settings say.
   */
  @Override
  public void close() {
    sandboxes.close();
    sandboxes.pools().close();
    joining.close();
    watch.close();
    approvals.close();
    images.close();
    budgets.close();
    if (onShutdown == LifeSettings.OnShutdown.STOP) {
      sandboxes.stopAll();
    }
    contexts.close();
    execs.close();
    gates.close();
    database.flush();
    audit.close();
    database.close();
    engines.close();
  }

  private void changed(Values before, Values now) {
    queue.resize(now.queue());
    if (before.pools() != now.pools()) {
      sandboxes.pools().enable(now.pools());
    } else if (before.sandboxes().diskMb() != now.sandboxes().diskMb()) {
      // Everything else is bound when a box is claimed.
      sandboxes.pools().renew();
    }
  }

  private void warm(Preload preload) {
    try {
      engines.warm(Language.PYTHON, preload);
    } catch (SandboxException e) {
      LOG.warn("no interpreter could be warmed ahead of its first use: {}", e.message());
    }
  }

  private void recover() {
    List<RunningSandbox> found = new Recovery(sandboxes, engines).run();
    gates.sweep();
    Set<SandboxId> ids =
        found.stream().map(RunningSandbox::id).collect(Collectors.toUnmodifiableSet());
    execs.recoverRows(ids);
    execs.recoverSpills(sandboxes::exists);
    contexts.recoverRows(ids);
    // A paused one cannot answer yet.
    found.forEach(sandbox -> sandbox.whenAwake(() -> joining.join(sandbox)));
  }
}
