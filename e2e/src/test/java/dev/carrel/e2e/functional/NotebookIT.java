package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Box;
import dev.carrel.e2e.Carrel;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.stream.StreamSupport;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Cells of one notebook on the image {@code data-science}, as it is built from the catalog. */
@ExtendWith(Carrel.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(1500)
class NotebookIT {
  private static final int GREEN = 0x00ff00;

  private Box box;

  @BeforeAll
  void build(Api api) {
    Api.Answer told = api.events("/api/v1/images/build", "{\"name\":\"data-science\"}");
    assertThat(told.status()).as(told.text()).isEqualTo(200);
    assertThat(told.text()).contains("event: progress", "event: image", "\"status\":\"ready\"");
    box = api.create("{\"image\":\"data-science\",\"memory_mb\":1024}");
  }

  @AfterAll
  void end() {
    if (box != null) {
      box.close();
    }
  }

  @Test
  void allThatTheImagePromisesIsThere() {
    cell("import IPython, matplotlib, numpy, pandas, plotly, scipy, sklearn");
    cell("frame = pandas.DataFrame({'x': numpy.arange(5), 'y': numpy.arange(5) ** 2})");
    JsonNode table = cell("frame.describe()").get("result");
    assertThat(table.get("text/html").asText()).contains("<table", "std");
    JsonNode fit =
        cell(
            """
            from sklearn.linear_model import LinearRegression
            round(LinearRegression().fit([[0], [1]], [1, 3]).predict([[2]])[0], 6)
            """);
    assertThat(fit.at("/result/text~1plain").asText()).contains("5.0");
  }

  @Test
  void aMatplotlibChartIsSeenAndKeptAsPng() throws IOException {
    cell("import matplotlib.pyplot as plt");
    JsonNode drawn =
        cell(
            """
            figure, axes = plt.subplots(figsize=(4, 3), dpi=100)
            axes.bar(['a', 'b'], [1, 2], color='#00ff00')
            plt.show()
            """);
    String shown = only(drawn, "image/png");
    BufferedImage chart = png(Base64.getDecoder().decode(shown));
    assertThat(pixels(chart, GREEN)).isGreaterThan(chart.getWidth() * chart.getHeight() / 10);

    cell("figure.savefig('bars.png')");
    BufferedImage kept = png(box.file("bars.png").body());
    assertThat(List.of(kept.getWidth(), kept.getHeight())).containsExactly(400, 300);
    assertThat(pixels(kept, GREEN)).isGreaterThan(400 * 300 / 10);
    assertThat(cell("plt.show()").get("display_outputs")).as("shown once").isEmpty();
  }

  @Test
  void aPlotlyChartIsSeenAndKeptAsHtml() {
    cell("import plotly.express as px");
    JsonNode value = cell("chart = px.line(x=[1, 2, 3], y=[5, 7, 11], title='Primes')\nchart");
    assertPage(value.at("/result/text~1html").asText());

    assertPage(only(cell("chart.show()"), "text/html"));

    cell("chart.write_html('primes.html')");
    assertPage(box.file("primes.html").text());
  }

  private JsonNode cell(String code) {
    JsonNode result = box.code("python", code, 80);
    assertThat(result.get("success").asBoolean()).as(code + "\n" + result).isTrue();
    assertThat(result.get("stderr").asText()).as(code).isEmpty();
    return result;
  }

  private static String only(JsonNode result, String type) {
    List<String> found =
        StreamSupport.stream(result.get("display_outputs").spliterator(), false)
            .filter(output -> output.get("type").asText().equals(type))
            .map(output -> output.get("data").asText())
            .toList();
    assertThat(found).hasSize(1);
    return found.getFirst();
  }

  private static BufferedImage png(byte[] bytes) throws IOException {
    assertThat(new String(bytes, 0, 8, StandardCharsets.ISO_8859_1)).startsWith("\u0089PNG");
    return ImageIO.read(new ByteArrayInputStream(bytes));
  }

  private static long pixels(BufferedImage image, int color) {
    int[] all = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth());
    long found = 0;
    for (int one : all) {
      if ((one & 0xffffff) == color) {
        found++;
      }
    }
    return found;
  }

  /** The chart's data, and all that draws it: a page that asks no other host for anything. */
  private static void assertPage(String html) {
    assertThat(html.length()).isGreaterThan(1_000_000);
    assertThat(html.strip()).startsWith("<html").endsWith("</html>");
    assertThat(html)
        .contains("plotly.js v", "Plotly.newPlot", "\"Primes\"", "\"y\":[5,7,11]")
        .doesNotContainPattern("<script[^>]+src=");
  }
}
