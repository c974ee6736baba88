package dev.carrel.server.e2b;

import dev.carrel.server.http.Router;

/**
 * What E2B's cloud has and this server has not. It is refused in words, because clients show them:
 * that a path is unknown would tell their users nothing.
 */
final class NotOffered {
  private static final int NOT_IMPLEMENTED = 501;
  private static final String TEMPLATES =
      "templates are not built or tagged here: make an image and name it as the template"
          + " (carrel images)";
  private static final String VOLUMES =
      "volumes are not offered through E2B's API: use Carrel's own (carrel volume)";
  private static final String SECRETS =
      "secrets are not offered through E2B's API: use Carrel's own (carrel vault)";

  private final Door door;

  NotOffered(Door door) {
    this.door = door;
  }

  void addTo(Router router) {
    refuse(router, TEMPLATES, "POST", "/v3/templates");
    refuse(router, TEMPLATES, "POST", "/v2/templates/{id}/builds/{build}");
    refuse(router, TEMPLATES, "GET", "/templates");
    refuse(router, TEMPLATES, "GET", "/templates/aliases/{alias}");
    refuse(router, TEMPLATES, "POST", "/templates/tags");
    refuse(router, TEMPLATES, "DELETE", "/templates/tags");
    refuse(router, TEMPLATES, "GET", "/templates/{id}/tags");
    refuse(router, TEMPLATES, "GET", "/templates/{id}/files/{hash}");
    refuse(router, TEMPLATES, "GET", "/templates/{id}/builds/{build}/status");
    for (String method : new String[] {"GET", "POST"}) {
      refuse(router, VOLUMES, method, "/volumes");
      refuse(router, SECRETS, method, "/secrets");
    }
    for (String method : new String[] {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
      refuse(router, VOLUMES, method, "/volumes/{id}");
      refuse(router, VOLUMES, method, "/volumecontent/{rest...}");
      refuse(router, SECRETS, method, "/secrets/{id}");
    }
  }

  private void refuse(Router router, String why, String method, String path) {
    router.open(
        method,
        path,
        door.guarded(
            (exchange, caller) ->
                Wire.json(exchange, NOT_IMPLEMENTED, new Failures.Body(NOT_IMPLEMENTED, why))));
  }
}
