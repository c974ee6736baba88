package dev.carrel.egress;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keys and certificates as text (RFC 7468). */
final class Pem {
  private static final Pattern CERTIFICATE = block("CERTIFICATE");

  private Pem() {}

  static String encode(String label, byte[] bytes) {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(label, body, label);
  }

  static byte[] decode(String label, String text) throws GeneralSecurityException {
    Matcher found = block(label).matcher(text);
    if (!found.find()) {
      throw new GeneralSecurityException("there is no " + label + " in it");
    }
    return decode(found);
  }

  /** All that are in the text, whatever else is. */
  static List<X509Certificate> certificates(String text) throws CertificateException {
    CertificateFactory factory = CertificateFactory.getInstance("X.509");
    var all = new ArrayList<X509Certificate>();
    for (Matcher found = CERTIFICATE.matcher(text); found.find(); ) {
      var bytes = new ByteArrayInputStream(decode(found));
      all.add((X509Certificate) factory.generateCertificate(bytes));
    }
    return all;
  }

  private static byte[] decode(Matcher found) {
    return Base64.getMimeDecoder().decode(found.group(1).getBytes(StandardCharsets.ISO_8859_1));
  }

  private static Pattern block(String label) {
    return Pattern.compile("-----BEGIN " + label + "-----([^-]*)-----END " + label + "-----");
  }
}
