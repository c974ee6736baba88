package dev.carrel.cli;

import dev.carrel.sdk.NetworkPolicy;
import dev.carrel.sdk.SandboxOptions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of every command that makes a sandbox. */
final class SandboxShape {
  @Option(
      names = "--image",
      paramLabel = "IMAGE",
      description = "Root file system (default: host).")
  private @Nullable String image;

  @Option(
      names = {"--engine", "--backend"},
      paramLabel = "NAME",
      completionCandidates = Choices.Engines.class,
      description = "Engine to use; see carrel doctor.")
  private @Nullable String engine;

  @Option(
      names = "--isolation",
      paramLabel = "STRENGTH",
      completionCandidates = Choices.Isolation.class,
      description = "The least to accept: none, namespaces or gvisor.")
  private @Nullable String isolation;

  @Option(names = "--memory", paramLabel = "MB", description = "Memory, without swap.")
  private @Nullable Long memory;

  @Option(names = "--cpu", paramLabel = "CORES", description = "CPU time in cores, such as 0.5.")
  private @Nullable Double cpu;

  @Option(names = "--disk", paramLabel = "MB", description = "Size of /workspace.")
  private @Nullable Long disk;

  @Option(names = "--pids", paramLabel = "N", description = "Processes and threads at most.")
  private @Nullable Integer pids;

  @Option(
      names = {"-e", "--env"},
      paramLabel = "NAME=VALUE",
      description = "Set a variable; may be repeated.")
  private Map<String, String> env = Map.of();

  @Option(
      names = "--isolated",
      description = "Start interpreters from scratch, never as a fork of a warm one.")
  private boolean isolated;

  @Option(
      names = "--rootfs",
      paramLabel = "KIND",
      completionCandidates = Choices.Rootfs.class,
      description = "read-only, or overlay: root inside, free to install and change anything.")
  private @Nullable String rootfs;

  @Option(
      names = "--namespace",
      paramLabel = "NAME",
      description = "Whose secrets and rules it has (default: default).")
  private @Nullable String namespace;

  @Option(
      names = "--allow",
      paramLabel = "RULE",
      description = "Let it reach a host, such as example.com or *.example.com:8443; repeatable.")
  private List<String> allow = List.of();

  @Option(
      names = "--preset",
      paramLabel = "NAME",
      completionCandidates = Choices.Presets.class,
      description = "Let it reach a set of hosts, such as packages or github; repeatable.")
  private Set<String> presets = Set.of();

  @Option(
      names = "--secret",
      paramLabel = "NAME",
      description = "Give all its processes this secret; may be repeated.")
  private List<String> secrets = List.of();

  SandboxOptions options() {
    return SandboxOptions.defaults()
        .withImage(image)
        .withEngine(engine)
        .withIsolation(isolation)
        .withMemoryMb(memory)
        .withCpuCores(cpu)
        .withDiskMb(disk)
        .withPids(pids)
        .withIsolated(isolated ? Boolean.TRUE : null)
        .withRootfs(rootfs)
        .withEnvVars(env)
        .withNamespace(namespace)
        .withNetwork(network())
        .withSecrets(secrets);
  }

  private @Nullable NetworkPolicy network() {
    return allow.isEmpty() && presets.isEmpty()
        ? null
        : NetworkPolicy.NOTHING.withAllow(allow).withPresets(presets);
  }
}
