package dev.carrel.control.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.ControlFixture;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Isolation;
import dev.carrel.spi.Machine;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With the one engine that every machine has: the one that must never be chosen by itself. */
final class EnginesTest {
  private static final Path LIB = Path.of(System.getProperty("carrel.lib"));

  @TempDir Path run;

  @Test
  void withoutIsolationNothingIsChosenByItself() {
    Engines engines = engines(SandboxSettings.AUTO, Set.of("process", "native"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engines.choose(null, null))
        .matches(e -> e.code() == ErrorCode.ENGINE_NOT_AVAILABLE)
        .matches(e -> e.hint().orElse("").contains("carrel doctor"));
    assertThat(engines.choose("process", null).name()).isEqualTo("process");
  }

  @Test
  void aNamedEngineMustBeAllowedToo() {
    Engines engines = engines(SandboxSettings.AUTO, Set.of("native"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engines.choose("process", null))
        .matches(e -> e.code() == ErrorCode.ENGINE_NOT_AVAILABLE)
        .matches(e -> e.hint().orElse("").contains("engine.allowed"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engines.choose("docker", null))
        .withMessageContaining("there is no 'docker'");
  }

  @Test
  void lessIsolationThanAskedForIsAnError() {
    Engines engines = engines("process", Set.of("process"));
    assertThat(engines.choose(null, Isolation.Strength.NONE).name()).isEqualTo("process");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engines.choose(null, Isolation.Strength.NAMESPACES))
        .matches(e -> e.code() == ErrorCode.ISOLATION_NOT_AVAILABLE)
        .withMessageContaining("gives none, not namespaces");
  }

  @Test
  void theCheapestThatIsStrongEnoughIsChosenAndNeverAWeakerOne() {
    Engine strong = new GivenEngine("runsc", Isolation.Strength.GVISOR);
    Engine quick = new GivenEngine("native", Isolation.Strength.NAMESPACES);
    var settings =
        SandboxSettings.defaults().withEngines(SandboxSettings.AUTO, Set.of("native", "runsc"));
    var both = new Engines(List.of(strong, quick), settings);
    assertThat(both.choose(null, null)).isSameAs(quick);
    assertThat(both.choose(null, Isolation.Strength.NAMESPACES)).isSameAs(quick);
    assertThat(both.choose(null, Isolation.Strength.GVISOR)).isSameAs(strong);
    assertThat(both.usual()).isEqualTo("native");

    var one = new Engines(List.of(quick), settings);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> one.choose(null, Isolation.Strength.GVISOR))
        .matches(e -> e.code() == ErrorCode.ISOLATION_NOT_AVAILABLE)
        .withMessageContaining("gvisor");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> both.choose("native", Isolation.Strength.GVISOR))
        .matches(e -> e.code() == ErrorCode.ISOLATION_NOT_AVAILABLE)
        .matches(e -> e.hint().orElse("").contains("runsc"));
  }

  /** An engine that only says how strong it is. */
  private record GivenEngine(String name, Isolation.Strength strength) implements Engine {
    @Override
    public Capabilities capabilities() {
      return new Capabilities(name, "given", true, new Isolation(strength, List.of()), List.of());
    }

    @Override
    public Machine start(SandboxId id, MachineSpec spec) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<Machine> recover() {
      return List.of();
    }

    @Override
    public void close() {}
  }

  @Test
  void whereNothingIsolatesOneReasonIsToldAndNotAllOfThem() {
    var settings =
        SandboxSettings.defaults()
            .withEngines(SandboxSettings.AUTO, Set.of("native", "runc", "crun"));
    var engines =
        new Engines(
            List.of(new BrokenEngine("native"), new BrokenEngine("runc"), new BrokenEngine("crun")),
            settings);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engines.choose(null, null))
        .matches(e -> e.hint().orElse("").contains("carrel doctor"))
        .withMessage(
            "no engine on this host can isolate a sandbox: native: not root (and 2 more);"
                + " nor can runc and crun");
  }

  /** An engine that lacks three things. */
  private record BrokenEngine(String name) implements Engine {
    @Override
    public Capabilities capabilities() {
      return new Capabilities(
          name,
          "broken",
          false,
          new Isolation(Isolation.Strength.NONE, List.of()),
          List.of("not root", "no ids", "no groups"));
    }

    @Override
    public Machine start(SandboxId id, MachineSpec spec) {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<Machine> recover() {
      return List.of();
    }

    @Override
    public void close() {}
  }

  @Test
  void anEngineThatCannotWorkSaysWhy() {
    Engine broken = ControlFixture.engine("process", run, Path.of("/nonexistent"));
    var engines =
        new Engines(
            List.of(broken), SandboxSettings.defaults().withEngines("process", Set.of("process")));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> engines.choose(null, null))
        .matches(e -> e.code() == ErrorCode.ENGINE_NOT_AVAILABLE)
        .withMessageContaining("/nonexistent/guest");
  }

  private Engines engines(String usual, Set<String> allowed) {
    return new Engines(
        List.of(ControlFixture.engine("process", run, LIB)),
        SandboxSettings.defaults().withEngines(usual, allowed));
  }
}
