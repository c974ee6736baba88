package dev.carrel.egress;

import org.jspecify.annotations.Nullable;

/**
 * What a sandbox wants, as far as the proxy can see it.
 *
 * @param protocol for people: {@code http}, {@code https}, {@code connect} or {@code socks}
 * @param method of a plain request; null for a tunnel
 * @param path of a plain request, without the query; null for a tunnel
 */
record Asked(String protocol, Target target, @Nullable String method, @Nullable String path) {
  static Asked tunnel(String protocol, Target target) {
    return new Asked(protocol, target, null, null);
  }

  boolean isTunnel() {
    return method == null;
  }
}
