package dev.carrel.control.packages;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.web.HtmlTree;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * A page of a Python index: the files of one project, as HTML (PEP 503) or JSON (PEP 691). Only
 * where files are is changed in it; what they are called, their digests and what else is said of
 * them stays.
 */
final class IndexPage {
  static final String JSON = "application/vnd.pypi.simple.v1+json";
  static final String HTML = "application/vnd.pypi.simple.v1+html";
  private static final int DEEPEST = 32;
  private static final String FRAGMENT = "sha256=";
  private static final ObjectMapper MAPPER =
      new ObjectMapper(
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder().maxNestingDepth(DEEPEST).build())
              .build());

  private IndexPage() {}

  /**
   * The page with other places; empty when it cannot be read.
   *
   * @param from where it was found
   * @param place where a file is to be had instead; it may stay where it is
   */
  static Optional<byte[]> moved(
      String type, byte[] page, URI from, BiFunction<URI, FileDigest, String> place) {
    try {
      return Optional.of(
          isJson(type)
              ? json(page, from, place)
              : html(new String(page, StandardCharsets.UTF_8), from, place));
    } catch (IOException | URISyntaxException e) {
      return Optional.empty();
    }
  }

  static boolean isJson(String type) {
    return type.toLowerCase(Locale.ROOT).startsWith(JSON);
  }

  private static byte[] json(byte[] page, URI from, BiFunction<URI, FileDigest, String> place)
      throws IOException, URISyntaxException {
    JsonNode root = MAPPER.readTree(page);
    for (JsonNode one : root.path("files")) {
      if (!(one instanceof ObjectNode file) || !file.path("url").isTextual()) {
        throw new IOException("a file has no address");
      }
      URI address = from.resolve(new URI(file.get("url").textValue()));
      String sha256 = file.path("hashes").path("sha256").asText();
      Optional<FileDigest> digest = FileDigest.parse("sha256-" + sha256);
      file.put("url", digest.map(d -> place.apply(address, d)).orElse(address.toString()));
    }
    return MAPPER.writeValueAsBytes(root);
  }

  private static byte[] html(String page, URI from, BiFunction<URI, FileDigest, String> place)
      throws IOException, URISyntaxException {
    HtmlTree tree = HtmlTree.parse(page, "");
    if (tree.cut()) {
      throw new IOException("it is too large to be read");
    }
    Document document = tree.document();
    if (document.selectFirst("base") != null) {
      throw new IOException("its addresses begin somewhere else");
    }
    for (Element link : document.select("a[href]")) {
      URI whole = from.resolve(new URI(link.attr("href").strip()));
      String fragment = String.valueOf(whole.getRawFragment());
      Optional<FileDigest> digest =
          fragment.startsWith(FRAGMENT)
              ? FileDigest.parse("sha256-" + fragment.substring(FRAGMENT.length()))
              : Optional.empty();
      String address =
          digest
              .map(d -> place.apply(withoutFragment(whole), d) + "#" + fragment)
              .orElse(whole.toString());
      link.attr("href", address);
    }
    return document.outerHtml().getBytes(StandardCharsets.UTF_8);
  }

  private static URI withoutFragment(URI uri) {
    String text = uri.toString();
    return URI.create(text.substring(0, text.indexOf('#')));
  }
}
