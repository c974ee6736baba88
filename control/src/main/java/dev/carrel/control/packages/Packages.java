package dev.carrel.control.packages;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.audit.AuditEntry.Outcome;
import dev.carrel.control.audit.AuditEntry.Who;
import dev.carrel.control.egress.CountedDecision;
import dev.carrel.control.egress.Egress;
import dev.carrel.control.egress.Gates;
import dev.carrel.control.event.Event;
import dev.carrel.control.event.Events;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.exec.ExecStart;
import dev.carrel.control.exec.Execs;
import dev.carrel.control.packages.Installation.Files;
import dev.carrel.control.packages.Installation.Installed;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.sandbox.Turns;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.egress.Decision;
import dev.carrel.spi.Command;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Installs packages inside sandboxes, by the clients of the image, through the sandbox's own
 * policy. Of what one sandbox has, another gets nothing; files of indexes are kept by the server,
 * which fetches them for all. Safe for many threads.
 */
public final class Packages {
  private static final Logger LOG = LoggerFactory.getLogger(Packages.class);
  private static final Duration LOOK = Duration.ofSeconds(30);
  // pip waits 15 s for the first word of an answer, and what was fetched is read once more.
  private static final Duration FETCH = Duration.ofSeconds(8);
  private static final int NOT_FOUND = 127;
  // It goes to a folder of its own; as a variable, since an old pip does not know the option.
  private static final Map<String, String> OWN_FOLDER = Map.of("PIP_BREAK_SYSTEM_PACKAGES", "1");

  private final Turns turns = new Turns();
  private final PackageSettings settings;
  private final Sandboxes sandboxes;
  private final Execs execs;
  private final Egress egress;
  private final Gates gates;
  private final @Nullable PackageMirror mirror;
  private final Audit audit;
  private final Events events;

  /**
   * @param folder where files of packages are kept
   */
  public Packages(
      PackageSettings settings,
      Path folder,
      Sandboxes sandboxes,
      Execs execs,
      Egress egress,
      Gates gates,
      Telemetry telemetry,
      Audit audit,
      Events events) {
    this.settings = settings;
    this.sandboxes = sandboxes;
    this.execs = execs;
    this.egress = egress;
    this.gates = gates;
    this.mirror =
        settings.cache().bytes() == 0
            ? null
            : new PackageMirror(
                gates.fetch(),
                gates::packageSources,
                new PackageCache(folder, settings.cache(), FETCH),
                telemetry);
    this.audit = audit;
    this.events = events;
  }

  /**
   * Installs to the end: the client says what it would install, the rules look at all of it, and
   * exactly that is installed. A client that fails is a result; a rule or a policy that forbids it
   * is not.
   */
  public Installation install(Caller caller, SandboxId id, InstallPackages request)
      throws InterruptedException {
    check(request);
    sandboxes.requireVisible(caller, id);
    // Who resolves while another installs would undo that: npm prunes what its lock does not name.
    try (Turns.Turn _ = turns.await(id)) {
      return install(caller, sandboxes.requireRunning(caller, id), request);
    }
  }

  private Installation install(Caller caller, RunningSandbox sandbox, InstallPackages request)
      throws InterruptedException {
    if (mirror == null || request.client() == PackageClient.R) {
      return install(new Job(caller, sandbox, request, OWN_FOLDER), () -> Files.NONE);
    }
    try (PackageMirror.Visit visit = mirror.open(gates.of(sandbox.id()))) {
      var variables = new HashMap<>(OWN_FOLDER);
      variables.put(Clients.MIRROR, visit.address());
      return install(
          new Job(caller, sandbox, request, Map.copyOf(variables)),
          () ->
              new Files(
                  visit.count(PackageMirror.Way.CACHED), visit.count(PackageMirror.Way.FETCHED)));
    }
  }

  /** An install under way. */
  private record Job(
      Caller caller,
      RunningSandbox sandbox,
      InstallPackages request,
      Map<String, String> variables,
      String place) {
    Job(
        Caller caller,
        RunningSandbox sandbox,
        InstallPackages request,
        Map<String, String> variables) {
      this(caller, sandbox, request, variables, "/tmp/carrel-npm-" + UUID.randomUUID());
    }

    PackageClient client() {
      return request.client();
    }
  }

  private Installation install(Job job, Supplier<Files> files) throws InterruptedException {
    try {
      return resolveAndInstall(job, files);
    } finally {
      if (job.client() == PackageClient.NPM) {
        clear(job);
      }
    }
  }

  private static void clear(Job job) {
    try {
      job.sandbox().guest().files().clear(job.place());
    } catch (SandboxException e) {
      // What came of the install is told whether or not this went.
      LOG.debug("{} stays in {}: {}", job.place(), job.sandbox().id(), e.message());
    }
  }

