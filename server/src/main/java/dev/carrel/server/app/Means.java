package dev.carrel.server.app;

/** By what a client came in. */
enum Means {
  /** A token of the API, in a header that no page of another site can set. */
  TOKEN,
  /** A link, which is part of the path. */
  PATH,
  /** A link in the query, as a browser follows it to the app's own origin. */
  QUERY,
  /** The cookie that such a link left. */
  COOKIE
}
