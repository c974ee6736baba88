package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.Eventually;
import dev.carrel.engine.testkit.Finished;
import dev.carrel.guest.ExecSession;
import dev.carrel.guest.Guest;
import dev.carrel.guest.GuestEvent;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.KernelFork;
import dev.carrel.spi.Language;
import dev.carrel.spi.Machine;
import dev.carrel.spi.Preload;
import dev.carrel.spi.SandboxException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A Python kernel that a zygote forked into a machine; just enough of its protocol to run code. */
final class WarmKernel implements AutoCloseable {
  private static final int HEADER = 5;
  private static final int EXECUTE = 0x01;
  private static final int READY = 0x81;
  private static final int ERROR = 0x84;
  private static final int DONE = 0x85;

  private final ExecSession session;
  private final ByteArrayOutputStream output = new ByteArrayOutputStream();
  private ByteBuffer events = ByteBuffer.allocate(0);

  private WarmKernel(ExecSession session) {
    this.session = session;
  }

  /** Asks until a zygote is ready, as control does with every new context. */
  static WarmKernel in(Machine machine, Preload preload) {
    var exec = new ExecId[1];
    Eventually.holds(
        "a zygote with " + preload.wireName(),
        Duration.ofSeconds(60),
        () -> {
          exec[0] = ExecId.random();
          return machine.fork(request(exec[0], preload));
        });
    WarmKernel kernel = rejoin(machine, exec[0]);
    assertThat(kernel.comesTo(READY)).as("it gets ready").isTrue();
    return kernel;
  }

  /**
   * As {@link #in}, and asks again when what was to become a kernel ended on its way: a fork of a
   * zygote that has just been killed may still take a request with it.
   */
  static WarmKernel afterLoss(Machine machine, Preload preload) {
    var found = new ArrayList<WarmKernel>();
    Eventually.holds(
        "a kernel of another zygote",
        Duration.ofSeconds(60),
        () -> once(machine, preload).map(found::add).orElse(false));
    return found.getFirst();
  }

  /** Asks once; empty when there is no zygote, or what was to become a kernel ended on its way. */
  static Optional<WarmKernel> once(Machine machine, Preload preload) {
    var exec = ExecId.random();
    if (!machine.fork(request(exec, preload))) {
      return Optional.empty();
    }
    try {
      WarmKernel kernel = rejoin(machine, exec);
      return kernel.comesTo(READY) ? Optional.of(kernel) : Optional.empty();
    } catch (SandboxException e) {
      assertThat(e.code()).as(e.message()).isEqualTo(ErrorCode.EXEC_NOT_FOUND);
      return Optional.empty(); // it ended, and is forgotten
    }
  }

  static KernelFork request(ExecId exec, Preload preload) {
    return new KernelFork(exec, Language.PYTHON, preload, null, Finished.ENVIRONMENT);
  }

  /** One that has said that it is ready to somebody else. */
  static WarmKernel rejoin(Machine machine, ExecId exec) {
    return new WarmKernel(Guest.of(machine).attachAtEnd(exec));
  }

  ExecId exec() {
    return session.id();
  }

  ExecSession session() {
    return session;
  }

  /** What the code prints. */
  String run(String code) {
    byte[] text = code.getBytes(StandardCharsets.UTF_8);
    ByteBuffer frame =
        ByteBuffer.allocate(HEADER + 12 + text.length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(12 + text.length).put((byte) EXECUTE);
    frame.putInt(1).putInt(0).putInt(text.length).put(text);
    output.reset();
    session.control(frame.flip());
    assertThat(comesTo(DONE)).as("it finishes").isTrue();
    return output.toString(StandardCharsets.UTF_8);
  }

  /** False when it ended before. */
  private boolean comesTo(int wanted) {
    for (ByteBuffer event = nextEvent(); event != null; event = nextEvent()) {
      int type = event.get(HEADER - 1) & 0xFF;
      if (type == ERROR) {
        throw new AssertionError(StandardCharsets.UTF_8.decode(event).toString());
      }
      if (type == wanted) {
        return true;
      }
    }
    return false;
  }

  /** Null: it ended. */
  private @Nullable ByteBuffer nextEvent() {
    while (events.remaining() < HEADER
        || events.remaining() < HEADER + events.getInt(events.position())) {
      switch (session.next()) {
        case GuestEvent.Control(ByteBuffer bytes) -> {
          ByteBuffer joined =
              ByteBuffer.allocate(events.remaining() + bytes.remaining())
                  .order(ByteOrder.LITTLE_ENDIAN);
          events = joined.put(events).put(bytes).flip();
        }
        case GuestEvent.Output said ->
            output.write(said.bytes().array(), said.bytes().position(), said.bytes().remaining());
        case GuestEvent.Exited _ -> {
          return null;
        }
        case null -> {
          return null;
        }
        case GuestEvent.Started _, GuestEvent.Gap _ -> {}
      }
    }
    int length = HEADER + events.getInt(events.position());
    ByteBuffer event = events.slice(events.position(), length);
    events.position(events.position() + length);
    assertThat(event.remaining()).isEqualTo(length);
    return event;
  }

  @Override
  public void close() {
    session.close();
  }
}
