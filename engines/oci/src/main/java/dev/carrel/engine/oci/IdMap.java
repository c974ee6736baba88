package dev.carrel.engine.oci;

import dev.carrel.engine.host.HostProcess;
import dev.carrel.engine.host.IdRanges;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Which ids a machine has.
 *
 * @param base the host's number for its id 0, where this server chooses it
 * @param reason why they are not better; empty where they are the best there are
 */
record IdMap(Kind kind, OptionalInt base, String reason) {
  enum Kind {
    /** gVisor's kernel has its own, a stranger to the host's. */
    NONE,
    /** 65536 of the host's that no other machine has. */
    RANGE,
    /** Three subordinate ids of the server's user that no other machine has. */
    SLICE,
    /** The server's own user. */
    ONE
  }

  /** Claims a range as root; the companion claims a slice, and here it is only known to. */
  static IdMap claim(OciRuntime runtime, MachineFolder folder, Path guestProgram)
      throws IOException {
    if (runtime == OciRuntime.RUNSC) {
      return new IdMap(Kind.NONE, OptionalInt.empty(), "");
    }
    if (HostProcess.isRoot()) {
      return new IdMap(Kind.RANGE, OptionalInt.of(IdRanges.claim(folder.path())), "");
    }
    String said = ask(guestProgram);
    return said.equals("slice")
        ? new IdMap(Kind.SLICE, OptionalInt.empty(), "")
        : new IdMap(Kind.ONE, OptionalInt.empty(), said.replaceFirst("^one ", ""));
  }

  private static String ask(Path guestProgram) throws IOException {
    var builder =
        new ProcessBuilder(guestProgram.toString(), "oci", "ids").redirectErrorStream(true);
    Companion.setEnvironment(builder);
    Process process = builder.start();
    try (var output = process.getInputStream()) {
      return new String(output.readAllBytes(), StandardCharsets.UTF_8).strip();
    } finally {
      process.destroyForcibly();
    }
  }

  /** For a companion that makes a user namespace of its own. */
  List<String> companionOptions() {
    if (HostProcess.isRoot()) {
      return base.isPresent() ? List.of("--base", Integer.toString(base.getAsInt())) : List.of();
    }
    return List.of("--ids", kind == Kind.SLICE ? "slice" : "one");
  }

  /** What the runtime maps; those of a slice are numbers of the companion's own namespace. */
  List<Map<String, Object>> mappings() {
    return switch (kind) {
      case NONE -> List.of();
      case RANGE -> List.of(mapping(0, base.orElseThrow(), IdRanges.RANGE));
      case SLICE -> List.of(mapping(0, 1, 1), mapping(1000, 2, 1), mapping(65_534, 3, 1));
      case ONE -> List.of(mapping(0, 0, 1));
    };
  }

  private static Map<String, Object> mapping(int inside, int outside, int size) {
    return Map.of("containerID", inside, "hostID", outside, "size", size);
  }

  /** Options of the file system of terminals: a group of theirs only where there is one. */
  List<String> terminalGroup() {
    return kind == Kind.NONE || kind == Kind.RANGE ? List.of("gid=5") : List.of();
  }

  /**
   * Options of a file system that belongs to commands. Where there is one id, the guest gives it
   * the number 1000 after the runtime mounted everything.
   */
  List<String> commandsOwn() {
    return kind == Kind.ONE ? List.of("uid=0", "gid=0") : List.of("uid=1000", "gid=1000");
  }

  /** What the guest is to know. */
  List<String> guestOptions() {
    return switch (kind) {
      case NONE, RANGE -> List.of();
      case SLICE -> List.of("--group", "1");
      case ONE -> List.of("--one-id", "1");
    };
  }

  /**
   * To cover its socket, and to leave for ids among which root has another number, the guest of one
   * id needs rights that it gives up by leaving.
   */
  List<String> capabilities(List<String> usual) {
    if (kind != Kind.ONE) {
      return usual;
    }
    var all = new ArrayList<>(usual);
    all.addAll(List.of("CAP_SYS_ADMIN", "CAP_SETFCAP"));
    return all;
  }
}
