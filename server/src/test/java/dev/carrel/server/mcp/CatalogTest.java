package dev.carrel.server.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.server.mcp.Catalog.Listening;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CatalogTest {
  private final Catalog catalog =
      new Catalog(Map.of(), Set.of(), List.of(), List.of(), List.of(), Set.of(), "");
  private int begun;
  private int ended;

  @Test
  void nobodyLooksForNewsWhileNobodyListens() {
    catalog.reportedBy(this::report);
    assertThat(begun).isZero();

    Listening first = catalog.listen("default", _ -> {});
    Listening second = catalog.listen("other", _ -> {});
    assertThat(begun).isEqualTo(1);

    first.close();
    first.close();
    assertThat(ended).isZero();
    second.close();
    assertThat(ended).isEqualTo(1);

    catalog.listen("default", _ -> {});
    assertThat(begun).isEqualTo(2);
  }

  @Test
  void whoIsNoReporterAnyMoreIsEndedAndNotBegunAgain() {
    Listening reporting = catalog.reportedBy(this::report);
    catalog.listen("default", _ -> {});
    reporting.close();
    assertThat(ended).isEqualTo(1);

    catalog.listen("default", _ -> {});
    assertThat(begun).isEqualTo(1);
  }

  @Test
  void whoListensAlreadyIsReportedTo() {
    catalog.listen("default", _ -> {});
    catalog.reportedBy(this::report);
    assertThat(begun).isEqualTo(1);
  }

  private Listening report() {
    begun++;
    return () -> ended++;
  }
}
