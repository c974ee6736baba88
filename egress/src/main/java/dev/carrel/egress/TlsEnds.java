package dev.carrel.egress;

import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * The two ends of TLS that the proxy takes between a sandbox and a host that a secret is bound to:
 * towards the sandbox it is the host, by a certificate of its own authority; towards the host it is
 * a client that believes what this machine believes. Made when it is first needed. Safe for many
 * threads.
 */
public final class TlsEnds {
  private static final String[] VERSIONS = {"TLSv1.3", "TLSv1.2"};
  private static final String[] HTTP_1 = {"http/1.1"};
  private static final int MOST_HOSTS = 256;
  private static final long RENEWED_AFTER = Duration.ofDays(1).toNanos();

  private final Path authorityFile;
  private final List<Path> upstreamCas;
  private @Nullable Made made;

  private record Made(CertificateAuthority authority, HostTrust trust, KeyPair keys) {}

  private record Issued(SSLContext context, long at) {}

  // The least used goes when there is no room.
  private final Map<Host, Issued> issued =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Host, Issued> eldest) {
          return size() > MOST_HOSTS;
        }
      };

  /**
   * @param authorityFile key and certificate of the authority; made when there is none
   * @param upstreamCas files with certificates that servers may be vouched for by, beside the
   *     host's own
   */
  public TlsEnds(Path authorityFile, List<Path> upstreamCas) {
    this.authorityFile = authorityFile;
    this.upstreamCas = List.copyOf(upstreamCas);
  }

  /** What a program in a sandbox has to believe: what this host does, and the authority. */
  public synchronized String bundle() throws IOException {
    return attempt(() -> made().trust().pem() + made().authority().certificatePem());
  }

  /** Towards the sandbox. */
  synchronized SSLEngine server(Host host) throws IOException {
    return attempt(
        () -> {
          Issued known = issued.get(host);
          if (known == null || System.nanoTime() - known.at() > RENEWED_AFTER) {
            known = new Issued(issue(host), System.nanoTime());
            issued.put(host, known);
          }
          SSLEngine engine = known.context().createSSLEngine();
          engine.setUseClientMode(false);
          engine.setSSLParameters(parameters());
          return engine;
        });
  }

  /** Towards the host, whose certificate must be for its name. */
  synchronized SSLEngine client(Target target) throws IOException {
    return attempt(
        () -> {
          SSLEngine engine =
              made().trust().context().createSSLEngine(target.host().text(), target.port());
          engine.setUseClientMode(true);
          SSLParameters parameters = parameters();
          parameters.setEndpointIdentificationAlgorithm("HTTPS");
          // Addresses are not named there, nor is what is no name of a host.
          if (target.host().isName() && target.host().text().indexOf('_') < 0) {
            parameters.setServerNames(List.of(new SNIHostName(target.host().text())));
          }
          engine.setSSLParameters(parameters);
          return engine;
        });
  }

  private static SSLParameters parameters() {
    var parameters = new SSLParameters();
    parameters.setProtocols(VERSIONS);
    parameters.setApplicationProtocols(HTTP_1);
    return parameters;
  }

  private SSLContext issue(Host host) throws IOException, GeneralSecurityException {
    CertificateAuthority authority = made().authority();
    KeyPair keys = made().keys();
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    Certificate[] chain = {authority.issue(host, keys), authority.certificate()};
    store.setKeyEntry("host", keys.getPrivate(), new char[0], chain);
    KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
    factory.init(store, new char[0]);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(factory.getKeyManagers(), null, null);
    return context;
  }

  private Made made() throws IOException, GeneralSecurityException {
    Made known = made;
    if (known == null) {
      known =
          new Made(
              CertificateAuthority.openOrCreate(authorityFile),
              HostTrust.open(upstreamCas),
              CertificateAuthority.newKeys());
      made = known;
    }
    return known;
  }

  private interface Work<T> {
    T run() throws IOException, GeneralSecurityException;
  }

  private static <T> T attempt(Work<T> work) throws IOException {
    try {
      return work.run();
    } catch (GeneralSecurityException e) {
      throw new IOException("the proxy cannot speak TLS for a host: " + e.getMessage(), e);
    }
  }
}
