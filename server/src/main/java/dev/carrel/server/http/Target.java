package dev.carrel.server.http;

/**
 * What a request asks for: a path, and the name that the server is addressed by.
 *
 * @param authority a name, and maybe a port
 * @param rawPath from the slash on
 */
record Target(String authority, String rawPath) {

  /**
   * Takes a whole address apart, as clients send it to what they take for a proxy. Its name counts
   * then, not that of the header.
   *
   * @param given a path, or such an address
   * @param host what the header says
   */
  static Target of(String given, String host) {
    int from = afterScheme(given);
    if (from == 0) {
      return new Target(host, given);
    }
    int slash = given.indexOf('/', from);
    return slash < 0
        ? new Target(given.substring(from), "/")
        : new Target(given.substring(from, slash), given.substring(slash));
  }

  private static int afterScheme(String given) {
    for (String scheme : new String[] {"http://", "https://"}) {
      if (given.regionMatches(true, 0, scheme, 0, scheme.length())) {
        return scheme.length();
      }
    }
    return 0;
  }
}
