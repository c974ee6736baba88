package dev.carrel.cli;

import dev.carrel.sdk.SettingInfo;
import dev.carrel.sdk.Settings;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "settings",
    aliases = "config",
    description = {
      "Show or change the settings of a running server; for administrators.",
      "A change takes effect at once, is stored, and wins over the server's configuration."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel settings",
      "  carrel settings idle_timeout_seconds=600 max_memory_mb=8192",
      "  carrel settings idle_timeout_seconds=     as configured again",
      "  carrel settings --reset"
    })
final class SettingsCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(
      paramLabel = "NAME=VALUE",
      arity = "0..*",
      description = "What to change; without a value: as configured again.")
  private List<String> changes = List.of();

  @Option(names = "--reset", description = "Make every setting as configured again.")
  private boolean reset;

  SettingsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    if (reset && !changes.isEmpty()) {
      throw CommandFailure.usage("--reset changes everything: name no settings beside it");
    }
    Map<String, @Nullable Object> asked = parse(changes);
    Console console = session.console();
    try (Session.Connection server = session.connect()) {
      Settings settings = server.carrel().settings();
      requireKnown(settings, asked);
      List<SettingInfo> now =
          reset ? settings.reset() : asked.isEmpty() ? settings.list() : settings.change(asked);
      if (common.json()) {
        console.json(Map.of("settings", now));
        return 0;
      }
      List<List<String>> rows =
          now.stream()
              .filter(setting -> asked.isEmpty() || asked.containsKey(setting.name()))
              .map(
                  setting ->
                      List.of(
                          setting.name(),
                          setting.value().toString(),
                          setting.changed() ? setting.configured().toString() : ""))
              .toList();
      console.table(List.of("SETTING", "VALUE", "CONFIGURED"), rows);
    }
    return 0;
  }

  /** A server passes over what it does not know, and would change the rest. */
  private static void requireKnown(Settings settings, Map<String, @Nullable Object> asked) {
    if (asked.isEmpty()) {
      return;
    }
    var unknown = new LinkedHashSet<>(asked.keySet());
    settings.list().forEach(setting -> unknown.remove(setting.name()));
    if (!unknown.isEmpty()) {
      throw CommandFailure.usage(
          "no such setting: " + String.join(", ", unknown) + "; nothing was changed",
          "'carrel settings' shows what there is");
    }
  }

  private static Map<String, @Nullable Object> parse(List<String> changes) {
    var asked = new LinkedHashMap<String, @Nullable Object>();
    for (String change : changes) {
      int equals = change.indexOf('=');
      if (equals < 1) {
        throw CommandFailure.usage("'" + change + "' is not NAME=VALUE");
      }
      asked.put(change.substring(0, equals), value(change.substring(equals + 1)));
    }
    return asked;
  }

  private static @Nullable Object value(String text) {
    if (text.isEmpty()) {
      return null;
    }
    if (text.equals("true") || text.equals("false")) {
      return Boolean.valueOf(text);
    }
    if (text.matches("-?[0-9]{1,18}")) {
      return Long.valueOf(text);
    }
    return text.matches("-?[0-9]{1,9}[.][0-9]{1,9}") ? Double.valueOf(text) : text;
  }
}
