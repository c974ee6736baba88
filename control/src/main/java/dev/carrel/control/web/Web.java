package dev.carrel.control.web;

import dev.carrel.control.audit.Audit;
import dev.carrel.control.audit.AuditEntry;
import dev.carrel.control.egress.Gates;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.web.Found.Hit;
import dev.carrel.egress.Fetch;
import dev.carrel.egress.FetchException;
import dev.carrel.egress.Gate;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Reads pages for agents: under a sandbox's policy when it is for one, otherwise under the
 * server's, which is the whole internet and nothing else. Every hop is judged. Safe for many
 * threads.
 */
public final class Web {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int MAX_HOPS = 10;
  private static final int MIN_QUERY = 2;
  private static final int MAX_QUERY = 500;

  private static final Duration BUSY = Duration.ofSeconds(20);

  private final WebSettings settings;
  private final Sandboxes sandboxes;
  private final Gates gates;
  private final Audit audit;
  private final PageCache cache;
  private final Gate searches;
  private final AtomicInteger turn = new AtomicInteger();
  private final Trees trees = new Trees(BUSY);

  public Web(
      WebSettings settings, Sandboxes sandboxes, Gates gates, Audit audit, InstantSource clock) {
    this.settings = settings;
    this.sandboxes = sandboxes;
    this.gates = gates;
    this.audit = audit;
    this.cache = new PageCache(clock);
    this.searches =
        gates.ofServer(settings.providers().stream().map(WebSettings.Provider::place).toList());
  }

  /**
   * Reads a page.
   *
   * @param sandbox whose policy holds; null: the server's
   * @param fresh whether what was read a while ago will not do
   */
  public Fetched fetch(Caller caller, @Nullable SandboxId sandbox, String address, boolean fresh)
      throws InterruptedException {
    URI uri = WebAddress.parse(address);
    Gate gate = gate(caller, sandbox, gates.ofServer());
    // A policy that has changed may no longer allow it: what was read under another is not known.
    var key = new PageCache.Key(gate.sandbox() + " " + gate.policy().hashCode(), uri.toString());
    Optional<Fetched> known = fresh ? Optional.<Fetched>empty() : cache.find(key);
    if (known.isPresent()) {
      return known.get();
    }
    Fetched page = read(caller, gate, uri);
    record(caller, sandbox, "web.fetch", uri, page.status());
    if (page.status() == 200) {
      cache.put(key, page);
    }
    return page;
  }

  /**
   * Asks those who search, beginning with another one each time, until one answers.
   *
   * @param sandbox whose policy holds; null: the server's
   */
  public Found search(Caller caller, @Nullable SandboxId sandbox, SearchRequest request)
      throws InterruptedException {
    String words = request.words().strip();
    if (words.length() < MIN_QUERY || words.length() > MAX_QUERY) {
      throw SandboxException.invalid(
          "query", "must have %d to %d characters".formatted(MIN_QUERY, MAX_QUERY));
    }
    Gate gate = gate(caller, sandbox, searches);
    List<WebSettings.Provider> providers = settings.providers();
    var failures = new ArrayList<String>();
    Found nothing = null;
    int first = turn.getAndIncrement();
    for (int i = 0; i < providers.size(); i++) {
      WebSettings.Provider provider = providers.get(Math.floorMod(first + i, providers.size()));
      try {
        var found = new Found(provider.name(), ask(caller, gate, provider, request));
        record(caller, sandbox, "web.search", URI.create(provider.base()), 200);
        if (!found.hits().isEmpty()) {
          return found;
        }
        nothing = found;
      } catch (SandboxException e) {
        failures.add(provider.name() + ": " + e.getMessage());
      }
    }
    if (nothing != null) {
      return nothing;
    }
    throw new SandboxException(
            ErrorCode.WEB_FAILED,
            providers.isEmpty()
                ? "no search provider is set up"
                : "no search provider answered: " + String.join("; ", failures))
        .withHint(
            "the operator names providers with web.search, for example searxng=URL of an own one;"
                + " a sandbox's policy must allow them");
  }

