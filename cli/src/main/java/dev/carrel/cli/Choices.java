package dev.carrel.cli;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;

/** What completion offers as values of options. The server decides, and may know more of them. */
final class Choices {
  private Choices() {}

  abstract static class Words implements Iterable<String> {
    private final List<String> words;

    Words(String... words) {
      this.words = List.of(words);
    }

    /** An enum's, as they are typed. */
    Words(Enum<?>[] values) {
      this.words = Arrays.stream(values).map(one -> one.name().toLowerCase(Locale.ROOT)).toList();
    }

    @Override
    public Iterator<String> iterator() {
      return words.iterator();
    }
  }

  static final class Languages extends Words {
    Languages() {
      super("python", "node", "r", "bash");
    }
  }

  static final class Engines extends Words {
    Engines() {
      super("native", "runc", "crun", "runsc", "docker", "docker-runsc", "process");
    }
  }

  static final class Isolation extends Words {
    Isolation() {
      super("none", "namespaces", "gvisor");
    }
  }

  static final class Rootfs extends Words {
    Rootfs() {
      super("read-only", "overlay");
    }
  }

  static final class Presets extends Words {
    Presets() {
      super("packages", "github");
    }
  }

  static final class OnIdle extends Words {
    OnIdle() {
      super("stop", "pause", "destroy");
    }
  }

  static final class OnDanger extends Words {
    OnDanger() {
      super("reject", "warn", "off");
    }
  }

  static final class Forms extends Words {
    Forms() {
      super("json", "table");
    }
  }

  static final class Modes extends Words {
    Modes() {
      super("enforce", "observe");
    }
  }

  static final class Sorts extends Words {
    Sorts() {
      super(TopCommand.Sort.values());
    }
  }

  static final class Clients extends Words {
    Clients() {
      super(McpCommand.Install.Client.values());
    }
  }
}
