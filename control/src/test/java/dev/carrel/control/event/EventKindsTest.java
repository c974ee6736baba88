package dev.carrel.control.event;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.carrel.control.approval.Approval;
import dev.carrel.egress.Decision;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The contract lists every kind of event: clients are written against that list. */
final class EventKindsTest {
  /** What a sandbox's life tells. */
  private static final List<String> LIFE =
      List.of("started", "resumed", "paused", "stopped", "failed", "destroyed", "expiring");

  @Test
  void theContractHasAllThatAreTold() throws Exception {
    Path contract = Path.of(System.getProperty("carrel.root"), "spec/openapi.yaml");
    var listed = new ArrayList<String>();
    for (JsonNode kind :
        new YAMLMapper()
            .readTree(contract.toFile())
            .at("/components/schemas/Event/properties/kind/enum")) {
      listed.add(kind.asText());
    }

    assertThat(listed).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(told());
  }

  private static Set<String> told() throws IllegalAccessException {
    var all = new TreeSet<String>();
    for (Field field : Event.class.getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
        all.add(String.valueOf(field.get(null)));
      }
    }
    LIFE.forEach(what -> all.add("sandbox." + what));
    for (Decision.Outcome outcome : Decision.Outcome.values()) {
      all.add("egress." + outcome.name().toLowerCase(Locale.ROOT));
    }
    for (Approval.Kind kind : Approval.Kind.values()) {
      all.add(kind.wireName() + ".requested");
      Arrays.stream(Approval.Status.values())
          .filter(status -> status != Approval.Status.PENDING)
          .forEach(status -> all.add(kind.wireName() + "." + status.wireName()));
    }
    return all;
  }
}
