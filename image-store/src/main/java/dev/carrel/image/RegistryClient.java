package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One repository of one registry, over its HTTP API. Plain HTTP is spoken with this host only, and
 * a login is sent only to the registry and to the place that it names for tokens. For one thread.
 */
final class RegistryClient {
  private static final Pattern PARAMETER = Pattern.compile("(\\w+)=\"([^\"]*)\"");
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int MAX_REDIRECTS = 5;
  private static final String MANIFESTS =
      String.join(
          ", ",
          Manifest.OCI_INDEX,
          Manifest.OCI_MANIFEST,
          Manifest.DOCKER_LIST,
          Manifest.DOCKER_MANIFEST);
  private static final Set<Integer> REDIRECTS = Set.of(301, 302, 303, 307, 308);

  private final HttpClient client;
  private final Reference reference;
  private final Optional<String> login;
  private final Reach reach;
  private final String base;
  private final boolean plain;
  private @Nullable String authorization;

  RegistryClient(HttpClient client, Reference reference, Optional<String> login, Reach reach) {
    this.client = client;
    this.reference = reference;
    this.login = login;
    this.reach = reach;
    String host =
        reference.registry().equals("docker.io") ? "registry-1.docker.io" : reference.registry();
    this.plain = isLoopback(URI.create("http://" + host));
    this.base = (plain ? "http://" : "https://") + host + "/v2/" + reference.repository();
  }

  /**
   * @param wanted a tag or a digest
   */
  byte[] manifest(String wanted) throws IOException, InterruptedException {
    var headers = Map.of("Accept", MANIFESTS);
    byte[] bytes = small(get("/manifests/" + wanted, headers), "its manifest");
    if (wanted.startsWith("sha256:") && !Digest.of(bytes).equals(Digest.parse(wanted))) {
      throw BadImage.because("the registry sent another manifest than " + wanted);
    }
    return bytes;
  }

  byte[] smallBlob(Descriptor blob) throws IOException, InterruptedException {
    byte[] bytes = small(get("/blobs/" + blob.digest(), Map.of()), "its configuration");
    if (!Digest.of(bytes).equals(blob.digest())) {
      throw BadImage.because("the registry sent something else than " + blob.digest());
    }
    return bytes;
  }

  /**
   * Opens a blob; the caller closes its body.
   *
   * @param from where to begin; the status tells whether the registry does
   */
  HttpResponse<InputStream> blob(Digest digest, long from)
      throws IOException, InterruptedException {
    Map<String, String> headers = from == 0 ? Map.of() : Map.of("Range", "bytes=" + from + "-");
    return get("/blobs/" + digest, headers);
  }

  private static byte[] small(HttpResponse<InputStream> response, String what) throws IOException {
    try (InputStream body = new PatientStream(response.body(), PATIENCE)) {
      byte[] bytes = body.readNBytes(ImageLimits.MAX_JSON + 1);
      if (bytes.length > ImageLimits.MAX_JSON) {
        throw BadImage.tooLarge(what + " has more than " + ImageLimits.MAX_JSON + " bytes");
      }
      return bytes;
    }
  }

  private HttpResponse<InputStream> get(String path, Map<String, String> headers)
      throws IOException, InterruptedException {
    URI address = URI.create(base + path);
    HttpResponse<InputStream> response = send(address, headers, authorization);
    if (response.statusCode() == 401) {
      response.body().close();
      authorization = authorize(response.headers().firstValue("WWW-Authenticate").orElse(""));
      response = send(address, headers, authorization);
    }
    boolean home = true;
    for (int i = 0; REDIRECTS.contains(response.statusCode()); i++) {
      response.body().close();
      URI next = next(address, response.headers().firstValue("Location").orElse(""));
      if (i == MAX_REDIRECTS || !mayGo(next)) {
        throw failed(
            "leads on to " + Text.printable(next.toString(), 100) + ", where we do not go");
      }
      requireReach(next);
      // Storage behind a registry has signatures in its addresses and must not see our token; who
      // was led there does not show it on the way back either.
      home &= isHome(next);
      response = send(next, headers, home ? authorization : null);
      address = next;
    }
    int status = response.statusCode();
    if (status == 200 || status == 206 || status == 416) {
      return response;
    }
    response.body().close();
    throw refused(status);
  }

  private HttpResponse<InputStream> send(
      URI address, Map<String, String> headers, @Nullable String credentials)
      throws IOException, InterruptedException {
    HttpRequest.Builder request = HttpRequest.newBuilder(address).timeout(PATIENCE).GET();
    headers.forEach(request::header);
    if (credentials != null) {
      request.header("Authorization", credentials);
    }
    try {
      return client.send(request.build(), BodyHandlers.ofInputStream());
    } catch (IOException e) {
      throw new IOException(
          "no answer from " + address.getAuthority() + ": " + String.valueOf(e.getMessage()), e);
    }
  }

