package dev.carrel.e2e.chaos;

import dev.carrel.engine.testkit.Leftovers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What sandboxes have left on the host, found by their ids and by the folder of their server. */
final class Residue {
  /** Of sandboxes, volumes, snapshots, execs and contexts. */
  static final Pattern ID = Pattern.compile("(sb|vo|sn|ex|cx)[a-z2-7]{14}");

  private static final Pattern OWN_NAME = Pattern.compile(ID.pattern() + "(\\..*)?");
  private static final Path ID_REGISTRY = Path.of("/run/carrel-ids");

  /** By design: a repeated DELETE is told apart from a wrong id for a while. */
  private static final Set<String> TOMBSTONES = Set.of("deleted_sandbox", "audit");

  private Residue() {}

  /** Everything but rows; the server may be running. */
  static List<String> onHost(Set<String> ids, Path folder) throws IOException {
    List<String> found = new ArrayList<>(Leftovers.of(ids, folder));
    ProcessHandle.allProcesses()
        .filter(process -> ids.stream().anyMatch(cgroups(process.pid())::contains))
        .forEach(process -> found.add("process in a cgroup: " + commandLine(process.pid())));
    found.addAll(loopDevices(folder));
    found.addAll(idSlots(folder));
    try (Stream<Path> paths = Files.walk(folder)) {
      paths
          .filter(path -> OWN_NAME.matcher(path.getFileName().toString()).matches())
          .forEach(path -> found.add("path " + path));
    }
    return found;
  }

  /** The volumes that a server of this folder keeps. */
  static List<String> volumes(Path folder) {
    String[] names = folder.resolve("data/volumes").toFile().list();
    return names == null
        ? List.of()
        : Stream.of(names).filter(name -> OWN_NAME.matcher(name).matches()).toList();
  }

  /** Rows of any table that name one of the sandboxes; the server must have ended. */
  static List<String> inStore(Set<String> ids, Path database) throws SQLException {
    List<String> found = new ArrayList<>();
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + database);
        Statement statement = connection.createStatement()) {
      for (String table : tables(statement)) {
        try (ResultSet rows = statement.executeQuery("SELECT * FROM \"" + table + "\"")) {
          int columns = rows.getMetaData().getColumnCount();
          while (rows.next()) {
            for (int i = 1; i <= columns; i++) {
              if (ids.contains(String.valueOf(rows.getString(i)))) {
                found.add("row of " + table + " with " + rows.getString(i));
              }
            }
          }
        }
      }
    }
    return found;
  }

  static String commandLine(long pid) {
    return read(Path.of("/proc", String.valueOf(pid), "cmdline")).replace('\0', ' ');
  }

  private static List<String> tables(Statement statement) throws SQLException {
    List<String> names = new ArrayList<>();
    try (ResultSet rows =
        statement.executeQuery("SELECT name FROM sqlite_master WHERE type = 'table'")) {
      while (rows.next()) {
        if (!TOMBSTONES.contains(rows.getString(1))) {
          names.add(rows.getString(1));
        }
      }
    }
    return names;
  }

  private static List<String> loopDevices(Path folder) throws IOException {
    try (Stream<Path> devices = Files.list(Path.of("/sys/block"))) {
      return devices
          .filter(path -> read(path.resolve("loop/backing_file")).startsWith(folder.toString()))
          .map(path -> "loop device " + path.getFileName())
          .toList();
    }
  }

  /** Stretches of user ids that are still given to sandboxes of this folder. */
  private static List<String> idSlots(Path folder) throws IOException {
    List<Path> owners = new ArrayList<>();
    for (String record : read(ID_REGISTRY.resolve("slots")).split("\0+", -1)) {
      owners.add(Path.of(record));
    }
    if (Files.isDirectory(ID_REGISTRY)) {
      try (Stream<Path> links = Files.list(ID_REGISTRY).filter(Files::isSymbolicLink)) {
        for (Path link : links.toList()) {
          owners.add(Files.readSymbolicLink(link));
        }
      }
    }
    return owners.stream()
        // Others belong to what the spawn server keeps as long as it lives.
        .filter(
            owner ->
                owner.startsWith(folder) && ID.matcher(owner.getFileName().toString()).matches())
        .map(owner -> "id slot of " + owner)
        .toList();
  }

  private static String cgroups(long pid) {
    return read(Path.of("/proc", String.valueOf(pid), "cgroup"));
  }

  /** Empty when it is gone: processes and devices come and go while we look. */
  private static String read(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    } catch (IOException gone) {
      return "";
    }
  }
}
