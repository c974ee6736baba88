package dev.carrel.egress;

import java.util.ArrayList;
import java.util.List;

/** Applies policies. */
final class Judge {
  private final Presets presets;
  private final List<HostPattern> operatorDenies;

  Judge(Presets presets, List<HostPattern> operatorDenies) {
    this.presets = presets;
    this.operatorDenies = operatorDenies;
  }

  /**
   * Why something may pass.
   *
   * @param rule in its own words
   * @param namesPort whether a rule names the port, and so means more than the web
   * @param observed nothing allows it, but the policy only looks
   */
  record Pass(String rule, boolean namesPort, boolean observed) {}

  /** The first rule that lets it pass. */
  Pass judge(Policy policy, Asked asked) throws RefusedException {
    refuseDenied(operatorDenies, "the operator's deny list: ", asked);
    refuseDenied(policy.deny(), "deny ", asked);
    var failed = new ArrayList<RefusedException>();
    for (Rule rule : policy.allow()) {
      if (allows(rule, "allow " + rule, asked, failed)) {
        return new Pass("allow " + rule, rule.hosts().port() != 0, false);
      }
    }
    for (String preset : policy.presets()) {
      for (Rule rule : presets.rules(preset)) {
        String words = "preset " + preset + ": " + rule;
        if (allows(rule, words, asked, failed)) {
          return new Pass(words, rule.hosts().port() != 0, false);
        }
      }
    }
    if (policy.mode() == Policy.Mode.OBSERVE) {
      return new Pass("observe", true, true);
    }
    throw failed.isEmpty() ? notAllowed(asked) : nearest(failed);
  }

  /**
   * Whatever the order of the rules: one that suits the port comes nearer than one that does not.
   */
  private static RefusedException nearest(List<RefusedException> failed) {
    return failed.stream()
        .filter(failure -> failure.reason() == Reason.METHOD_OR_PATH)
        .findFirst()
        .orElse(failed.getFirst());
  }

  private static RefusedException notAllowed(Asked asked) {
    return new RefusedException(
        Reason.NOT_ALLOWED, "no rule of this sandbox's policy allows " + asked.target());
  }

  private static void refuseDenied(List<HostPattern> patterns, String whose, Asked asked)
      throws RefusedException {
    Target target = asked.target();
    for (HostPattern pattern : patterns) {
      if (pattern.matches(target.host())
          && (pattern.port() == 0 || pattern.port() == target.port())) {
        throw new RefusedException(
            Reason.DENIED, whose + pattern, target + " is denied by a rule that goes over others");
      }
    }
  }

  private static boolean allows(
      Rule rule, String words, Asked asked, List<RefusedException> failed) {
    Target target = asked.target();
    if (!rule.hosts().matches(target.host())) {
      return false;
    }
    if (!rule.suitsPort(target.port())) {
      failed.add(
          new RefusedException(
              Reason.PORT,
              words,
              "port %d of %s is not allowed; a rule for it would be %s"
                  .formatted(target.port(), target.host(), target)));
      return false;
    }
    if (asked.isTunnel() && rule.looksInside()) {
      failed.add(
          new RefusedException(
              Reason.METHOD_OR_PATH,
              words,
              "a rule about methods or paths of %s cannot look into a tunnel"
                  .formatted(target.host())));
      return false;
    }
    if (!asked.isTunnel() && !(rule.suitsMethod(asked.method()) && rule.suitsPath(asked.path()))) {
      failed.add(
          new RefusedException(
              Reason.METHOD_OR_PATH,
              words,
              "%s %s of %s is not allowed"
                  .formatted(
                      asked.method(), Printable.of(String.valueOf(asked.path()), 200), target)));
      return false;
    }
    return true;
  }
}
