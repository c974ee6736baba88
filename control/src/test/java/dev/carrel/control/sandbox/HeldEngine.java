package dev.carrel.control.sandbox;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A real engine whose starts can be held back, and which can fail in other ways. */
final class HeldEngine {
  private final AtomicInteger late = new AtomicInteger();
  private volatile CountDownLatch gate = new CountDownLatch(0);
  private volatile @Nullable Engine real;
  private volatile @Nullable Runnable losing;
  private volatile boolean endless;
  private volatile boolean silent;

  /** From now on no start comes to its end. */
  void holdStart() {
    gate = new CountDownLatch(1);
  }

  void release() {
    gate.countDown();
  }

  /**
   * From now on a pause does what it is to do and then says that it failed.
   *
   * @param meanwhile what happens in between
   */
  void loseAnswerOfPause(Runnable meanwhile) {
    losing = meanwhile;
  }

  /** From now on pauses are what they say. */
  void answerPauses() {
    losing = null;
  }

  /** From now on machines do not end, and nobody foresaw how they fail to. */
  void refuseEnds() {
    endless = true;
  }

  void allowEnds() {
    endless = false;
  }

  /** From now on it cannot be asked whether a machine lives. */
  void fallSilent() {
    silent = true;
  }

  void speakAgain() {
    silent = false;
  }

  /** Starts that came to their end after they had been held. */
  int lateStarts() {
    return late.get();
  }

  /** All that the engine keeps. */
  List<VolumeId> volumes() {
    return Objects.requireNonNull(real).volumes().orElseThrow().list();
  }

  Engine around(Engine engine) {
    real = engine;
    return new Engine() {
      @Override
      public String name() {
        return engine.name();
      }

      @Override
      public Capabilities capabilities() {
        return engine.capabilities();
      }

      @Override
      public Machine start(SandboxId id, MachineSpec spec) {
        boolean held = gate.getCount() > 0;
        await();
        Machine machine = engine.start(id, spec);
        if (held) {
          late.incrementAndGet();
        }
        return wrapped(machine);
      }

      @Override
      public Optional<Volumes> volumes() {
        return engine.volumes();
      }

      @Override
      public List<Machine> recover() {
        return engine.recover().stream().map(HeldEngine.this::wrapped).toList();
      }

      @Override
      public void close() {
        engine.close();
      }
    };
  }

  private Machine wrapped(Machine machine) {
    return (Machine)
        Proxy.newProxyInstance(
            Machine.class.getClassLoader(),
            new Class<?>[] {Machine.class},
            (_, method, arguments) -> called(machine, method, arguments));
  }

  private Object called(Machine machine, Method method, Object[] arguments) throws Throwable {
    if (endless && method.getName().equals("destroy")) {
      throw new IllegalStateException("broken");
    }
    if (silent && method.getName().equals("death")) {
      throw new SandboxException(ErrorCode.ENGINE_FAILED, "the engine does not answer");
    }
    try {
      Object result = method.invoke(machine, arguments);
      Runnable meanwhile = losing;
      if (meanwhile != null && method.getName().equals("pause")) {
        meanwhile.run();
        throw new SandboxException(ErrorCode.ENGINE_FAILED, "the answer was lost");
      }
      return result;
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private void await() {
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
