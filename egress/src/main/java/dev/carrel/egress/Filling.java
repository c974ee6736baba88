package dev.carrel.egress;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Puts values in place of their placeholders where a request may carry a secret. */
final class Filling {
  private static final Pattern BASIC =
      Pattern.compile("(Basic +)([A-Za-z0-9+/]+={0,2})", Pattern.CASE_INSENSITIVE);

  private final Broker broker;
  private final Target target;

  Filling(Broker broker, Target target) {
    this.broker = broker;
    this.target = target;
  }

  /** A field's value; also what is written as Basic authentication in it. */
  String field(String value) {
    Matcher basic = BASIC.matcher(value);
    if (!basic.matches()) {
      return broker.fill(target, value, UnaryOperator.identity());
    }
    String pair;
    try {
      pair = new String(Base64.getDecoder().decode(basic.group(2)), StandardCharsets.ISO_8859_1);
    } catch (IllegalArgumentException e) {
      return value;
    }
    String filled = broker.fill(target, pair, UnaryOperator.identity());
    return filled.equals(pair)
        ? value
        : basic.group(1)
            + Base64.getEncoder().encodeToString(filled.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Only the query: a path says what is asked for, and has been judged. */
  String pathAndQuery(String text) {
    int query = text.indexOf('?');
    return query < 0
        ? text
        : text.substring(0, query) + broker.fill(target, text.substring(query), Filling::escaped);
  }

  private static String escaped(String value) {
    return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
