package dev.carrel.server.e2b;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.Control;
import dev.carrel.control.access.AccessTokens;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.OnIdle;
import dev.carrel.control.sandbox.PatchSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxSettings;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Failure;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.SnapshotId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Sandboxes: made, found, changed, ended, in both generations of paths. */
final class SandboxControl {
  private static final String ONE = "/sandboxes/{id}";
  private static final int MAX_FORKS = 100;

  /** Names that clients ask by when their users name nothing. */
  private static final Set<String> TEMPLATES = Set.of("base", "code-interpreter-v1");

  /** What would change nothing here, though who asks for it relies on it. */
  private static final Map<String, String> NOT_HERE =
      Map.of(
          "volumeMounts",
          "volumeMounts: volumes are not mounted through E2B's API: use Carrel's own (carrel"
              + " sandbox create --volume)",
          "mcp",
          "mcp: there is no MCP gateway in a sandbox: Carrel is an MCP server itself (carrel mcp)");

  private final Door door;
  private final Control control;
  private final Sandboxes sandboxes;
  private final AccessTokens tokens;
  private final Lifetime lifetime;
  private final String domain;

  SandboxControl(Door door, Control control, Lifetime lifetime, String domain) {
    this.door = door;
    this.control = control;
    this.sandboxes = control.sandboxes();
    this.tokens = control.accessTokens();
    this.lifetime = lifetime;
    this.domain = domain;
  }

  void addTo(Router router) {
    for (String generation : List.of("", "/v2")) {
      router
          .open("POST", generation + "/sandboxes", door.guarded(this::create))
          .open("POST", generation + ONE + "/connect", door.guarded(this::connect));
    }
    router
        .open("POST", ONE + "/resume", door.guarded(this::resume))
        .open("GET", ONE, door.guarded(this::get))
        .open("DELETE", ONE, door.guarded(this::kill))
        .open("POST", ONE + "/timeout", door.guarded(this::timeout))
        .open("POST", ONE + "/refreshes", door.guarded(this::refresh))
        .open("POST", ONE + "/pause", door.guarded(this::pause))
        .open("PUT", ONE + "/network", door.guarded(this::network))
        .open("POST", ONE + "/fork", door.guarded(this::fork));
  }

