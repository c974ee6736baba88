package dev.carrel.control.sandbox;

/** Who wants what this thread does to a sandbox. Nobody does what the server does by itself. */
final class Actor {
  private static final String SERVER = "carrel";
  private static final ScopedValue<Caller> CURRENT = ScopedValue.newInstance();

  private Actor() {}

  static <T> T by(Caller caller, ScopedValue.CallableOp<T, RuntimeException> work) {
    return ScopedValue.where(CURRENT, caller).call(work);
  }

  /**
   * @param tenant whose sandbox it is: an administrator may be of another one
   */
  static String principal(String tenant) {
    if (!CURRENT.isBound()) {
      return SERVER;
    }
    return CURRENT.get().nameFor(tenant);
  }
}
