package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A Carrel server. Safe for many threads; calls block. Closing ends the connections and leaves the
 * sandboxes alone.
 *
 * <pre>{@code
 * try (var carrel = Carrel.connect(URI.create("http://127.0.0.1:8080"), token)) {
 *   try (Sandbox sandbox = Sandbox.create(carrel)) {
 *     System.out.println(sandbox.exec("uname -a").stdout());
 *   }
 * }
 * }</pre>
 */
public final class Carrel implements AutoCloseable {
  private static final TypeReference<EngineList> ENGINES = new TypeReference<>() {};
  private static final TypeReference<LanguageList> LANGUAGES = new TypeReference<>() {};
  private static final TypeReference<PoolSummary> POOLS = new TypeReference<>() {};
  private static final TypeReference<Health> HEALTH = new TypeReference<>() {};

  private static final TypeReference<EventStream.Recent> EVENTS = new TypeReference<>() {};
  private static final TypeReference<UsageList> USAGE = new TypeReference<>() {};
  private static final TypeReference<PresetList> PRESETS = new TypeReference<>() {};
  private static final TypeReference<Validation> VALIDATION = new TypeReference<>() {};
  private static final TypeReference<QueueStatus> QUEUE = new TypeReference<>() {};
  private static final TypeReference<WebPage> PAGE = new TypeReference<>() {};
  private static final TypeReference<WebResults> RESULTS = new TypeReference<>() {};

  private final Transport transport;

  private Carrel(Transport transport) {
    this.transport = transport;
  }

  /** Makes a client; nothing is sent before the first call. */
  public static Carrel connect(URI server, String token) {
    return new Carrel(new Transport(server, token));
  }

  /** The server and the token that {@code CARREL_URL} and {@code CARREL_TOKEN} name. */
  public static Carrel connect() {
    return connect(URI.create(variable("CARREL_URL")), variable("CARREL_TOKEN"));
  }

  private static String variable(String name) {
    String value = System.getenv(name);
    if (value == null || value.isEmpty()) {
      throw new IllegalStateException(
          name
              + " is not set: CARREL_URL is the address that `carrel serve` prints, CARREL_TOKEN what is in"
              + " the token file that it names");
    }
    return value;
  }

  public Sandboxes sandboxes() {
    return new Sandboxes(transport);
  }

  /**
   * What happens to your sandboxes, live.
   *
   * @param after the id of the last event seen; null: from now on
   */
  public EventStream events(@Nullable Long after) {
    return events(EventStream.Filter.all(), after);
  }

  /** As {@link #events(Long)}, of some only. */
  public EventStream events(EventStream.Filter filter, @Nullable Long after) {
    String query = Transport.query(filter.parameters());
    return EventStream.open(transport, EventStream.PATH + query, after);
  }

  /** The last events that the server remembers, oldest first. */
  public List<EventStream.Event> recentEvents(EventStream.Filter filter, int limit) {
    Map<String, String> parameters = filter.parameters();
    parameters.put("recent", Integer.toString(limit));
    return transport.get(EventStream.PATH + Transport.query(parameters), EVENTS).events();
  }

  /** Keys for clients. */
  public Keys keys() {
    return new Keys(transport);
  }

  /** Volumes that outlive sandboxes. */
  public Volumes volumes() {
    return new Volumes(transport);
  }

  /**
   * A page of the web, readable.
   *
   * @param sandbox whose policy holds; null: the server's
   * @param fresh whether what was read a while ago will not do
   */
  public WebPage fetchPage(String url, @Nullable String sandbox, boolean fresh) {
    var body = new HashMap<String, Object>(Map.of("url", url, "fresh", fresh));
    if (sandbox != null) {
      body.put("sandbox_id", sandbox);
    }
    return transport.post("/api/v1/web/fetch", body, PAGE);
  }

  /**
   * Searches the web.
   *
   * @param sandbox whose policy holds; null: the server's
   */
  public WebResults searchWeb(String query, int most, @Nullable String sandbox) {
    var body = new HashMap<String, Object>(Map.of("query", query, "num", most));
    if (sandbox != null) {
      body.put("sandbox_id", sandbox);
    }
    return transport.post("/api/v1/web/search", body, RESULTS);
  }

