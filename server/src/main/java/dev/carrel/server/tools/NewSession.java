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
import java.util.Set;

/** What a sandbox that a call begins is to have, by the arguments of that call. */
final class NewSession {
  private static final String SANDBOX =
      """
      "allowed_domains":{"type":"array","items":{"type":"string"},"description":"Hosts it may reach"},
      "presets":{"type":"array","maxItems":16,"items":{"type":"string","minLength":1},
        "description":"Sets of hosts that it may reach; packages: what the package managers use"},
      "namespace":{"type":"string","description":"Label whose rules hold for it, and whose secrets it can have"},
      "secrets":{"type":"array","maxItems":64,"items":{"type":"string","minLength":1},
        "description":"Names of secrets of its namespace that its processes get as variables"},
      "image":{"type":"string","minLength":1,"description":"What it starts on; list_runtimes lists them"},
      "resource_limits":{"type":"object","additionalProperties":false,"properties":{""";

  /** Members of a schema; of a sandbox. */
  static final String LIMITS =
      """
      "max_ram_mb":{"type":"integer","minimum":1,"description":"Memory"},
      "max_cpu_cores":{"type":"number","minimum":0.01},
      "max_processes":{"type":"integer","minimum":1,"maximum":2147483647}""";

  /** Members of the schema of a tool that begins one. */
  static final String INPUT = SANDBOX + LIMITS + "}}";

  /** The same of one that also runs something, with what holds for the run alone. */
  static final String INPUT_OF_RUN =
      SANDBOX
          + LIMITS
          + """
          ,"timeout_seconds":{"type":["number","null"],"minimum":0.001},
          "max_output_bytes":{"type":"integer","minimum":1,"description":"Of each stream; the rest is cut off"}}}""";

  static final String LIMITED = "resource_limits";
  private static final CreateSandbox.Size USUAL = new CreateSandbox.Size(null, null, null, null);
  private static final List<String> OF_ITS_OWN = List.of("allowed_domains", "presets", "secrets");

  private NewSession() {}

  static CreateSandbox request(Language language, JsonNode arguments) {
    CreateSandbox request =
        CreateSandbox.defaults()
            .withMetadata(Map.of(Sessions.LANGUAGE, language.wireName()))
            .withSecrets(secrets(arguments))
            .withSize(size(arguments.path(LIMITED)));
    String image = arguments.path("image").textValue();
    if (image != null) {
      request = request.withImage(image);
    }
    Policy policy = policy(arguments);
    if (policy.opens()) {
      request = request.withNetwork(CreateSandbox.Network.of(policy));
    }
    String namespace = arguments.path("namespace").textValue();
    return namespace == null ? request : request.withNamespace(namespace);
  }

  /** What {@link #LIMITS} say; what they do not is as it is, or as usual. */
  static CreateSandbox.Size size(JsonNode limits) {
    JsonNode memory = limits.path("max_ram_mb");
    JsonNode cores = limits.path("max_cpu_cores");
    JsonNode processes = limits.path("max_processes");
    return new CreateSandbox.Size(
        memory.isNumber() ? memory.longValue() : null,
        cores.isNumber() ? cores.doubleValue() : null,
        null,
        processes.isNumber() ? processes.intValue() : null);
  }

  /** Of a sandbox, or of one command. */
  static String[] secrets(JsonNode arguments) {
    return Sessions.words(arguments.path("secrets")).toArray(String[]::new);
  }

  private static Policy policy(JsonNode arguments) {
    List<String> domains = Sessions.words(arguments.path("allowed_domains"));
    try {
      return Policy.NOTHING
          .withAllow(domains.stream().map(Rule::parse).toList())
          .withPresets(Set.copyOf(Sessions.words(arguments.path("presets"))));
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("allowed_domains", String.valueOf(e.getMessage()));
    }
  }

  /** Refuses what only one that begins could have, where a session is used that is there. */
  static void refuseFor(Sandbox session, JsonNode arguments) {
    for (String name : OF_ITS_OWN) {
      refuseIf(!arguments.path(name).isEmpty(), name);
    }
    String image = arguments.path("image").textValue();
    refuseIf(image != null && !image.equals(session.image()), "image");
    if (!size(arguments.path(LIMITED)).equals(USUAL)) {
      throw SandboxException.invalid(LIMITED, "those of a session are its own")
          .withHint(
              "set_resource_limits changes them; timeout_seconds and max_output_bytes may stay");
    }
    String namespace = arguments.path("namespace").textValue();
    if (namespace != null && !Namespace.of(namespace).equals(session.namespace())) {
      throw SandboxException.invalid(
          "namespace", "the session is in namespace '%s'".formatted(session.namespace()));
    }
  }

  private static void refuseIf(boolean asked, String name) {
    if (asked) {
      throw SandboxException.invalid(
              name, "a session has what create_session gave it; this is for a run of its own")
          .withHint("leave it out, or call create_session with it");
    }
  }
}
