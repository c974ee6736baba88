package dev.carrel.control.packages;

import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.egress.Fetch;
import dev.carrel.egress.FetchException;
import dev.carrel.egress.Gate;
import dev.carrel.egress.OwnHost;
import dev.carrel.egress.Rule;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What package clients in sandboxes ask in place of their indexes while Carrel installs for them:
 * pages of an index with the places of files changed to here, and the files, out of a cache. Each
 * request is judged by the policy of the sandbox that makes it, whether or not anything has to be
 * fetched for it. What cannot be served so the client is sent to fetch itself. Safe for many
 * threads.
 */
final class PackageMirror {
  private static final Logger LOG = LoggerFactory.getLogger(PackageMirror.class);
  // pip waits 15 s for the first word of an answer.
  private static final Duration PAGE_TIME = Duration.ofSeconds(10);
  private static final Duration FILE_TIME = Duration.ofMinutes(8);
  private static final int MAX_PAGE = 16 << 20;
  private static final int MAX_ADDRESS = 4096;
  private static final int MOST_NOTED = 10_000;
  // Pages are in memory, and so is what they are read into.
  private static final int PAGES_AT_ONCE = 4;
  private static final Pattern PAGE =
      Pattern.compile("index/(?<at>[A-Za-z0-9_-]+)/(?<project>[A-Za-z0-9._-]+)/?");
  private static final Pattern FILE =
      Pattern.compile("file/(?<digest>[a-z0-9-]+)/(?<at>[A-Za-z0-9_-]+)/(?<name>[^/?]+)");
  private static final String ABOUT = ".metadata";

  private final Fetch fetch;
  private final Supplier<List<Rule>> sources;
  private final PackageCache cache;
  private final Telemetry telemetry;
  private final SecureRandom random = new SecureRandom();
  private final Semaphore pages = new Semaphore(PAGES_AT_ONCE);

  /**
   * @param sources where packages come from; nothing else is served
   */
  PackageMirror(
      Fetch fetch, Supplier<List<Rule>> sources, PackageCache cache, Telemetry telemetry) {
    this.fetch = fetch;
    this.sources = sources;
    this.cache = cache;
    this.telemetry = telemetry;
    telemetry.gauge("package_cache_bytes", "state", "used", cache::used);
  }

  /** Serves one sandbox until it is closed. */
  Visit open(Gate gate) {
    byte[] place = new byte[16];
    random.nextBytes(place);
    return new Visit(gate, HexFormat.of().formatHex(place));
  }

  /** How a client came by a file. */
  enum Way {
    CACHED,
    FETCHED,
    DIRECT
  }

  /** One install. */
  final class Visit implements OwnHost, AutoCloseable {
    private final Gate gate;
    private final String address;
    private final Gate.Serving serving;
    // A client may ask for a file twice: the first time tells.
    private final Map<FileDigest, Way> ways = new ConcurrentHashMap<>();
    private final Set<Thread> loading = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    Visit(Gate gate, String place) {
      this.gate = gate;
      this.address = "http://" + NAME + "/" + place;
      this.serving = gate.serve(place, this);
    }

    String address() {
      return address;
    }

    int count(Way way) {
      return (int) ways.values().stream().filter(one -> one == way).count();
    }

    @Override
    public Reply get(String path, String accept) throws IOException, InterruptedException {
      Matcher page = PAGE.matcher(path);
      if (page.matches()) {
        Optional<URI> index = read(page.group("at"));
        return index.isEmpty()
            ? OwnHost.notFound()
            : page(below(index.get(), page.group("project")), accept);
      }
      Matcher file = FILE.matcher(path);
      if (!file.matches()) {
        return OwnHost.notFound();
      }
      Optional<FileDigest> digest = FileDigest.parse(file.group("digest"));
      Optional<URI> from = read(file.group("at"));
      if (digest.isEmpty() || from.isEmpty()) {
        return OwnHost.notFound();
      }
      return file.group("name").equals(fileName(from.get()) + ABOUT)
          ? Reply.elsewhere(from.get() + ABOUT)
          : file(from.get(), digest.get());
    }

