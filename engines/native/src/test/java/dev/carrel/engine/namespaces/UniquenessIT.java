package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.engine.testkit.MachineTests;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.Machine;
import dev.carrel.spi.Preload;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Kernels of one zygote in different sandboxes: everything that is meant to be random differs. */
@Timeout(180)
final class UniquenessIT extends MachineTests {
  private static final int FORKS = 20;
  private static final String SOURCES =
      """
      import multiprocessing.process, os, random, secrets, ssl, sys, tempfile, uuid
      show = lambda name, value: print(name, value)
      show('urandom', os.urandom(16).hex())
      show('uuid4', uuid.uuid4())
      show('uuid1', uuid.uuid1())
      show('random', random.random())
      show('own-random', random.Random().random())
      show('secrets', secrets.token_hex(16))
      show('tempfile', next(tempfile._get_candidate_names()))
      show('openssl', ssl.RAND_bytes(16).hex())
      show('multiprocessing', multiprocessing.process.current_process().authkey.hex())
      if 'numpy' in sys.modules:
          import numpy
          show('numpy', numpy.random.random())
          show('numpy-state', numpy.random.get_state()[1][:4].tolist())
          show('numpy-default', numpy.random.default_rng().random())
      """;

  @Override
  protected Engine openEngine(EngineSettings settings) {
    return new NativeEngineProvider().create(settings);
  }

  @Override
  protected boolean isolates() {
    return true;
  }

  @Test
  void nothingRandomIsTheSameInTwoSandboxes() {
    var values = new LinkedHashMap<String, Set<String>>();
    for (int i = 0; i < FORKS; i++) {
      Machine machine = start();
      try (WarmKernel kernel = WarmKernel.in(machine, Preload.DATA)) {
        kernel
            .run(SOURCES)
            .lines()
            .map(line -> line.split(" ", 2))
            .forEach(
                line -> values.computeIfAbsent(line[0], _ -> new LinkedHashSet<>()).add(line[1]));
      }
    }
    assertThat(values).containsKeys("urandom", "random", "tempfile", "openssl", "multiprocessing");
    for (Map.Entry<String, Set<String>> source : values.entrySet()) {
      assertThat(source.getValue()).as(source.getKey()).hasSize(FORKS);
    }
  }
}
