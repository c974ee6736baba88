package dev.carrel.sdk;

import com.fasterxml.jackson.core.type.TypeReference;
import java.util.List;
import java.util.Map;

/** The secrets of this token's owner: put in, listed by name, used by name, never read back. */
public final class Secrets {
  private static final TypeReference<Page> LIST = new TypeReference<>() {};
  private static final TypeReference<SecretInfo> INFO = new TypeReference<>() {};
  private static final String PATH = "/api/v1/vault/secrets";

  private final Transport transport;

  Secrets(Transport transport) {
    this.transport = transport;
  }

  public SecretInfo add(String namespace, String name, String value) {
    return transport.post(PATH, Map.of("namespace", namespace, "name", name, "value", value), INFO);
  }

  /** One that nobody needs: a sandbox whose code lets it out is frozen, and you are told. */
  public SecretInfo addCanary(String namespace, String name, String value) {
    return transport.post(
        PATH, Map.of("namespace", namespace, "name", name, "value", value, "canary", true), INFO);
  }

  /**
   * One that no process ever gets: they have a placeholder, and the proxy puts the value in its
   * place in requests by https to these hosts.
   *
   * @param hosts as {@code api.example.com}, {@code *.example.com} or {@code example.com:8443}
   */
  public SecretInfo addBrokered(String namespace, String name, String value, List<String> hosts) {
    return transport.post(
        PATH, Map.of("namespace", namespace, "name", name, "value", value, "hosts", hosts), INFO);
  }

  public List<SecretInfo> list(String namespace) {
    return transport.get(PATH + Transport.query(Map.of("namespace", namespace)), LIST).secrets();
  }

  /** Gives it another value; processes that run keep the one they have. */
  public SecretInfo rotate(String namespace, String name, String value) {
    return transport.post(
        PATH + "/" + Transport.encode(name) + "/rotate",
        Map.of("namespace", namespace, "value", value),
        INFO);
  }

  public void delete(String namespace, String name) {
    transport.delete(
        PATH + "/" + Transport.encode(name) + Transport.query(Map.of("namespace", namespace)));
  }

  private record Page(List<SecretInfo> secrets) {}
}
