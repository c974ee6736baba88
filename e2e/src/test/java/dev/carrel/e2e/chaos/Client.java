package dev.carrel.e2e.chaos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Api.Answer;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Leads a random life through REST and writes down what it was told. Each client has files and a
 * variable of its own in every sandbox, so that it alone decides what they hold.
 */
final class Client implements Runnable {
  private static final int MAX_BOXES = 6;
  private static final int FILES = 3;
  // What another client's stop, pause or delete makes of a request, and a full disk or server.
  private static final Set<Integer> FAIR = Set.of(404, 409, 410, 429, 502, 503, 507);

  private final String name;
  private final Api api;
  private final Ledger ledger;
  private final Random random;
  private final Set<String> routes;
  private final String sandbox;
  private final BooleanSupplier stop;
  private int count;

  /**
   * @param routes the ends of the paths below a sandbox that the server has, such as {@code pause}
   * @param sandbox the fields of each create, as JSON
   * @param stop asked after each request
   */
  Client(
      String name,
      Api api,
      Ledger ledger,
      long seed,
      Set<String> routes,
      String sandbox,
      BooleanSupplier stop) {
    this.sandbox = sandbox;
    this.name = name;
    this.api = api;
    this.ledger = ledger;
    this.random = new Random(seed);
    this.routes = routes;
    this.stop = stop;
  }

  @Override
  public void run() {
    while (!stop.getAsBoolean()) {
      try {
        act();
      } catch (UncheckedIOException cut) {
        // The server died under this request, which then happened or not. Until this client is
        // stopped the next ones are refused.
      }
    }
  }

  private void act() {
    KnownBox box = ledger.any(random);
    if (box == null || (ledger.alive() < MAX_BOXES && random.nextInt(4) == 0)) {
      create();
      return;
    }
    switch (random.nextInt(14)) {
      case 0, 1, 2 -> putFile(box);
      case 3 -> readFile(box);
      case 4, 5 -> execute(box);
      case 6, 7 -> setVariable(box);
      case 8 -> pause(box);
      case 9 -> move(box, "resume");
      case 10 -> stopOrStart(box);
      case 11 -> fork(box);
      case 12 -> snapshot(box);
      default -> {
        if (ledger.alive() > MAX_BOXES / 2) {
          delete(box);
        }
      }
    }
  }

  private void create() {
    Answer answer = api.call("POST", "/api/v1/sandboxes", sandbox);
    if (acknowledged("create", answer)) {
      JsonNode made = answer.json();
      ledger.created(
          new KnownBox(made.get("id").asText(), made.path("persistent").asBoolean(false)));
    }
  }

  private void putFile(KnownBox box) {
    String file = name + "-" + random.nextInt(FILES);
    String content = file + " " + ++count + "\n" + "x".repeat(random.nextInt(50_000));
    box.writing(file, content);
    Answer answer =
        api.bytes("PUT", box.path() + "/files/" + file, content.getBytes(StandardCharsets.UTF_8));
    if (acknowledged("put", answer)) {
      box.written(file, content);
    }
  }

  private void readFile(KnownBox box) {
    String file = name + "-" + random.nextInt(FILES);
    Answer answer = api.get(box.path() + "/files/" + file);
    Set<String> known = box.files().get(file);
    if (acknowledged("get", answer) && known != null && !KnownBox.fits(known, answer.text())) {
      ledger.surprise("%s of %s holds what nobody wrote last".formatted(file, box));
    }
  }

  /**
   * A command whose work is a file, and whose output comes in many pieces. What a program did not
   * sync it was not promised: the disk below may be full.
   */
  private void execute(KnownBox box) {
    String file = name + "-exec";
    String content = "exec " + ++count;
    box.writing(file, content);
    // The shell empties the file before it writes.
    box.writing(file, "");
    String command =
        "printf '%1$s' > %2$s && sync %2$s || exit 1; i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done"
            .formatted(content, file);
    ObjectNode body = Api.object().put("command", command).put("timeout_seconds", 20);
    Answer answer = api.post(box.path() + "/exec", body);
    if (acknowledged("exec", answer) && answer.json().path("exit_code").asInt(-1) == 0) {
      box.written(file, content);
      if (!answer.json().path("stdout").asText().endsWith("line 199\n")) {
        ledger.surprise("an exec in %s lost output: %s".formatted(box, answer.text()));
      }
    }
  }

  private void setVariable(KnownBox box) {
    String variable = "known_" + name;
    String value = "value " + ++count;
    box.setting(variable, value);
    ObjectNode body =
        Api.object()
            .put("language", "python")
            .put("code", "%s = '%s'".formatted(variable, value))
            .put("timeout_seconds", 20);
    Answer answer = api.post(box.path() + "/code", body);
    if (acknowledged("code", answer) && answer.json().path("success").asBoolean()) {
      box.set(variable, value);
    }
  }

  private void pause(KnownBox box) {
    box.mayBecome("paused");
    move(box, "pause");
  }

  private void stopOrStart(KnownBox box) {
    if (random.nextBoolean()) {
      move(box, "start");
    } else if (routes.contains("stop")) {
      box.mayBecome("stopped");
      box.machineMayEnd();
      move(box, "stop");
    }
  }

  private void move(KnownBox box, String route) {
    if (routes.contains(route)) {
      acknowledged(route, api.call("POST", box.path() + "/" + route, ""));
    }
  }

  /** The new one has the files of that moment; only of our own do we know which those are. */
  private void fork(KnownBox box) {
    if (!routes.contains("fork") || ledger.alive() >= MAX_BOXES) {
      return;
    }
    Map<String, Set<String>> files = box.files();
    Answer answer = api.call("POST", box.path() + "/fork", "");
    if (acknowledged("fork", answer)) {
      KnownBox copy = box.fork(answer.json().get("id").asText(), name + "-");
      files.forEach(
          (file, contents) -> {
            if (file.startsWith(name + "-")) {
              contents.forEach(content -> copy.writing(file, content));
              if (contents.size() == 1) {
                copy.written(file, contents.iterator().next());
              }
            }
          });
      ledger.created(copy);
    }
  }

  private void snapshot(KnownBox box) {
    if (!routes.contains("snapshots")) {
      return;
    }
    Answer answer = api.call("POST", box.path() + "/snapshots", "{}");
    if (acknowledged("snapshot", answer)) {
      String id = answer.json().get("id").asText();
      ledger.seen(id);
      acknowledged("drop snapshot", api.call("DELETE", "/api/v1/snapshots/" + id, ""));
    }
  }

  private void delete(KnownBox box) {
    box.removing();
    if (acknowledged("delete", api.call("DELETE", box.path(), ""))) {
      box.removed();
    }
  }

  /** Also holds refusals to the rule: each is a known case and says why. */
  private boolean acknowledged(String what, Answer answer) {
    if (answer.status() >= 200 && answer.status() <= 299) {
      ledger.answered(what);
      return true;
    }
    ledger.answered(what + " " + answer.status());
    String code = answer.json().path("code").asText();
    boolean fair = FAIR.contains(answer.status()) || code.equals("not_supported");
    if (!fair || code.isEmpty()) {
      ledger.surprise(what + " was answered with " + answer.status() + " " + answer.text());
    }
    return false;
  }
}
