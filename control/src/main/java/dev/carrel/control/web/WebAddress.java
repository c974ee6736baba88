package dev.carrel.control.web;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;

/** Addresses that callers or servers of the web name. */
public final class WebAddress {
  private static final int MAX_LENGTH = 4096;

  private WebAddress() {}

  /** A whole one, of http or https. */
  public static URI parse(String address) {
    try {
      URI uri = new URI(address.strip());
      String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
      if (address.length() <= MAX_LENGTH
          && uri.getHost() != null
          && (scheme.equals("http") || scheme.equals("https"))) {
        return uri;
      }
    } catch (URISyntaxException e) {
      throw SandboxException.invalid("url", "is not an address: " + e.getReason());
    }
    throw SandboxException.invalid("url", "must be a whole address, as in https://example.com/");
  }

  /** Where an answer leads. */
  public static URI next(URI from, String location) {
    try {
      return parse(from.resolve(new URI(location.strip())).toString());
    } catch (URISyntaxException e) {
      throw new SandboxException(
          ErrorCode.WEB_FAILED, from + " leads to an address that cannot be read", e);
    }
  }
}
