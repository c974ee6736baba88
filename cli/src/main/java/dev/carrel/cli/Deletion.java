package dev.carrel.cli;

import dev.carrel.sdk.CarrelException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Removes one thing after the other; one that cannot go keeps no other from going. */
final class Deletion {
  private final Console console;
  private final List<String> deleted = new ArrayList<>();
  private final Map<String, CarrelException> failed = new LinkedHashMap<>();

  Deletion(Console console) {
    this.console = console;
  }

  Deletion each(List<String> names, Consumer<String> delete) {
    for (String name : names) {
      try (Progress _ = console.progress("deleting " + console.safe(name))) {
        delete.accept(name);
        deleted.add(name);
      } catch (CarrelException e) {
        failed.put(name, e);
      }
    }
    return this;
  }

  /** Tells what went and what did not. Returns the command's exit code. */
  int told(boolean json) {
    if (json) {
      var why = new LinkedHashMap<String, String>();
      failed.forEach((name, e) -> why.put(name, e.message()));
      console.json(Map.of("deleted", deleted, "failed", why));
    } else {
      deleted.forEach(console::line);
      failed.forEach(
          (name, e) -> {
            console.error(Wording.about(console.safe(name), e.message()));
            e.hint().ifPresent(console::hint);
          });
    }
    return failed.isEmpty() ? 0 : Cli.FAILED;
  }
}
