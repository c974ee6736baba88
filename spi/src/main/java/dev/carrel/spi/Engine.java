package dev.carrel.spi;

import java.util.List;
import java.util.Optional;

/**
 * Starts isolated machines and reaches the guest inside them. An engine never runs a command: that
 * is the guest's work, and it is the same under every engine.
 *
 * <p>Safe for many threads. Calls block. Closing leaves the machines running.
 */
// Every method here is written once per engine: add one only when two engines need it.
public interface Engine extends AutoCloseable {
  /** As in configuration and on the wire, for example {@code native}. */
  String name();

  /**
   * What this engine can do on this host and what stands in the way. Measured once, cheap
   * afterwards.
   */
  Capabilities capabilities();

  /**
   * Returns once the guest answers. Leaves nothing behind when it throws.
   *
   * @throws SandboxException {@code ENGINE_FAILED} with the step that failed, or {@code
   *     ISOLATION_NOT_AVAILABLE}
   */
  Machine start(SandboxId id, MachineSpec spec);

  /**
   * Prepares warm interpreters for {@link Machine#fork}, where the engine has them; returns at
   * once.
   */
  default void warm(RootImage image, Language language, Preload preload) {}

  /** The files that outlive machines; empty where this engine cannot keep any on this host. */
  default Optional<Volumes> volumes() {
    return Optional.empty();
  }

  /**
   * Why machines cannot have {@link Rootfs#OVERLAY} here, and what to do about it; empty: they can.
   * Measured when first asked.
   */
  default Optional<String> overlayProblem() {
    return Optional.of(
        "engine '%s' has read-only roots only: use engine native, runc, crun or runsc for rootfs overlay"
            .formatted(name()));
  }

  /**
   * The machines that an earlier server process started and that still run. Those that died
   * meanwhile are among them where the engine can tell of what, and are the caller's to destroy;
   * remains of others are swept.
   */
  List<Machine> recover();

  @Override
  void close();
}
