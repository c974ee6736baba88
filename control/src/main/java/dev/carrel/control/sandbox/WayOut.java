package dev.carrel.control.sandbox;

import dev.carrel.egress.Policy;
import dev.carrel.spi.SandboxId;
import java.nio.file.Path;
import java.util.Map;

/** The one way from a machine to the network, as the life of a sandbox needs it. */
public interface WayOut extends SandboxListener {
  /** The policy that is meant, or the present one when none is asked for. */
  Policy settle(CreateSandbox.Network asked, Policy now);

  /** Makes a machine's way out; it is shut. Returns the socket to give to the machine. */
  Path open(SandboxId id);

  /**
   * A machine's way out is now this sandbox's.
   *
   * @param fresh whether the sandbox never had a machine before
   */
  void begin(Sandbox sandbox, boolean fresh);

  /** What the sandbox may reach has changed. */
  void apply(Sandbox sandbox);

  /** What commands in every sandbox get to know beside the address of the proxy. */
  Map<String, String> environment();

  /** How many bytes went through it, both ways; compared before and after. */
  long moved(SandboxId id);

  void close(SandboxId id);

  @Override
  default void ended(SandboxId id) {
    close(id);
  }

  @Override
  default void removed(SandboxId id) {
    close(id);
  }
}