  private Installation resolveAndInstall(Job job, Supplier<Files> files)
      throws InterruptedException {
    InstallPackages request = job.request();
    Instant begun = Instant.now();
    ExecResult ran =
        run(
            job,
            Clients.resolve(request, settings.minAge(), job.place()),
            settings.timeout(),
            null);
    requireClient(job.client(), ran);
    List<Installed> installed = List.of();
    List<Installed> resolved = List.of();
    if (ran.exitCode() == 0) {
      Resolution resolution = Resolution.read(job.client(), ran.stdout());
      require(request, resolution);
      resolved =
          resolution.chosen().stream()
              .map(one -> new Installed(one.name(), one.version()))
              .toList();
      if (!resolution.chosen().isEmpty()) {
        ran = install(job, resolution);
      }
      installed = ran.exitCode() == 0 ? look(job) : List.of();
    }
    boolean success =
        ran.exitCode() == 0 && installed.stream().allMatch(one -> one.version() != null);
    note(job, ran, resolved, success);
    if (!success) {
      requirePolicy(job, begun);
    }
    return new Installation(job.client(), success, ran, installed, resolved, files.get());
  }

  /** Says why not, if this may not even be tried. */
  public void check(InstallPackages request) {
    request
        .requirements()
        .forEach(wanted -> settings.require(request.client(), wanted.name(), true));
    if (settings.minAge().isPositive() && request.client() == PackageClient.R) {
      throw new SandboxException(
              ErrorCode.NOT_SUPPORTED,
              "R cannot tell how old a release is, and package.min-age asks")
          .withHint("use pip or npm, or have the operator lift package.min-age");
    }
  }

  private void require(InstallPackages request, Resolution resolution) {
    PackageClient client = request.client();
    Set<String> asked =
        request.requirements().stream()
            .map(wanted -> client.canonical(wanted.name()))
            .collect(Collectors.toSet());
    for (Resolution.Chosen one : resolution.chosen()) {
      settings.require(client, one.name(), asked.contains(client.canonical(one.name())));
    }
  }

  private ExecResult install(Job job, Resolution resolution) throws InterruptedException {
    String input = job.client() == PackageClient.PIP ? resolution.requirements() : null;
    return run(job, Clients.install(job.request(), job.place()), settings.timeout(), input);
  }

  private ExecResult run(Job job, List<String> command, Duration timeout, @Nullable String input)
      throws InterruptedException {
    ExecStart start =
        ExecStart.of(new Command(command, job.variables(), null, null, timeout, false));
    return execs.run(
        job.caller(),
        job.sandbox().id(),
        input == null ? start : start.withInput(input.getBytes(StandardCharsets.UTF_8)));
  }

  private static void requireClient(PackageClient client, ExecResult ran) {
    boolean absent =
        ran.cause() == ExecEvent.Cause.NOT_STARTED
            || ran.exitCode() == NOT_FOUND
            || ran.stderr().text().contains("No module named pip");
    if (absent) {
      throw new SandboxException(
              ErrorCode.LANGUAGE_NOT_AVAILABLE,
              "the sandbox's image has no " + client.wireName() + " to install with")
          .withHint("use an image that has it");
    }
  }

  /** What is really there; the word of the sandbox, and so only names that were asked for. */
  private List<Installed> look(Job job) throws InterruptedException {
    InstallPackages request = job.request();
    String out = run(job, Clients.versions(request), LOOK, null).stdout().text();
    Map<String, String> versions =
        out.lines()
            .map(line -> line.strip().split(" ", -1))
            .filter(words -> words.length == 2 && Resolution.VERSION.matcher(words[1]).matches())
            .collect(Collectors.toMap(words -> words[0], words -> words[1], (first, _) -> first));
    var installed = new ArrayList<Installed>();
    for (Requirement wanted : request.requirements()) {
      installed.add(new Installed(wanted.name(), versions.get(wanted.name())));
    }
    return installed;
  }

  /** A client that was not let out fails in many ways: the proxy knows the one reason. */
  private void requirePolicy(Job job, Instant since) {
    SandboxId id = job.sandbox().id();
    Optional<Decision> denied =
        egress.decisions(job.caller(), id).stream()
            .map(CountedDecision::last)
            .filter(decision -> decision.outcome() == Decision.Outcome.DENIED)
            .filter(decision -> !decision.at().isBefore(since))
            .findFirst();
    if (denied.isPresent()) {
      throw new SandboxException(
              ErrorCode.FORBIDDEN,
              "the policy of sandbox %s does not let %s reach %s:%d"
                  .formatted(id, job.client().wireName(), denied.get().host(), denied.get().port()))
          .withHint("allow it first: carrel egress set " + id + " --preset packages");
    }
  }

  private void note(Job job, ExecResult ran, List<Installed> installed, boolean success) {
    InstallPackages request = job.request();
    RunningSandbox sandbox = job.sandbox();
    String names = String.join(" ", request.packages());
    String versions =
        installed.stream()
            .filter(one -> one.version() != null)
            .map(one -> one.name() + " " + one.version())
            .collect(Collectors.joining(", "));
    Map<String, String> details =
        Map.of(
            "manager", request.client().wireName(),
            "packages", names,
            "installed", versions,
            "scripts", String.valueOf(request.scripts()),
            "exec_id", ran.id().value());
    var outcome =
        new Outcome(
            success ? "ok" : ran.cause().name().toLowerCase(Locale.ROOT),
            ran.exitCode(),
            ran.duration(),
            null,
            null,
            List.of(),
            sandbox.isolationName());
    audit.write(
        AuditEntry.of(Who.in(sandbox, job.caller()), "package.install", outcome)
            .withSubject(names)
            .withDetails(details));
    if (success) {
      events.tell(
          sandbox.tenant(), sandbox.namespace(), Event.PACKAGE_INSTALLED, sandbox.id(), details);
    }
  }
}
