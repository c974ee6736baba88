package dev.carrel.sdk;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ErrorCodeTest {
  private static final Pattern CODES = Pattern.compile("enum: \\[(invalid_input[^\\]]*)\\]");

  @Test
  void everyCodeOfTheContractIsKnown() throws IOException {
    Path root = Path.of(System.getProperty("carrel.root", "../.."));
    Matcher codes = CODES.matcher(Files.readString(root.resolve("spec/openapi.yaml")));
    assertThat(codes.find()).isTrue();

    assertThat(Arrays.stream(codes.group(1).split(",", -1)).map(String::strip))
        .allSatisfy(code -> assertThat(ErrorCode.parse(code)).isNotEqualTo(ErrorCode.UNKNOWN));
  }
}
