package dev.carrel.engine.docker;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.carrel.engine.host.Json;
import dev.carrel.spi.DaemonSettings;
import dev.carrel.spi.Text;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The calls of the Engine API that are used here. */
final class Daemon {
  private static final Duration QUICK = Duration.ofSeconds(20);
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final int SHOWN = 500;
  private static final int MAX_REFUSAL = 64 << 10;
  private static final int SHOWN_LOG = 800;
  private static final String JSON = "application/json";

  /** The first that can give a container a control group namespace of its own. */
  private static final ApiVersion LEAST = new ApiVersion(1, 41);

  /** The newest that this was written for: read-only to the last mount below. */
  static final ApiVersion NEWEST = new ApiVersion(1, 44);

  /** A version of the interface. */
  record ApiVersion(int major, int minor) implements Comparable<ApiVersion> {
    static ApiVersion parse(String text) throws IOException {
      String[] numbers = text.split("\\.", -1);
      try {
        return new ApiVersion(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
      } catch (ArrayIndexOutOfBoundsException | NumberFormatException e) {
        throw new IOException(
            "what listens there is no Engine API: its version is '"
                + Text.printable(text, SHOWN)
                + "'",
            e);
      }
    }

    @Override
    public int compareTo(ApiVersion other) {
      return major != other.major
          ? Integer.compare(major, other.major)
          : Integer.compare(minor, other.minor);
    }

    @Override
    public String toString() {
      return major + "." + minor;
    }
  }

  private final DaemonSocket socket;
  private final String noAddress;
  private final ObjectMapper mapper = new ObjectMapper();
  private volatile @Nullable JsonNode said;
  private volatile @Nullable DaemonInfo info;

  private Daemon(Path socket, String noAddress) {
    this.socket = new DaemonSocket(socket);
    this.noAddress = noAddress;
  }

  /** Wherever it is; a daemon that cannot be reached says so when it is asked for something. */
  static Daemon of(DaemonSettings settings) {
    try {
      return new Daemon(DaemonAddress.find(settings), "");
    } catch (IOException e) {
      return new Daemon(Path.of("/"), String.valueOf(e.getMessage()));
    }
  }

  /** Why nobody can be reached there; empty where it seems possible. */
  String obstacle() {
    if (!noAddress.isEmpty()) {
      return noAddress;
    }
    Path path = socket.path();
    if (!Files.exists(path)) {
      return "there is no daemon: %s does not exist; start one, or say where it is with docker.host"
          .formatted(path);
    }
    return Files.isWritable(path)
        ? ""
        : "no permission for " + path + "; run the server as root or let it join that file's group";
  }

  /** The version to speak: the newest that both know. */
  ApiVersion version() throws IOException {
    return agree(whatItSays());
  }

  /** Asked once: a daemon runs other programs to answer that. */
  private JsonNode whatItSays() throws IOException {
    JsonNode known = said;
    if (known == null) {
      String obstacle = obstacle();
      if (!obstacle.isEmpty()) {
        throw new IOException(obstacle);
      }
      known = call("GET", "/version", QUICK);
      said = known;
    }
    return known;
  }

  static ApiVersion agree(JsonNode version) throws IOException {
    ApiVersion newest = ApiVersion.parse(version.path("ApiVersion").asText(""));
    ApiVersion oldest = ApiVersion.parse(version.path("MinAPIVersion").asText("1.12"));
    if (newest.compareTo(LEAST) < 0) {
      throw new IOException(
          "the daemon speaks version %s of the Engine API; %s is needed (Docker 20.10, Podman 4)"
              .formatted(newest, LEAST));
    }
    ApiVersion wanted = newest.compareTo(NEWEST) < 0 ? newest : NEWEST;
    return wanted.compareTo(oldest) < 0 ? oldest : wanted;
  }

  DaemonInfo info() throws IOException {
    DaemonInfo known = info;
    if (known == null) {
      known = DaemonInfo.of(whatItSays(), call("GET", path("/info"), QUICK));
      info = known;
    }
    return known;
  }

  boolean hasImage(String name) throws IOException {
    return found(() -> call("GET", path("/images/" + encode(name) + "/json"), QUICK));
  }

  private interface Question {
    JsonNode ask() throws IOException;
  }

  private static boolean found(Question question) throws IOException {
    try {
      question.ask();
      return true;
    } catch (DaemonException e) {
      if (e.isNotFound()) {
        return false;
      }
      throw e;
    }
  }

  /**
   * Makes an image of one layer.
   *
   * @param name with its tag: of a tag that is given apart Podman takes no notice
   */
  void importImage(String name, byte[] tar, String label) throws IOException {
    String query =
        "/images/create?fromSrc=-&repo=%s&changes=%s"
            .formatted(encode(name), encode("LABEL " + label));
    check(socket.send("POST", path(query), "application/x-tar", tar, LONG));
  }

  void create(String name, Map<String, Object> request) throws IOException {
    post("/containers/create?name=" + encode(name), Json.of(request), LONG);
  }

  void start(String name) throws IOException {
    post("/containers/" + name + "/start", "", LONG);
  }

  void pause(String name) throws IOException {
    post("/containers/" + name + "/pause", "", QUICK);
  }

