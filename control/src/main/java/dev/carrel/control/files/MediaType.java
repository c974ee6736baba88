package dev.carrel.control.files;

import java.util.Locale;
import java.util.Map;

/** What a file is, by its name alone. */
public final class MediaType {
  private static final String UNKNOWN = "application/octet-stream";
  private static final Map<String, String> BY_EXTENSION =
      Map.ofEntries(
          Map.entry("txt", "text/plain; charset=utf-8"),
          Map.entry("log", "text/plain; charset=utf-8"),
          Map.entry("md", "text/markdown; charset=utf-8"),
          Map.entry("csv", "text/csv; charset=utf-8"),
          Map.entry("html", "text/html; charset=utf-8"),
          Map.entry("htm", "text/html; charset=utf-8"),
          Map.entry("css", "text/css; charset=utf-8"),
          Map.entry("js", "text/javascript; charset=utf-8"),
          Map.entry("py", "text/x-python; charset=utf-8"),
          Map.entry("sh", "text/x-shellscript; charset=utf-8"),
          Map.entry("json", "application/json"),
          Map.entry("ipynb", "application/json"),
          Map.entry("xml", "application/xml"),
          Map.entry("yaml", "application/yaml"),
          Map.entry("yml", "application/yaml"),
          Map.entry("pdf", "application/pdf"),
          Map.entry("zip", "application/zip"),
          Map.entry("gz", "application/gzip"),
          Map.entry("tar", "application/x-tar"),
          Map.entry("parquet", "application/vnd.apache.parquet"),
          Map.entry("png", "image/png"),
          Map.entry("jpg", "image/jpeg"),
          Map.entry("jpeg", "image/jpeg"),
          Map.entry("gif", "image/gif"),
          Map.entry("webp", "image/webp"),
          Map.entry("svg", "image/svg+xml"),
          Map.entry("wav", "audio/wav"),
          Map.entry("mp3", "audio/mpeg"),
          Map.entry("ogg", "audio/ogg"),
          Map.entry("mp4", "video/mp4"),
          Map.entry("webm", "video/webm"));

  private MediaType() {}

  /** With its character set, if it is text. */
  public static String of(String name) {
    int dot = name.lastIndexOf('.');
    String extension = dot < 0 ? "" : name.substring(dot + 1).toLowerCase(Locale.ROOT);
    return BY_EXTENSION.getOrDefault(extension, UNKNOWN);
  }

  /** The type alone. */
  public static String bare(String name) {
    String type = of(name);
    int parameters = type.indexOf(';');
    return parameters < 0 ? type : type.substring(0, parameters);
  }
}
