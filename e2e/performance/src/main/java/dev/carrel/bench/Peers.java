package dev.carrel.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** What others need for the same: {@code runc} and, when an engine answers, {@code docker}. */
final class Peers {
  static final String RUNC_RUN = "peer: runc run true";
  static final String RUNC_EXEC = "peer: runc exec true";
  static final String DOCKER_RUN = "peer: docker run true";
  static final String DOCKER_EXEC = "peer: docker exec true";

  private static final String GROUP = "carrel-bench";
  private static final List<String> HOST_FOLDERS = List.of("usr", "bin", "sbin", "lib", "lib64");

  private Peers() {}

  static void measure(Report report, Path scratch, int count) throws Exception {
    Optional<Path> runc = Processes.find("runc");
    if (runc.isEmpty()) {
      report.notRun("runc", "not installed (apt-get install runc)");
    } else if (!System.getProperty("user.name").equals("root")) {
      report.notRun("runc", "needs root for the same hardening");
    } else {
      runc(report, runc.get().toString(), scratch, count);
    }
    String docker = dockerProblem();
    if (docker.isEmpty()) {
      docker(report, scratch, count);
    } else {
      report.notRun("docker", docker);
    }
  }

  private static void runc(Report report, String runc, Path scratch, int count) throws Exception {
    Path bundle = bundle(runc, scratch, List.of("/bin/true"), "run");
    String root = scratch.resolve("runc").toString();
    var name =
        new Object() {
          int next;
        };
    report.add(
        Row.floor(
            RUNC_RUN,
            Samples.time(
                count,
                0,
                () ->
                    Processes.run(
                        List.of(
                            runc,
                            "--root",
                            root,
                            "run",
                            "--bundle",
                            bundle.toString(),
                            "carrel-bench-" + name.next++)))));
    Path sleeper = bundle(runc, scratch, List.of("/bin/sleep", "120"), "exec");
    // Not Processes.run: the detached container would hold its end of the output pipe open.
    new ProcessBuilder(
            runc,
            "--root",
            root,
            "run",
            "--detach",
            "--bundle",
            sleeper.toString(),
            "carrel-bench-exec")
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor(10, TimeUnit.SECONDS);
    try {
      List<String> exec = List.of(runc, "--root", root, "exec", "carrel-bench-exec", "/bin/true");
      report.add(Row.floor(RUNC_EXEC, Samples.time(count, 0, () -> Processes.run(exec))));
    } finally {
      Processes.run(List.of(runc, "--root", root, "delete", "--force", "carrel-bench-exec"));
      removeGroups();
    }
  }

  /** runc removes a container's groups and leaves the one above them. */
  private static void removeGroups() throws IOException {
    Path groups = Path.of("/sys/fs/cgroup");
    Files.deleteIfExists(groups.resolve(GROUP));
    try (Stream<Path> hierarchies = Files.list(groups)) {
      for (Path hierarchy : hierarchies.filter(Files::isDirectory).toList()) {
        Files.deleteIfExists(hierarchy.resolve(GROUP));
      }
    }
  }

  private static Path bundle(String runc, Path scratch, List<String> command, String name)
      throws Exception {
    Path bundle = Files.createDirectories(scratch.resolve("bundle-" + name));
    Path rootfs = Files.createDirectories(bundle.resolve("rootfs"));
    Processes.run(List.of(runc, "spec", "--bundle", bundle.toString()));
    ObjectMapper json = new ObjectMapper();
    ObjectNode spec = (ObjectNode) json.readTree(bundle.resolve("config.json").toFile());
    ObjectNode process = (ObjectNode) spec.get("process");
    process.put("terminal", false);
    ArrayNode arguments = process.putArray("args");
    command.forEach(arguments::add);
    ArrayNode mounts = (ArrayNode) spec.get("mounts");
    for (String folder : HOST_FOLDERS) {
      Path source = Path.of("/", folder);
      if (Files.isSymbolicLink(source)) {
        Files.createSymbolicLink(rootfs.resolve(folder), Files.readSymbolicLink(source));
      } else if (Files.isDirectory(source)) {
        ObjectNode mount =
            mounts
                .addObject()
                .put("destination", "/" + folder)
                .put("type", "bind")
                .put("source", "/" + folder);
        mount.putArray("options").add("rbind").add("ro");
      }
    }
    ObjectNode linux = (ObjectNode) spec.get("linux");
    linux.put("cgroupsPath", "/" + GROUP + "/" + name);
    linux.withObject("/resources").putObject("memory").put("limit", 512L << 20);
    linux.withObject("/resources").putObject("pids").put("limit", 512);
    json.writeValue(bundle.resolve("config.json").toFile(), spec);
    return bundle;
  }

  private static String dockerProblem() throws InterruptedException {
    if (Processes.find("docker").isEmpty()) {
      return "not installed";
    }
    try {
      Processes.run(List.of("docker", "version", "--format", "{{.Server.Version}}"));
      return "";
    } catch (IOException noEngine) {
      return "no engine answers (set DOCKER_HOST, or start one)";
    }
  }

  private static void docker(Report report, Path scratch, int count) throws Exception {
    Path folder = Files.createDirectories(scratch.resolve("docker"));
    Path source = folder.resolve("wait.c");
    Files.writeString(
        source,
        "#include <unistd.h>\nint main(int c, char **v) { (void)v; if (c > 1) for (;;) pause(); return 0; }\n");
    Processes.run(
        List.of(
            "cc", "-static", "-O2", "-o", folder.resolve("true").toString(), source.toString()));
    Path archive = folder.resolve("image.tar");
    Processes.run(List.of("tar", "-C", folder.toString(), "-cf", archive.toString(), "true"));
    String image = "carrel-bench:latest";
    Processes.run(List.of("docker", "import", archive.toString(), image));
    List<String> run = new ArrayList<>(List.of("docker", "run", "--network", "none"));
    try {
      List<String> once = new ArrayList<>(run);
      once.addAll(List.of("--rm", image, "/true"));
      report.add(
          Row.floor(DOCKER_RUN, Samples.time(Math.min(count, 20), 0, () -> Processes.run(once))));
      run.addAll(List.of("--detach", "--name", "carrel-bench", image, "/true", "wait"));
      Processes.run(run);
      List<String> exec = List.of("docker", "exec", "carrel-bench", "/true");
      report.add(
          Row.floor(DOCKER_EXEC, Samples.time(Math.min(count, 20), 0, () -> Processes.run(exec))));
    } finally {
      new ProcessBuilder("docker", "rm", "--force", "carrel-bench")
          .start()
          .waitFor(30, TimeUnit.SECONDS);
      new ProcessBuilder("docker", "rmi", image).start().waitFor(30, TimeUnit.SECONDS);
    }
  }
}
