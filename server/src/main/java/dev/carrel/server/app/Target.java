package dev.carrel.server.app;

import dev.carrel.server.http.SandboxHosts.Place;

/**
 * What a request is for.
 *
 * @param prefix of all paths of the app as the client sees them, without a slash at its end
 * @param path as the app is to see it, from the slash on, not decoded
 * @param query likewise, without the question mark; may be empty
 * @param ownOrigin whether the app has a host name of its own; else it shares the server's
 */
record Target(Place place, String prefix, String path, String query, boolean ownOrigin) {
  /** What the app calls itself. */
  String host() {
    return "localhost:" + place.port();
  }

  String pathAndQuery() {
    return query.isEmpty() ? path : path + "?" + query;
  }

  Target withQuery(String newQuery) {
    return new Target(place, prefix, path, newQuery, ownOrigin);
  }
}