    private Reply page(URI uri, String accept) throws InterruptedException {
      boolean json = accept.contains(IndexPage.JSON);
      String types = json ? IndexPage.JSON + ", " : "";
      if (!Fetch.within(sources.get(), uri) || !pages.tryAcquire()) {
        return Reply.elsewhere(uri.toString());
      }
      try {
        Fetch.Answer answer =
            fetch.get(
                gate, uri, types + IndexPage.HTML + ";q=0.2, text/html;q=0.1", MAX_PAGE, PAGE_TIME);
        if (answer.status() != 200 || answer.cut()) {
          return Reply.elsewhere(uri.toString());
        }
        String type = IndexPage.isJson(answer.type()) ? IndexPage.JSON : "text/html";
        return IndexPage.moved(answer.type(), answer.body(), uri, this::moved)
            .map(bytes -> Reply.of(200, type, bytes))
            .orElseGet(() -> Reply.elsewhere(uri.toString()));
      } catch (FetchException e) {
        LOG.debug("{} is left to the client: {}", uri, e.getMessage());
        return Reply.elsewhere(uri.toString());
      } finally {
        pages.release();
      }
    }

    private String moved(URI from, FileDigest digest) {
      String text = from.toString();
      boolean ours =
          Fetch.within(sources.get(), from)
              && text.length() <= MAX_ADDRESS
              && !fileName(from).isEmpty();
      return ours
          ? "%s/file/%s/%s/%s".formatted(address, digest, written(text), fileName(from))
          : text;
    }

    private Reply file(URI from, FileDigest digest) throws IOException, InterruptedException {
      if (!Fetch.within(sources.get(), from)) {
        return direct(from, digest);
      }
      try {
        fetch.require(gate, from);
      } catch (FetchException e) {
        LOG.debug("{} is not for {}: {}", from, gate.sandbox(), e.getMessage());
        return direct(from, digest);
      }
      Optional<PackageCache.Found> found =
          cache.obtain(from, digest, (into, most) -> load(from, into, most));
      if (found.isEmpty()) {
        return direct(from, digest);
      }
      note(digest, found.get().kept() ? Way.CACHED : Way.FETCHED);
      var body = new Body(found.get().size(), found.get().file());
      return new Reply(200, "application/octet-stream", null, body);
    }

    private boolean load(URI from, WritableByteChannel into, long most)
        throws InterruptedException {
      // Who goes slowly would keep others waiting who want the same.
      if (gate.policy().bytesPerSecond() > 0) {
        return false;
      }
      loading.add(Thread.currentThread());
      try {
        return !closed && fetch.save(gate, from, into, most, FILE_TIME).status() == 200;
      } catch (FetchException e) {
        LOG.debug("{} is left to the client: {}", from, e.getMessage());
        return false;
      } finally {
        loading.remove(Thread.currentThread());
      }
    }

    private Reply direct(URI from, FileDigest digest) {
      note(digest, Way.DIRECT);
      return Reply.elsewhere(from.toString());
    }

    private void note(FileDigest digest, Way way) {
      if (ways.size() < MOST_NOTED && ways.putIfAbsent(digest, way) == null) {
        telemetry.count("package_files_" + way.name().toLowerCase(Locale.ROOT));
      }
    }

    @Override
    public void close() {
      serving.close();
      // It would go on at the expense of a sandbox that is done, and may be gone.
      closed = true;
      loading.forEach(Thread::interrupt);
    }
  }

  private static URI below(URI index, String project) {
    String text = index.toString();
    return URI.create(text + (text.endsWith("/") ? "" : "/") + project + "/");
  }

  private static String written(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  /** A whole address of http or https without a user, a query aside; the sandbox wrote it. */
  private static Optional<URI> read(String written) {
    try {
      String text = new String(Base64.getUrlDecoder().decode(written), StandardCharsets.UTF_8);
      URI uri = new URI(text);
      boolean web = "https".equals(uri.getScheme()) || "http".equals(uri.getScheme());
      boolean plain =
          uri.getHost() != null && uri.getRawUserInfo() == null && uri.getRawFragment() == null;
      boolean ascii = text.chars().allMatch(c -> c > ' ' && c < 0x7f);
      return web && plain && ascii && text.length() <= MAX_ADDRESS
          ? Optional.of(uri)
          : Optional.empty();
    } catch (IllegalArgumentException | URISyntaxException e) {
      return Optional.empty();
    }
  }

  private static String fileName(URI uri) {
    String path = String.valueOf(uri.getRawPath());
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
