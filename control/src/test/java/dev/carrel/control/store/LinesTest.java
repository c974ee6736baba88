package dev.carrel.control.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class LinesTest {
  @Test
  void anythingSurvives() {
    for (List<String> items :
        List.of(
            List.<String>of(),
            List.of(""),
            List.of("a", "", "b"),
            List.of("line\nline", "back\\slash", "\\n", "\\", "ü😀"))) {
      assertThat(Lines.toList(Lines.ofList(items))).isEqualTo(items);
    }
    Map<String, String> map = Map.of("a=b", "c\nd", "", "\\", "x", "");
    assertThat(Lines.toMap(Lines.ofMap(map))).isEqualTo(map);
  }
}
