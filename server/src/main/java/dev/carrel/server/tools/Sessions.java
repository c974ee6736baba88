package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.Control;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.SandboxQuery;
import dev.carrel.control.sandbox.SandboxStatus;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.server.mcp.Call;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The sandboxes that tools call sessions. */
final class Sessions {
  static final String ARGUMENT = "session_id";
  private static final String LANGUAGE = "mcp.language";

  private final Control control;

  Sessions(Control control) {
    this.control = control;
  }

  /** The session that a call names, or the caller's usual one, made when there is none. */
  SandboxId named(Call call) throws InterruptedException {
    JsonNode id = call.arguments().path(ARGUMENT);
    return id.isTextual() ? new SandboxId(id.textValue()) : usual(call);
  }

  private SandboxId usual(Call call) throws InterruptedException {
    CreateSandbox request = CreateSandbox.defaults().withSessionKey(call.sessionKey());
    Sandbox sandbox = control.creates().create(call.caller(), request, null, () -> {}).sandbox();
    if (sandbox.status() == SandboxStatus.STOPPED && sandbox.restartable()) {
      return control.sandboxes().start(call.caller(), sandbox.id()).id();
    }
    return sandbox.id();
  }

  Sandbox begin(Caller caller, Language language, List<String> domains, @Nullable String namespace)
      throws InterruptedException {
    return control
        .creates()
        .create(caller, request(language, domains, namespace, false), null, () -> {})
        .sandbox();
  }

  /** One that keeps nothing, for a single run. */
  Sandbox beginOnce(
      Caller caller, Language language, List<String> domains, @Nullable String namespace)
      throws InterruptedException {
    return control
        .creates()
        .create(caller, request(language, domains, namespace, true), null, () -> {})
        .sandbox();
  }

  private static CreateSandbox request(
      Language language, List<String> domains, @Nullable String namespace, boolean once) {
    CreateSandbox request =
        CreateSandbox.defaults().withMetadata(Map.of(LANGUAGE, language.wireName()));
    if (once) {
      request = request.withStorage(CreateSandbox.Storage.EPHEMERAL);
    }
    if (!domains.isEmpty()) {
      request = request.withNetwork(CreateSandbox.Network.of(policy(domains)));
    }
    return namespace == null ? request : request.withNamespace(namespace);
  }

  private static Policy policy(List<String> domains) {
    try {
      return Policy.NOTHING.withAllow(domains.stream().map(Rule::parse).toList());
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("allowed_domains", String.valueOf(e.getMessage()));
    }
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

  /** Newest first, as many as one page has. */
  List<Sandbox> list(Caller caller) {
    var query =
        new SandboxQuery(
            1,
            SandboxQuery.MAX_PAGE_SIZE,
            null,
            null,
            null,
            null,
            SandboxQuery.SortBy.CREATED_AT,
            true,
            new SandboxQuery.Further(null, caller.tenant(), null));
    return control.sandboxes().list(caller, query).items();
  }

  /** Those that can be used. */
  List<Sandbox> active(Caller caller) {
    return list(caller).stream()
        .filter(
            sandbox ->
                sandbox.status() == SandboxStatus.RUNNING
                    || sandbox.status() == SandboxStatus.PAUSED)
        .toList();
  }

  static List<String> words(JsonNode array) {
    var words = new ArrayList<String>();
    array.forEach(word -> words.add(word.asText()));
    return words;
  }
}