  private List<Hit> ask(
      Caller caller, Gate gate, WebSettings.Provider provider, SearchRequest request)
      throws InterruptedException {
    SearchProvider kind = provider.kind();
    URI uri =
        kind.uri(provider.base(), new SearchProvider.Query(request.query(), request.language()));
    Raw raw = get(gate, uri);
    if (raw.answer().status() != 200 || raw.redirect() != null) {
      throw new SandboxException(
          ErrorCode.WEB_FAILED, "answered with status " + raw.answer().status());
    }
    String page =
        new String(
            raw.answer().body(),
            ReadablePage.charset(raw.answer().type()).orElse(StandardCharsets.UTF_8));
    return trees
        .parse(caller.tenant(), () -> kind.read(page, raw.uri().toString()))
        .orElseThrow(
            () -> new SandboxException(ErrorCode.WEB_FAILED, "answered with no list of results"))
        .stream()
        .filter(hit -> request.wants(hit.url()))
        .limit(request.most())
        .toList();
  }

  private Fetched read(Caller caller, Gate gate, URI uri) throws InterruptedException {
    Raw raw = get(gate, uri);
    Fetch.Answer answer = raw.answer();
    if (raw.redirect() != null) {
      return new Fetched(
          raw.uri(), answer.status(), raw.redirect(), answer.type(), "", "", false, false);
    }
    String type = answer.type().isEmpty() ? "text/plain" : answer.type();
    if (!isText(type)) {
      throw new SandboxException(
              ErrorCode.WEB_FAILED, "%s is %s, not text".formatted(raw.uri(), type))
          .withHint("download it inside a sandbox, for example with curl");
    }
    try {
      Trees.Parsing<ReadablePage, IOException> parsing =
          () -> ReadablePage.of(answer.body(), type, raw.uri().toString(), settings.maxChars());
      ReadablePage page =
          ReadablePage.isHtml(type) ? trees.parse(caller.tenant(), parsing) : parsing.parse();
      return new Fetched(
          raw.uri(),
          answer.status(),
          null,
          type,
          page.title(),
          page.text(),
          page.cut() || answer.cut(),
          false);
    } catch (IOException e) {
      throw new SandboxException(ErrorCode.WEB_FAILED, raw.uri() + " cannot be read: " + e, e);
    }
  }

  private static boolean isText(String type) {
    String kind = type.toLowerCase(Locale.ROOT);
    return kind.startsWith("text/")
        || kind.contains("html")
        || kind.contains("json")
        || kind.contains("xml")
        || kind.contains("javascript")
        || kind.contains("yaml");
  }

  /**
   * @param redirect to another host, which was not asked
   */
  private record Raw(URI uri, Fetch.Answer answer, @Nullable URI redirect) {}

  private Raw get(Gate gate, URI first) throws InterruptedException {
    URI uri = first;
    for (int hop = 0; hop <= MAX_HOPS; hop++) {
      Fetch.Answer answer;
      try {
        answer = gates.fetch().get(gate, uri, settings.maxBytes(), PATIENCE);
      } catch (FetchException e) {
        throw new SandboxException(
                e.denied() ? ErrorCode.EGRESS_DENIED : ErrorCode.WEB_FAILED,
                String.valueOf(e.getMessage()),
                e)
            .withHint(e.hint());
      }
      String location = answer.location();
      if (location == null) {
        return new Raw(uri, answer, null);
      }
      URI next = WebAddress.next(uri, location);
      if (!uri.getHost().equalsIgnoreCase(next.getHost())) {
        return new Raw(uri, answer, next);
      }
      uri = next;
    }
    throw new SandboxException(
        ErrorCode.WEB_FAILED, first + " leads to more than " + MAX_HOPS + " other addresses");
  }

  private Gate gate(Caller caller, @Nullable SandboxId id, Gate ofServer) {
    if (id != null) {
      Sandbox sandbox = sandboxes.get(caller, id);
      return gates.of(sandbox);
    }
    if (!settings.enabled()) {
      throw new SandboxException(
              ErrorCode.NOT_SUPPORTED, "this server reads the web only for a sandbox")
          .withHint("name one with sandbox_id; its policy must allow the host");
    }
    return ofServer;
  }

  private void record(Caller caller, @Nullable SandboxId id, String action, URI uri, int status) {
    AuditEntry.Who who =
        id == null
            ? AuditEntry.Who.of(caller)
            : new AuditEntry.Who(
                sandboxes.get(caller, id).tenant(),
                caller.principal(),
                sandboxes.get(caller, id).namespace(),
                id);
    audit.later(
        AuditEntry.of(who, action, AuditEntry.Outcome.of("ok"))
            .withSubject(uri.getHost())
            .withDetails(Map.of("status", Integer.toString(status))));
  }
}
