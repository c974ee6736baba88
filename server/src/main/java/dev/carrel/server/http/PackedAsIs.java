package dev.carrel.server.http;

import io.helidon.http.encoding.ContentDecoder;
import io.helidon.http.encoding.ContentEncoder;
import io.helidon.http.encoding.ContentEncoding;
import java.util.Set;

/**
 * Lets packed bodies in as they are: the one route that takes them unpacks them itself, with
 * bounds. (Without this Helidon refuses the request.)
 */
public final class PackedAsIs implements ContentEncoding {
  private static final String GZIP = "gzip";

  @Override
  public Set<String> ids() {
    return Set.of(GZIP);
  }

  @Override
  public boolean supportsEncoding() {
    return false;
  }

  @Override
  public boolean supportsDecoding() {
    return true;
  }

  @Override
  public ContentDecoder decoder() {
    return ContentDecoder.NO_OP;
  }

  @Override
  public ContentEncoder encoder() {
    return ContentEncoder.NO_OP;
  }

  @Override
  public String name() {
    return GZIP;
  }

  @Override
  public String type() {
    return GZIP;
  }
}
