package dev.carrel.engine.host;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.util.concurrent.locks.ReentrantLock;

/** What is done to one machine in a control group, one thing at a time. */
public final class Changes {
  private final Machine machine;
  private final ControlGroup group;
  private final ReentrantLock turn = new ReentrantLock();

  public Changes(Machine machine, ControlGroup group) {
    this.machine = machine;
    this.group = group;
  }

  /** For what a machine must live for, in a group that can be frozen. */
  public void make(String doing, Step step) {
    inTurn(
        doing,
        () -> {
          if (machine.death().isPresent()) {
            throw new SandboxException(
                ErrorCode.SANDBOX_GONE, doing + ": " + machine.id() + " is gone");
          }
          if (!group.freezes()) {
            throw new SandboxException(
                ErrorCode.NOT_SUPPORTED,
                doing + ": this host gives " + machine.id() + " no freezer");
          }
          step.run();
        });
  }

  /** For what is done to a dead one too. */
  public void inTurn(String doing, Step step) {
    turn.lock();
    try {
      step.run();
    } catch (IOException e) {
      throw failed(machine, doing, e);
    } finally {
      turn.unlock();
    }
  }

  public static SandboxException failed(Machine machine, String doing, IOException e) {
    return new SandboxException(
        ErrorCode.ENGINE_FAILED, doing + " " + machine.id() + ": " + e.getMessage(), e);
  }

  /** One thing that is done. */
  public interface Step {
    void run() throws IOException;
  }
}
