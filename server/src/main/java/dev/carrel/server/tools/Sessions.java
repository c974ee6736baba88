package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.Control;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxPage;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.server.mcp.Call;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The sandboxes that tools call sessions. */
final class Sessions {
  static final String ARGUMENT = "session_id";
  static final String LANGUAGE = "mcp.language";

  private final Control control;

  Sessions(Control control) {
    this.control = control;
  }

  /**
   * The session that a call names, started again when it has stopped; or the caller's usual one,
   * made when there is none.
   */
  SandboxId named(Call call) throws InterruptedException {
    JsonNode id = call.arguments().path(ARGUMENT);
    return id.isTextual()
        ? awake(call.caller(), new SandboxId(id.textValue()))
        : control.creates().usual(call.caller(), call.sessionKey()).id();
  }

  /** That one, started again when it has stopped: its files are kept for who names it. */
  SandboxId awake(Caller caller, SandboxId id) {
    Sandbox sandbox = control.sandboxes().get(caller, id);
    // What a canary froze waits for a person to look at it.
    boolean held = sandbox.held().isPresent();
    if (sandbox.status() == SandboxStatus.STOPPED && sandbox.restartable() && !held) {
      control.sandboxes().start(caller, id);
    }
    return id;
  }

  Sandbox begin(Caller caller, CreateSandbox request) throws InterruptedException {
    return control.creates().create(caller, request, null, () -> {}).sandbox();
  }

  /** What code without a language is written in here. */
  Language language(Caller caller, SandboxId id) {
    String language = control.sandboxes().get(caller, id).metadata().get(LANGUAGE);
    return language == null ? Language.PYTHON : Language.parse(language);
  }

  static Language language(Sandbox sandbox) {
    String language = sandbox.metadata().get(LANGUAGE);
    return language == null ? Language.PYTHON : Language.parse(language);
  }

  /** The newest of all, first. */
  SandboxPage list(Caller caller) {
    return page(caller, null, 1);
  }

  /** Those that can be used, newest first, however many have ended since. */
  List<Sandbox> active(Caller caller) {
    var found = new HashMap<SandboxId, Sandbox>();
    for (SandboxStatus status : List.of(SandboxStatus.RUNNING, SandboxStatus.PAUSED)) {
      List<Sandbox> items;
      int number = 1;
      do {
        items = page(caller, status, number++).items();
        items.forEach(sandbox -> found.put(sandbox.id(), sandbox));
      } while (items.size() == SandboxQuery.MAX_PAGE_SIZE);
    }
    return found.values().stream()
        .sorted(Comparator.comparing(Sandbox::createdAt).reversed())
        .toList();
  }

  private SandboxPage page(Caller caller, @Nullable SandboxStatus status, int number) {
    var query =
        new SandboxQuery(
            number,
            SandboxQuery.MAX_PAGE_SIZE,
            status,
            null,
            null,
            null,
            SandboxQuery.SortBy.CREATED_AT,
            true,
            new SandboxQuery.Further(null, caller.tenant(), null));
    return control.sandboxes().list(caller, query);
  }

  static List<String> words(JsonNode array) {
    var words = new ArrayList<String>();
    array.forEach(word -> words.add(word.asText()));
    return words;
  }
}
