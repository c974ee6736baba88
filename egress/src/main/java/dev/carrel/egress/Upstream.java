package dev.carrel.egress;

import java.io.IOException;

/** Connections to servers, as requests need them. */
interface Upstream {
  /** Connects; the connection ends with its session at the latest. */
  Wire dial(Target target) throws RefusedException, InterruptedException, IOException;

  void drop(Wire wire) throws IOException;

  static Upstream plain(Session session) {
    return new Upstream() {
      @Override
      public Wire dial(Target target) throws RefusedException, InterruptedException, IOException {
        return session.dial(target);
      }

      @Override
      public void drop(Wire wire) throws IOException {
        session.drop(wire);
      }
    };
  }
}
