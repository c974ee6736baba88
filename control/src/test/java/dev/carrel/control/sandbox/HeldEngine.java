package dev.carrel.control.sandbox;

import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.VolumeId;
import dev.carrel.spi.Volumes;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A real engine whose starts can be held back. */
final class HeldEngine {
  private final AtomicInteger late = new AtomicInteger();
  private volatile CountDownLatch gate = new CountDownLatch(0);
  private volatile @Nullable Engine real;

  /** From now on no start comes to its end. */
  void holdStart() {
    gate = new CountDownLatch(1);
  }

  void release() {
    gate.countDown();
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
        return machine;
      }

      @Override
      public Optional<Volumes> volumes() {
        return engine.volumes();
      }

      @Override
      public List<Machine> recover() {
        return engine.recover();
      }

      @Override
      public void close() {
        engine.close();
      }
    };
  }

  private void await() {
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
