package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Api.Answer;
import dev.carrel.e2e.Box;
import dev.carrel.engine.testkit.Eventually;
import java.time.Duration;
import java.util.Map;
import java.util.Set;

/** Compares what the clients were told with what is, while nobody acts. */
final class Verdict {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final Api api;
  private final Ledger ledger;

  Verdict(Api api, Ledger ledger) {
    this.api = api;
    this.ledger = ledger;
  }

  void check(Set<String> listed) {
    assertThat(ledger.surprises()).as("answers that must never be").isEmpty();
    assertThat(api.get("/health").status()).isEqualTo(200);
    for (String id : listed) {
      ledger.seen(id);
      if (!ledger.knows(id)) {
        // Its create was never answered, or refused: it is listed with the reason.
        settledStatus(new KnownBox(id, false));
      }
    }
    for (KnownBox box : ledger.boxes()) {
      switch (box.removal()) {
        case NOT_ASKED -> checkAlive(box);
        case ASKED -> delete(box);
        case ANSWERED -> {
          assertThat(api.get(box.path()).status()).as("deleted: %s", box).isEqualTo(404);
          ledger.forget(box);
        }
      }
    }
  }

  /** Removes it, twice; both must be answered as done. */
  void delete(KnownBox box) {
    Answer first = api.call("DELETE", box.path(), "");
    // When an earlier DELETE was done but not answered, the server need not remember it for ever.
    if (box.removal() != KnownBox.Removal.ASKED || first.status() != 404) {
      assertThat(first.status()).as("DELETE %s: %s", box, first.text()).isEqualTo(204);
      assertThat(api.call("DELETE", box.path(), "").status()).as("again %s", box).isEqualTo(204);
    }
    assertThat(api.get(box.path()).status()).as("after DELETE %s", box).isEqualTo(404);
    ledger.forget(box);
  }

  private void checkAlive(KnownBox box) {
    JsonNode row = settledStatus(box);
    // 409 when it was stopped, 410 when it died.
    if (box.mayBe("failed")
        && Set.of(409, 410).contains(new Box(api, box.id(), row).tried("true"))) {
      // Its machine was dead and nobody had noticed: the first use did.
      row = settledStatus(box);
    }
    String status = row.get("status").asText();
    assertThat(box.mayBe(status)).as("%s is %s: %s", box, status, row.get("failure")).isTrue();
    if (status.equals("failed") || status.equals("stopped")) {
      if (!box.persistent()) {
        delete(box);
        return;
      }
      Answer started = api.call("POST", box.path() + "/start", "");
      assertThat(started.status()).as("start %s: %s", box, started.text()).isEqualTo(200);
    }
    Map<String, Set<String>> files = box.files();
    files.forEach((file, contents) -> checkFile(box, file, contents));
    box.variables().forEach((name, values) -> checkVariable(box, name, values));
    assertThat(new Box(api, box.id(), row).shell("echo alive")).isEqualTo("alive\nexit 0");
    box.settled();
  }

  /** Waits until it is no longer on its way somewhere. */
  private JsonNode settledStatus(KnownBox box) {
    Eventually.holds(
        box + " has a status that can last",
        PATIENCE,
        () -> !api.get(box.path()).json().path("status").asText().equals("creating"));
    Answer answer = api.get(box.path());
    assertThat(answer.status()).as("acknowledged: %s: %s", box, answer.text()).isEqualTo(200);
    JsonNode row = answer.json();
    String status = row.get("status").asText();
    assertThat(status).as("%s", box).isIn("running", "paused", "stopped", "failed");
    if (status.equals("failed")) {
      assertThat(row.get("failure").path("cause").asText()).as("%s", row).isNotBlank();
      assertThat(row.get("failure").path("message").asText()).as("%s", row).isNotBlank();
    }
    return row;
  }

  private void checkFile(KnownBox box, String file, Set<String> contents) {
    Answer answer = api.get(box.path() + "/files/" + file);
    String content = answer.status() == 404 ? KnownBox.ABSENT : answer.text();
    assertThat(KnownBox.fits(contents, content))
        .as(
            "%s of %s: %d %s; expected one of %s",
            file,
            box,
            answer.status(),
            shortened(content),
            contents.stream().map(Verdict::shortened).toList())
        .isTrue();
  }

  private void checkVariable(KnownBox box, String name, Set<String> values) {
    JsonNode result =
        new Box(api, box.id(), Api.object())
            .python("globals().get('%s', '%s')".formatted(name, KnownBox.ABSENT));
    String value = result.path("result").path("text/plain").asText();
    assertThat(values.stream().map(known -> "'" + known + "'"))
        .as("%s of %s: %s", name, box, result)
        .contains(value);
  }

  private static String shortened(String content) {
    return content.length() <= 40
        ? content
        : content.substring(0, 40) + "… (" + content.length() + ")";
  }
}
