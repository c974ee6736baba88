package dev.carrel.control.context;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.control.sandbox.RunningSandbox;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Which contexts can get a fork of an interpreter that knew nothing of them. */
final class KernelStartsTest {
  @Test
  void whatEverySandboxHasIsNoHindrance() {
    assertThat(KernelStarts.forkable(RunningSandbox.usualEnvironment())).isTrue();
    assertThat(KernelStarts.forkable(usualAnd("TOKEN", "x"))).isTrue();
    assertThat(KernelStarts.forkable(usualAnd("HOME", "/tmp"))).isTrue();
  }

  @Test
  void whatIsReadAtTheStartIs() {
    for (String name :
        new String[] {"PYTHONPATH", "PYTHONHASHSEED", "LD_PRELOAD", "LC_ALL", "TZ", "PATH"}) {
      assertThat(KernelStarts.forkable(usualAnd(name, "/another"))).as(name).isFalse();
    }
    assertThat(KernelStarts.forkable(usualAnd("LANG", "de_DE.UTF-8"))).isFalse();
    assertThat(KernelStarts.forkable(usualAnd("OPENBLAS_NUM_THREADS", "2"))).isFalse();
  }

  private static Map<String, String> usualAnd(String name, String value) {
    var environment = new HashMap<>(RunningSandbox.usualEnvironment());
    environment.put(name, value);
    return environment;
  }
}
