package dev.carrel.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import dev.carrel.sdk.ImageLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What an image was built of as a file to be kept: one line for each package. */
final class ImageLockFile {
  private ImageLockFile() {}

  static String text(ImageLock lock) {
    var lines = new DefaultPrettyPrinter();
    lines.indentArraysWith(DefaultIndenter.SYSTEM_LINEFEED_INSTANCE);
    try {
      return Console.Json.MAPPER.writer(lines).writeValueAsString(lock) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not expressible as JSON", e);
    }
  }

  static ImageLock read(Path file) throws IOException {
    try {
      return Console.Json.MAPPER.readValue(Files.readAllBytes(file), ImageLock.class);
    } catch (JsonProcessingException e) {
      throw new CommandFailure(
          file + " is not what 'carrel images lock' writes: " + e.getOriginalMessage());
    }
  }
}
