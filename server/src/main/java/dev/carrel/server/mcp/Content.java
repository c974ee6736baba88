package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** Blocks of content, as tools and prompts give them. */
public final class Content {
  private Content() {}

  public static ObjectNode text(String text) {
    return Protocol.object().put("type", "text").put("text", text);
  }

  public static ObjectNode image(String mime, String base64) {
    return Protocol.object().put("type", "image").put("data", base64).put("mimeType", mime);
  }

  public static ObjectNode audio(String mime, String base64) {
    return Protocol.object().put("type", "audio").put("data", base64).put("mimeType", mime);
  }

  /** What a client can read later. */
  public static ObjectNode link(String uri, String name, String mime, long size) {
    return Protocol.object()
        .put("type", "resource_link")
        .put("uri", uri)
        .put("name", name)
        .put("mimeType", mime)
        .put("size", size);
  }

  /** A resource with its text in it. */
  public static ObjectNode embedded(String uri, String mime, String text) {
    ObjectNode block = Protocol.object().put("type", "resource");
    block.set("resource", textOf(uri, mime, text));
    return block;
  }

  /** A resource with its bytes in it. */
  public static ObjectNode embeddedBlob(String uri, String mime, String base64) {
    ObjectNode block = Protocol.object().put("type", "resource");
    block.set("resource", blobOf(uri, mime, base64));
    return block;
  }

  /** As {@code resources/read} gives it. */
  public static ObjectNode textOf(String uri, String mime, String text) {
    return Protocol.object().put("uri", uri).put("mimeType", mime).put("text", text);
  }

  /** As {@code resources/read} gives it. */
  public static ObjectNode blobOf(String uri, String mime, String base64) {
    return Protocol.object().put("uri", uri).put("mimeType", mime).put("blob", base64);
  }
}
