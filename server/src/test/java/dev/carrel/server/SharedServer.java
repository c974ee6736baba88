package dev.carrel.server;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Gives tests one server that they all share; it ends with the last of them. */
public final class SharedServer implements ParameterResolver {
  private static final ExtensionContext.Namespace HERE =
      ExtensionContext.Namespace.create(SharedServer.class);

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == LiveServer.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return context
        .getRoot()
        .getStore(HERE)
        .computeIfAbsent("server", _ -> start(), LiveServer.class);
  }

  // With room for the sandboxes of all: not every test removes its own.
  private static LiveServer start() {
    return LiveServer.start(
        LiveServer.settings(),
        defaults -> defaults.withSandboxes(defaults.sandboxes().withMaxSandboxes(2000, 2000)));
  }
}