  private void create(Exchange exchange, Caller caller) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    for (Map.Entry<String, String> refusal : NOT_HERE.entrySet()) {
      JsonNode asked = fields.json(refusal.getKey());
      if (asked != null && !asked.isEmpty()) {
        Wire.json(exchange, 501, new Failures.Body(501, refusal.getValue()));
        return;
      }
    }
    String template = fields.requiredString("templateID");
    CreateSandbox request = CreateSandbox.defaults();
    if (isSnapshot(template)) {
      request =
          request.withStorage(new CreateSandbox.Storage(null, null, new SnapshotId(template)));
    } else {
      request = request.withImage(image(template));
    }
    Map<String, String> variables = new HashMap<>(Home.variables(hasHome(caller, template)));
    Map<String, String> own = fields.stringMap("envVars");
    variables.putAll(own == null ? Map.of() : own);
    request =
        request
            .withExpiry(
                new CreateSandbox.Expiry(
                    0L,
                    null,
                    seconds(fields, Lifetime.DEFAULT_SECONDS),
                    fields.bool("autoPause", false) ? OnIdle.PAUSE : OnIdle.DESTROY))
            .withNetwork(asked(fields))
            .withEnvVars(variables)
            .withMetadata(metadata(fields, template));
    exchange.cancelWhenClientLeaves();
    Sandbox made = control.creates().create(caller, request, null, exchange::settle).sandbox();
    Wire.json(exchange, 201, opened(made));
  }

  private static Map<String, String> metadata(Fields fields, String template) {
    var metadata = new HashMap<String, String>();
    Map<String, String> own = fields.stringMap("metadata");
    if (own != null) {
      metadata.putAll(own);
    }
    metadata.put(SandboxViews.TEMPLATE, template);
    Fields resume = fields.object("autoResume");
    if (resume != null && resume.bool("enabled", false)) {
      metadata.put(DataPlane.AUTO_RESUME, "true");
      metadata.put(Lifetime.TIMEOUT, String.valueOf(seconds(fields, Lifetime.DEFAULT_SECONDS)));
    }
    return metadata;
  }

  /** What users of E2B build is an image here. */
  private static String image(String template) {
    return TEMPLATES.contains(template) ? SandboxSettings.HOST_IMAGE : template;
  }

  /** Whether /home/user leads to its files, as it does in no image that somebody else made. */
  private boolean hasHome(Caller caller, String template) {
    String image =
        isSnapshot(template)
            ? sandboxes.snapshots().get(caller, new SnapshotId(template)).image()
            : image(template);
    return image.equals(SandboxSettings.HOST_IMAGE);
  }

  private static boolean isSnapshot(String template) {
    try {
      return new SnapshotId(template).value().equals(template);
    } catch (SandboxException e) {
      return false;
    }
  }

  private static long seconds(Fields fields, long absent) {
    Long seconds = fields.wholeNumber("timeout", 0, Lifetime.MAX_SECONDS);
    return seconds == null ? absent : Math.max(1, seconds);
  }

  private void connect(Exchange exchange, Caller caller) throws IOException {
    Fields fields = exchange.fields();
    open(exchange, caller, seconds(fields, Lifetime.DEFAULT_SECONDS), 200);
  }

  private void resume(Exchange exchange, Caller caller) throws IOException {
    Fields fields = exchange.fields();
    SandboxId id = id(exchange);
    if (!SandboxViews.isPaused(require(caller, id))) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "sandbox " + id + " is already running");
    }
    open(exchange, caller, seconds(fields, Lifetime.DEFAULT_SECONDS), 201);
  }

  private void open(Exchange exchange, Caller caller, long seconds, int whenRunning) {
    SandboxId id = id(exchange);
    Sandbox sandbox = require(caller, id);
    boolean paused = SandboxViews.isPaused(sandbox);
    sandbox
        .held()
        .ifPresent(
            why -> {
              throw new SandboxException(
                      ErrorCode.WRONG_STATE, "sandbox " + id + " is frozen: " + why)
                  .withHint("see what it did; then 'carrel sandbox resume' or 'start', or kill it");
            });
    // Before it goes on: it would be found to have lived long enough.
    if (paused) {
      lifetime.prolong(caller, sandbox, seconds);
      sandbox =
          sandbox.status() == SandboxStatus.PAUSED
              ? sandboxes.resume(caller, id)
              : sandboxes.start(caller, id);
    }
    // One that was started anew has lived no time yet; one that runs is never given less time.
    Sandbox now = sandboxes.get(caller, id);
    if (paused || Lifetime.left(now).toSeconds() < seconds) {
      lifetime.prolong(caller, now, seconds);
    }
    Wire.json(exchange, paused ? 201 : whenRunning, opened(sandboxes.get(caller, id)));
  }

  private void get(Exchange exchange, Caller caller) {
    Sandbox sandbox = require(caller, id(exchange));
    Wire.json(exchange, 200, SandboxViews.Detail.of(sandbox, tokens.of(sandbox.id()), domain));
  }

  private void kill(Exchange exchange, Caller caller) {
    SandboxId id = id(exchange);
    require(caller, id);
    sandboxes.delete(caller, id);
    exchange.noContent();
  }

  private void timeout(Exchange exchange, Caller caller) throws IOException {
    Fields fields = exchange.fields();
    lifetime.prolong(
        caller, requireRunning(caller, id(exchange)), seconds(fields, Lifetime.DEFAULT_SECONDS));
    exchange.noContent();
  }

  private void refresh(Exchange exchange, Caller caller) throws IOException {
    Long seconds = exchange.fields().wholeNumber("duration", 0, Lifetime.MAX_SECONDS);
    Sandbox sandbox = requireRunning(caller, id(exchange));
    long wanted = seconds == null ? Lifetime.DEFAULT_SECONDS : seconds;
    if (Lifetime.left(sandbox).toSeconds() < wanted) {
      lifetime.prolong(caller, sandbox, wanted);
    }
    exchange.noContent();
  }

  private void pause(Exchange exchange, Caller caller) throws IOException {
    Boolean memory = exchange.fields().bool("memory");
    SandboxId id = id(exchange);
    if (SandboxViews.isPaused(require(caller, id))) {
      throw new SandboxException(ErrorCode.WRONG_STATE, "sandbox " + id + " is already paused");
    }
    if (Boolean.FALSE.equals(memory)) {
      sandboxes.stop(caller, id);
    } else {
      sandboxes.pause(caller, id);
    }
    exchange.noContent();
  }

  private void network(Exchange exchange, Caller caller) throws IOException {
    Fields fields = exchange.fields();
    Sandbox sandbox = requireRunning(caller, id(exchange));
    sandboxes.patch(caller, sandbox.id(), PatchSandbox.network(instead(fields, sandbox.network())));
    exchange.noContent();
  }

  /** What an update leaves out is cleared; of what was there only the budget stays. */
  private static CreateSandbox.Network instead(Fields fields, Policy before) {
    boolean named = fields.has("allowOut") || fields.has("denyOut");
    if (!named && fields.bool("allow_internet_access", false)) {
      return new CreateSandbox.Network(true, null);
    }
    Policy nothing = Policy.NOTHING.withBudget(before.maxBytes(), before.bytesPerSecond());
    return CreateSandbox.Network.of(policy(fields, nothing));
  }

  private static CreateSandbox.Network asked(Fields fields) {
    Fields network = fields.object("network");
    Boolean internet = fields.bool("allow_internet_access");
    if (network != null && (network.has("allowOut") || network.has("denyOut"))) {
      return CreateSandbox.Network.of(policy(network, Policy.NOTHING));
    }
    return new CreateSandbox.Network(internet, null);
  }

  /** Names and patterns; whatever is denied wins here, and what nothing allows is denied. */
  private static Policy policy(Fields fields, Policy before) {
    try {
      Policy policy = before;
      var allow = fields.words("allowOut");
      if (allow.isPresent()) {
        policy = policy.withAllow(allow.get().stream().map(Rule::parse).toList());
      }
      var deny = fields.words("denyOut");
      if (deny.isPresent()) {
        // Nothing is reached that no rule allows: to deny everything is to say so once more.
        policy =
            policy.withDeny(
                deny.get().stream()
                    .filter(pattern -> !pattern.equals("0.0.0.0/0"))
                    .map(HostPattern::parse)
                    .toList());
      }
      return policy;
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("network", String.valueOf(e.getMessage()))
          .withHint(
              "name hosts, as example.com, *.example.com or example.com:8443, or single addresses;"
                  + " ranges of addresses are no rules here, and allow_internet_access asks for the"
                  + " operator's usual policy");
    }
  }

  private void fork(Exchange exchange, Caller caller) throws IOException {
    Fields fields = exchange.fields();
    SandboxId id = id(exchange);
    require(caller, id);
    int count = fields.wholeNumber("count", 1, 1, MAX_FORKS);
    var made = new ArrayList<Forked>();
    for (int i = 0; i < count; i++) {
      made.add(fork(caller, id, seconds(fields, Lifetime.DEFAULT_SECONDS)));
    }
    Wire.json(exchange, 201, made);
  }

  private Forked fork(Caller caller, SandboxId id, long seconds) {
    try {
      Sandbox fork = sandboxes.snapshots().fork(caller, id);
      try {
        lifetime.prolong(caller, fork, seconds);
      } catch (SandboxException e) {
        // Nobody is told of it, so nobody could end it.
        sandboxes.delete(caller, fork.id());
        throw e;
      }
      return new Forked(opened(fork), null);
    } catch (SandboxException e) {
      Failure.log("a fork of " + id, e);
      return new Forked(null, new Failures.Body(Failures.status(e.code()), Failures.message(e)));
    }
  }

  /** One of several that were asked for: a sandbox, or why there is none. */
  record Forked(SandboxViews.@Nullable Opened sandbox, Failures.@Nullable Body error) {}

  private SandboxViews.Opened opened(Sandbox sandbox) {
    return SandboxViews.Opened.of(sandbox, tokens, domain);
  }

  private Sandbox requireRunning(Caller caller, SandboxId id) {
    Sandbox sandbox = require(caller, id);
    if (sandbox.status() != SandboxStatus.RUNNING) {
      throw notFound(id);
    }
    return sandbox;
  }

  private Sandbox require(Caller caller, SandboxId id) {
    Sandbox sandbox = sandboxes.get(caller, id);
    if (!SandboxViews.isThere(sandbox)) {
      throw notFound(id);
    }
    return sandbox;
  }

  private static SandboxException notFound(SandboxId id) {
    return new SandboxException(ErrorCode.SANDBOX_NOT_FOUND, "sandbox '" + id + "' not found");
  }

  private static SandboxId id(Exchange exchange) {
    return new SandboxId(exchange.parameter("id"));
  }
}