  /**
   * Looks at code in a sandbox of its own, without running it.
   *
   * @param onDanger what dangerous calls mean: reject, warn or off
   */
  public Validation validate(String language, String code, String onDanger, boolean autoFix) {
    return transport.post(
        "/api/v1/validate",
        Map.of("language", language, "code", code, "on_danger", onDanger, "auto_fix", autoFix),
        VALIDATION);
  }

  /** Secrets, by name. */
  public Secrets secrets() {
    return new Secrets(transport);
  }

  /** What sandboxes start on. */
  public Images images() {
    return new Images(transport);
  }

  /** What agents are taught. */
  public Skills skills() {
    return new Skills(transport);
  }

  /** Copies of sandboxes' files. */
  public Snapshots snapshots() {
    return new Snapshots(transport);
  }

  /**
   * Where a file came from, newest first; also from sandboxes that are gone.
   *
   * @param sha256 in hex
   */
  public List<ArtifactInfo> artifacts(String sha256) {
    return transport
        .get("/api/v1/artifacts" + Transport.query(Map.of("sha256", sha256)), Sandbox.ARTIFACTS)
        .artifacts();
  }

  /** What all sandboxes of a namespace together may use up, and have used. */
  public BudgetInfo budget(String namespace) {
    return transport.get(budgetPath(namespace), Sandbox.BUDGET);
  }

  /** Sets it; who is no administrator can only make it smaller. */
  public BudgetInfo budget(String namespace, BudgetLimits limits) {
    return transport.put(budgetPath(namespace), limits, Sandbox.BUDGET);
  }

  private static String budgetPath(String namespace) {
    return "/api/v1/namespaces/" + Transport.encode(namespace) + "/budget";
  }

  /** What was done, and by whom. */
  public Audit audit() {
    return new Audit(transport);
  }

  /** What the server can start sandboxes with, and what isolation each would really apply. */
  public List<EngineInfo> engines() {
    return transport.get("/api/v1/engines", ENGINES).engines();
  }

  /** What the server can build images of the catalog with. */
  public List<ImageBuilder> imageBuilders() {
    return transport.get("/api/v1/engines", ENGINES).builders();
  }

  /** Languages that contexts exist for. */
  public List<String> languages() {
    return transport.get("/api/v1/languages", LANGUAGES).languages().stream()
        .map(LanguageInfo::name)
        .toList();
  }

  /** The machine that the server runs on, as far as it is lent out. */
  public Host host() {
    return new Host(transport, approvals());
  }

  /** What a person has to allow first. */
  public Approvals approvals() {
    return new Approvals(transport);
  }

  /** What an administrator may change while the server runs. */
  public Settings settings() {
    return new Settings(transport);
  }

  /** Sandboxes that wait for their owner; for administrators. */
  public List<PoolInfo> pools() {
    return transport.get("/api/v1/settings/sandbox/pool-summary", POOLS).perImage();
  }

  /** What the running sandboxes use now; an administrator sees all. */
  public List<SandboxUsage> usage() {
    return transport.get("/api/v1/usage", USAGE).sandboxes();
  }

  /** Who runs and who waits. */
  public QueueStatus queue() {
    return transport.get("/api/v1/queue", QUEUE);
  }

  /** Sets of rules that a policy can name, with what each allows on this server. */
  public Map<String, List<String>> egressPresets() {
    return transport.get("/api/v1/egress/presets", PRESETS).presets();
  }

  /** Whether it answers, and which version it is. */
  public Health health() {
    return transport.get("/health", HEALTH);
  }

  @Override
  public void close() {
    transport.close();
  }

  /** The server's word about itself. */
  public record Health(String status, String version) {}

  private record PoolSummary(List<PoolInfo> perImage) {}

  private record LanguageList(List<LanguageInfo> languages) {}

  private record LanguageInfo(String name) {}

  private record UsageList(List<SandboxUsage> sandboxes) {}

  private record PresetList(Map<String, List<String>> presets) {}

  private record EngineList(List<EngineInfo> engines, List<ImageBuilder> builders) {}
}
