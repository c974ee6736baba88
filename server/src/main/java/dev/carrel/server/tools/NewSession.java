package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.egress.Policy;
import dev.carrel.egress.Rule;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.util.List;
import java.util.Map;

/** What a sandbox that a call begins is to have, by the arguments of that call. */
final class NewSession {
  /** Members of the schema of every tool that begins one. */
  static final String INPUT =
      """
      "allowed_domains":{"type":"array","items":{"type":"string"},"description":"Hosts it may reach"},
      "namespace":{"type":"string","description":"Label whose rules hold for it, and whose secrets it can have"},
      "secrets":{"type":"array","maxItems":64,"items":{"type":"string","minLength":1},
        "description":"Names of secrets of its namespace that its processes get as variables"}""";

  private static final List<String> OF_ITS_OWN = List.of("allowed_domains", "secrets");

  private NewSession() {}

  static CreateSandbox request(Language language, JsonNode arguments) {
    CreateSandbox request =
        CreateSandbox.defaults()
            .withMetadata(Map.of(Sessions.LANGUAGE, language.wireName()))
            .withSecrets(secrets(arguments));
    List<String> domains = Sessions.words(arguments.path("allowed_domains"));
    if (!domains.isEmpty()) {
      request = request.withNetwork(CreateSandbox.Network.of(policy(domains)));
    }
    String namespace = arguments.path("namespace").textValue();
    return namespace == null ? request : request.withNamespace(namespace);
  }

  /** Of a sandbox, or of one command. */
  static String[] secrets(JsonNode arguments) {
    return Sessions.words(arguments.path("secrets")).toArray(String[]::new);
  }

  private static Policy policy(List<String> domains) {
    try {
      return Policy.NOTHING.withAllow(domains.stream().map(Rule::parse).toList());
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("allowed_domains", String.valueOf(e.getMessage()));
    }
  }

  /** Refuses what only one that begins could have, where a session is used that is there. */
  static void refuseFor(Sandbox session, JsonNode arguments) {
    for (String name : OF_ITS_OWN) {
      if (!arguments.path(name).isEmpty()) {
        throw SandboxException.invalid(
                name, "a session has what create_session gave it; this is for a run of its own")
            .withHint("leave it out, or call create_session with it");
      }
    }
    String namespace = arguments.path("namespace").textValue();
    if (namespace != null && !Namespace.of(namespace).equals(session.namespace())) {
      throw SandboxException.invalid(
          "namespace", "the session is in namespace '%s'".formatted(session.namespace()));
    }
  }
}