  /** What to show after a 401. */
  private String authorize(String challenge) throws IOException, InterruptedException {
    if (challenge.toLowerCase(Locale.ROOT).startsWith("basic")) {
      return login.orElseThrow(() -> refused(401));
    }
    if (!challenge.toLowerCase(Locale.ROOT).startsWith("bearer ")) {
      throw refused(401);
    }
    var said = new HashMap<String, String>();
    Matcher parameters = PARAMETER.matcher(challenge);
    while (parameters.find()) {
      said.put(parameters.group(1).toLowerCase(Locale.ROOT), parameters.group(2));
    }
    String scope = "repository:" + reference.repository() + ":pull";
    String realm = said.getOrDefault("realm", "");
    String query =
        "service=" + encode(said.getOrDefault("service", "")) + "&scope=" + encode(scope);
    URI address;
    try {
      address = new URI(realm + (realm.indexOf('?') < 0 ? "?" : "&") + query);
    } catch (URISyntaxException e) {
      throw badRealm(realm);
    }
    if (!mayGo(address)) {
      throw badRealm(realm);
    }
    requireReach(address);
    HttpResponse<InputStream> response = send(address, Map.of(), login.orElse(null));
    if (response.statusCode() != 200) {
      response.body().close();
      throw refused(response.statusCode());
    }
    var answer = Manifest.json(small(response, "a token"));
    String token = answer.path("token").asText(answer.path("access_token").asText(""));
    if (token.isEmpty() || token.chars().anyMatch(c -> c <= ' ' || c > '~')) {
      throw failed("gave no token");
    }
    return "Bearer " + token;
  }

  private URI next(URI from, String location) {
    try {
      return from.resolve(location);
    } catch (IllegalArgumentException e) {
      throw failed("leads on to " + Text.printable(location, 100) + ", which is no address");
    }
  }

  private boolean isHome(URI address) {
    URI registry = URI.create(base);
    return registry.getScheme().equals(address.getScheme())
        && registry.getAuthority().equals(address.getAuthority());
  }

  private boolean mayGo(URI address) {
    String scheme = String.valueOf(address.getScheme());
    return address.getHost() != null
        && (scheme.equals("https") || (plain && scheme.equals("http") && isLoopback(address)));
  }

  /**
   * Who names a registry names its host, wherever that is; anywhere else we are led by the
   * registry. Every address counts that the client may take. A name that leads elsewhere by the
   * time the client looks it up gets no further than to a certificate that is not its own.
   */
  private void requireReach(URI address) throws IOException {
    boolean own =
        address.getHost().equalsIgnoreCase(URI.create(base).getHost())
            || (plain && isLoopback(address));
    if (own) {
      return;
    }
    for (InetAddress one : addresses(address)) {
      Optional<String> refusal = reach.refusal(address, one);
      if (refusal.isPresent()) {
        throw failed("leads us where we do not go: " + Text.printable(refusal.get(), 300));
      }
    }
  }

  private static InetAddress[] addresses(URI address) throws IOException {
    try {
      return InetAddress.getAllByName(address.getHost());
    } catch (UnknownHostException e) {
      throw new IOException("no answer from " + address.getAuthority() + ": no such host", e);
    }
  }

  private static boolean isLoopback(URI address) {
    return Set.of("localhost", "127.0.0.1", "[::1]").contains(String.valueOf(address.getHost()));
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private SandboxException refused(int status) {
    return switch (status) {
      case 404 ->
          new SandboxException(
                  ErrorCode.IMAGE_NOT_FOUND,
                  "image " + reference + " not found (404 from " + reference.registry() + ")")
              .withHint("look at the name and the tag; a private one may need image.auth-file");
      case 401, 403 ->
          failed("refuses (" + status + ")")
              .withHint(
                  "name a file with logins, such as Docker's config.json, in image.auth-file");
      case 429 -> failed("is asked too often (429)").withHint("try again later, or log in");
      default -> failed("answers " + status);
    };
  }

  private SandboxException badRealm(String realm) {
    return failed("wants us to get a token from " + Text.printable(realm, 100));
  }

  private SandboxException failed(String what) {
    return new SandboxException(
        ErrorCode.IMAGE_SOURCE_FAILED,
        "image %s: registry %s %s".formatted(reference, reference.registry(), what));
  }
}
