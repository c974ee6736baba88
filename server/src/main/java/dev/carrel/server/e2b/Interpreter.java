package dev.carrel.server.e2b;

import dev.carrel.control.context.CodeStream;
import dev.carrel.control.context.Context;
import dev.carrel.control.context.Contexts;
import dev.carrel.control.context.CreateContext;
import dev.carrel.control.context.ExecuteCode;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ContextId;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The code interpreter: {@code /execute} and contexts. */
final class Interpreter {
  private final DataPlane plane;
  private final Sandboxes sandboxes;
  private final Contexts contexts;
  private final Turns turns = new Turns();

  Interpreter(DataPlane plane, Sandboxes sandboxes, Contexts contexts) {
    this.plane = plane;
    this.sandboxes = sandboxes;
    this.contexts = contexts;
  }

  void addTo(Router router) {
    router
        .open("POST", "/execute", Failures.told(this::execute))
        .open("GET", "/contexts", Failures.told(this::list))
        .open("POST", "/contexts", Failures.told(this::create))
        .open("DELETE", "/contexts/{context}", Failures.told(this::delete))
        .open("POST", "/contexts/{context}/restart", Failures.told(this::restart));
  }

  private void execute(Exchange exchange) throws IOException, InterruptedException {
    Target target = admit(exchange);
    Fields fields = exchange.fields();
    String context = fields.string("context_id");
    String language = fields.string("language");
    if (context != null && language != null) {
      throw SandboxException.invalid("language", "goes with no context, which has one already");
    }
    ContextId id = context == null ? null : new ContextId(context);
    Context known = id == null ? null : contexts.get(target.caller, target.sandbox, id);
    Language spoken = known == null ? language(language) : known.language();
    Object which = known == null || known.isDefault() ? spoken : known.id();
    Map<String, String> given = fields.stringMap("env_vars");
    Map<String, String> variables = given == null ? Map.of() : given;
    String code = fields.string("code", "");
    exchange.cancelWhenClientLeaves();
    var key = new Turns.Key(target.sandbox, which);
    try (var _ = turns.take(key, !variables.isEmpty())) {
      if (variables.isEmpty()) {
        run(exchange, target, cell(code, spoken, id));
        return;
      }
      var set = new Variables(spoken, variables, target.about.envVars());
      try {
        contexts.execute(target.caller, target.sandbox, cell(set.set(), spoken, id));
        run(exchange, target, cell(code, spoken, id));
      } finally {
        exchange.settle();
        contexts.execute(target.caller, target.sandbox, cell(set.reset(), spoken, id));
      }
    }
  }

  private void run(Exchange exchange, Target target, ExecuteCode request)
      throws IOException, InterruptedException {
    try (CodeStream stream = contexts.start(target.caller, target.sandbox, request)) {
      try {
        exchange.header(HeaderNames.CONTENT_TYPE, "application/x-ndjson");
        new CellLines(exchange.live(200)).follow(stream);
      } finally {
        exchange.settle();
      }
    }
  }

  /** As long as it takes: the client has a timeout of its own, and hangs up. */
  private ExecuteCode cell(String code, Language language, @Nullable ContextId id) {
    Duration timeout = contexts.settings().maxTimeout();
    return new ExecuteCode(code, id == null ? language : null, id, timeout);
  }

  private void list(Exchange exchange) {
    Target target = admit(exchange);
    Wire.json(
        exchange,
        200,
        contexts.list(target.caller, target.sandbox).stream().map(View::of).toList());
  }

  private void create(Exchange exchange) throws IOException, InterruptedException {
    Target target = admit(exchange);
    Fields fields = exchange.fields();
    String cwd = fields.string("cwd");
    Context made =
        contexts.create(
            target.caller,
            target.sandbox,
            new CreateContext(
                language(fields.string("language")),
                cwd == null ? null : Home.of(cwd).inside(),
                Map.of(),
                null,
                List.of()));
    Wire.json(exchange, 200, View.of(made, cwd == null ? Home.USER : cwd));
  }

  private void delete(Exchange exchange) throws InterruptedException {
    Target target = admit(exchange);
    contexts.delete(target.caller, target.sandbox, id(exchange));
    exchange.noContent();
  }

  private void restart(Exchange exchange) throws InterruptedException {
    Target target = admit(exchange);
    contexts.restart(target.caller, target.sandbox, id(exchange));
    exchange.noContent();
  }

  private static ContextId id(Exchange exchange) {
    return new ContextId(exchange.parameter("context"));
  }

  private static Language language(@Nullable String name) {
    if (name == null) {
      return Language.PYTHON;
    }
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "ts", "typescript", "deno" -> Language.NODE;
      default -> Language.parse(name);
    };
  }

  private Target admit(Exchange exchange) {
    Place place = plane.place(exchange).orElseThrow(() -> SandboxAway.notRunning(""));
    Caller caller = plane.admitTraffic(exchange, place.sandbox());
    return new Target(caller, place.sandbox(), sandboxes.get(caller, place.sandbox()));
  }

  private record Target(Caller caller, SandboxId sandbox, Sandbox about) {}

  /** A context as clients see it. */
  record View(String id, String language, String cwd) {
    static View of(Context context) {
      String cwd = context.cwd() == null ? Sandbox.WORKSPACE : context.cwd();
      return of(context, new Home(cwd, true).shown(cwd));
    }

    static View of(Context context, String cwd) {
      String language =
          context.language() == Language.NODE ? "javascript" : context.language().wireName();
      return new View(context.id().value(), language, cwd);
    }
  }
}
