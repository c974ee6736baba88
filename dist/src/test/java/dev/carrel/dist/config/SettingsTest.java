package dev.carrel.dist.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.carrel.spi.DataSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SettingsTest {
  @TempDir private Path folder;

  @Test
  void flagsWinOverVariablesAndThoseOverTheFile() throws IOException {
    Path file = Files.writeString(folder.resolve("f"), "a.x=file\na.y=file\na.z=file\n");
    Settings settings =
        Settings.of(
            Optional.of(file),
            Map.of("CARREL_A_Y", "variable", "CARREL_A_Z", "variable"),
            Map.of("a.z", "flag"));

    assertThat(settings.text("a.x", "")).isEqualTo("file");
    assertThat(settings.text("a.y", "")).isEqualTo("variable");
    assertThat(settings.text("a.z", "")).isEqualTo("flag");
  }

  @Test
  void unknownKeyIsNamedWithItsPlaceAndTheNearestKnownOne() {
    Settings settings = flags("exec.default-timout", "3s");
    settings.duration("exec.default-timeout", Duration.ZERO);

    assertThatThrownBy(settings::requireAllKnown)
        .isInstanceOf(ConfigurationException.class)
        .hasMessageContaining("exec.default-timout")
        .hasMessageContaining("the command line")
        .hasMessageContaining("did you mean 'exec.default-timeout'?");
  }

  @Test
  void unknownVariableOfAKnownSectionStopsTheStart() {
    Settings settings = Settings.of(Optional.empty(), Map.of("CARREL_SERVER_PROT", "1"), Map.of());
    settings.number("server.port", 0, 0, 1);

    assertThatThrownBy(settings::requireAllKnown).hasMessageContaining("CARREL_SERVER_PROT");
  }

  @Test
  void variablesOfNoSectionAreSomebodyElses() {
    Settings settings = Settings.of(Optional.empty(), Map.of("CARREL_SERVICE_HOST", "1"), Map.of());
    settings.number("server.port", 0, 0, 1);

    settings.requireAllKnown();
    assertThat(settings.knownKeys()).containsOnly(Map.entry("server.port", "0"));
  }

  @Test
  void valuesOfTheWrongFormNameKeyFormAndPlace() {
    assertThatThrownBy(() -> flags("a.b", "soon").duration("a.b", Duration.ZERO))
        .hasMessage(
            "a.b must be a duration such as 500ms, 30s, 10m, 2h or 1d, but is 'soon' in the command line");
    assertThatThrownBy(() -> flags("a.b", "70000").number("a.b", 1, 0, 65_535))
        .hasMessageContaining("a whole number from 0 to 65535");
    assertThatThrownBy(() -> flags("a.b", "maybe").flag("a.b", true))
        .hasMessageContaining("true or false");
    assertThatThrownBy(() -> flags("a.b", "9999999999GiB").size("a.b", new DataSize(1)))
        .isInstanceOf(ConfigurationException.class);
  }

  @Test
  void formsAreRead() {
    assertThat(flags("k", "250ms").duration("k", Duration.ZERO)).isEqualTo(Duration.ofMillis(250));
    assertThat(flags("k", "2h").duration("k", Duration.ZERO)).isEqualTo(Duration.ofHours(2));
    assertThat(flags("k", "64KiB").size("k", new DataSize(0))).isEqualTo(new DataSize(65_536));
    assertThat(flags("k", "7").size("k", new DataSize(0))).isEqualTo(new DataSize(7));
    assertThat(flags("k", "a, b  c").list("k", List.of())).containsExactly("a", "b", "c");
    assertThat(flags("k", "off").flag("k", true)).isFalse();
    assertThat(flags("k", "0.5").decimal("k", 1, 0, 2)).isEqualTo(0.5);
    assertThat(flags("k", "").path("k")).isEmpty();
    assertThat(flags("k", "/a/../b").path("k")).hasValue(Path.of("/b"));
    assertThat(flags("k", "json").choice("k", LogConfig.Format.TEXT))
        .isEqualTo(LogConfig.Format.JSON);
  }

  private static Settings flags(String key, String value) {
    return Settings.of(Optional.empty(), Map.of(), Map.of(key, value));
  }
}
