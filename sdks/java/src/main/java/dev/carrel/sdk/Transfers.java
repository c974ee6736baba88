package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.io.FileNotFoundException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Files on their way into a sandbox and out of it. */
public final class Transfers {
  private static final TypeReference<ImportResult> IMPORTED = new TypeReference<>() {};
  private static final TypeReference<ExportResult> EXPORTED = new TypeReference<>() {};
  private static final TypeReference<Page> PAGE = new TypeReference<>() {};

  private record Page(List<ExportInfo> items) {}

  private final Transport transport;
  private final String path;

  Transfers(Transport transport, String path) {
    this.transport = transport;
    this.path = path;
  }

  /**
   * Brings files in, each for itself.
   *
   * @param files with the fields that the API describes, for example {@code url} and {@code
   *     destination}
   */
  public ImportResult importFiles(List<Map<String, Object>> files) {
    return transport.post(path + "/imports", Map.of("files", files), IMPORTED);
  }

  /**
   * Uploads a file, or the files in an archive.
   *
   * @param destination the file, or the folder to unpack to
   * @param unpack whether it is a zip or tar whose files are wanted
   */
  public ImportResult upload(Path file, String destination, boolean unpack)
      throws FileNotFoundException {
    String query = Transport.query(Map.of("path", destination, "unpack", Boolean.toString(unpack)));
    return transport.read(
        transport.send(
            transport
                .request(path + "/imports" + query)
                .header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofFile(file))),
        IMPORTED);
  }

  /**
   * Lets files and folders out.
   *
   * @param linkTime how long links are good; null: as long as the server says
   */
  public ExportResult export(List<String> paths, @Nullable Duration linkTime) {
    var body = new HashMap<String, Object>();
    body.put("paths", paths);
    if (linkTime != null) {
      body.put("expires_in_seconds", linkTime.toSeconds());
    }
    return transport.post(path + "/exports", body, EXPORTED);
  }

  /** What may leave, by path. */
  public List<ExportInfo> exports() {
    return transport.get(path + "/exports", PAGE).items();
  }

  /** Takes an export back; its links are good for nothing then. */
  public void removeExport(String id) {
    transport.delete(path + "/exports/" + Transport.encode(id));
  }
}