  void resume(String name) throws IOException {
    post("/containers/" + name + "/unpause", "", QUICK);
  }

  void update(String name, Map<String, Object> resources) throws IOException {
    post("/containers/" + name + "/update", Json.of(resources), QUICK);
  }

  /**
   * What the daemon knows of the state of a container.
   *
   * @throws DaemonException not found
   */
  JsonNode state(String name) throws IOException {
    return call("GET", path("/containers/" + name + "/json"), QUICK).path("State");
  }

  /** Ends it and removes it with what was made for it alone. */
  void remove(String name) throws IOException {
    call("DELETE", path("/containers/" + name + "?force=1&v=1"), LONG);
  }

  /** All that carry these labels, whatever state they are in. */
  JsonNode list(Map<String, String> labels) throws IOException {
    String filters = Json.of(Map.of("label", filters(labels)));
    return call("GET", path("/containers/json?all=1&filters=" + encode(filters)), QUICK);
  }

  /** Ends of containers with these labels and kills for want of memory, as they come. */
  DaemonSocket.Stream events(Map<String, String> labels, String since) throws IOException {
    String filters =
        Json.of(
            Map.of(
                "type",
                List.of("container"),
                "event",
                List.of("die", "oom"),
                "label",
                filters(labels)));
    String query = "/events?since=" + encode(since) + "&filters=" + encode(filters);
    return stream("GET", query, LONG);
  }

  /** Whether there is a network of this name. */
  boolean hasNetwork(String name) throws IOException {
    return found(() -> call("GET", path("/networks/" + encode(name)), QUICK));
  }

  /** Fetches an image; one JSON object after the other tells how it comes. */
  DaemonSocket.Stream pull(String name, Duration most) throws IOException {
    return stream("POST", "/images/create?fromImage=" + encode(name), most);
  }

  /**
   * Everything that its processes say, until the last of them has ended. With Podman the answer
   * begins when the first of them says something.
   */
  DaemonSocket.Stream follow(String name, Duration most) throws IOException {
    return stream("GET", "/containers/" + name + "/logs?follow=1&stdout=1&stderr=1", most);
  }

  /** The status of its first process, which must end in this time. */
  int awaitEnd(String name, Duration most) throws IOException {
    return call("POST", path("/containers/" + name + "/wait"), most).path("StatusCode").asInt(-1);
  }

  /** A file or folder as a tar. */
  DaemonSocket.Stream read(String name, String path) throws IOException {
    return stream("GET", "/containers/" + name + "/archive?path=" + encode(path), LONG);
  }

  /** Unpacks a tar in the root. */
  void write(String name, byte[] tar) throws IOException {
    String target = "/containers/" + name + "/archive?path=" + encode("/");
    check(socket.send("PUT", path(target), "application/x-tar", tar, LONG));
  }

  /** All of its files as a tar. */
  DaemonSocket.Stream export(String name) throws IOException {
    return stream("GET", "/containers/" + name + "/export", LONG);
  }

  /** The last that its first process said. */
  String tail(String name) throws IOException {
    String query = "/containers/" + name + "/logs?stdout=1&stderr=1&tail=20";
    byte[] framed = check(socket.send("GET", path(query), JSON, new byte[0], QUICK));
    String text = LogFrames.text(framed).strip();
    return text.substring(Math.max(0, text.length() - SHOWN_LOG));
  }

  private static List<String> filters(Map<String, String> labels) {
    return labels.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).sorted().toList();
  }

  /** An answer that begins to come, in this time. */
  private DaemonSocket.Stream stream(String method, String target, Duration most)
      throws IOException {
    DaemonSocket.Stream stream = socket.open(method, path(target), most);
    if (stream.status() < 400) {
      return stream;
    }
    try (stream;
        var _ = new DaemonSocket.Deadline(stream.channel(), QUICK)) {
      throw refusal(stream.status(), stream.body().readNBytes(MAX_REFUSAL));
    }
  }

  private void post(String target, String json, Duration most) throws IOException {
    byte[] body = json.getBytes(StandardCharsets.UTF_8);
    check(socket.send("POST", path(target), JSON, body, most));
  }

  private JsonNode call(String method, String target, Duration most) throws IOException {
    byte[] body = check(socket.send(method, target, JSON, new byte[0], most));
    try {
      return body.length == 0 ? mapper.createObjectNode() : mapper.readTree(body);
    } catch (JsonProcessingException e) {
      throw new IOException("the daemon's answer is no JSON", e);
    }
  }

  private byte[] check(DaemonSocket.Reply reply) throws DaemonException {
    if (reply.status() < 400) {
      return reply.body();
    }
    throw refusal(reply.status(), reply.body());
  }

  private DaemonException refusal(int status, byte[] body) {
    String text = new String(body, StandardCharsets.UTF_8);
    String message;
    try {
      message = mapper.readTree(text).path("message").asText(text);
    } catch (JsonProcessingException e) {
      message = text;
    }
    return new DaemonException(
        status, Text.printable(message.replace('\n', ' '), SHOWN) + " (from the daemon)");
  }

  private String path(String target) throws IOException {
    return "/v" + version() + target;
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
