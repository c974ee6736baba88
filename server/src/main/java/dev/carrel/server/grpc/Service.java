package dev.carrel.server.grpc;

import com.google.protobuf.Descriptors.ServiceDescriptor;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A service: all that its description names, and nothing else.
 *
 * @param description as the proto has it
 */
record Service(ServiceDescriptor description, List<Method<?, ?>> methods) {
  Service {
    methods = List.copyOf(methods);
    Set<String> described = new HashSet<>();
    description.getMethods().forEach(method -> described.add(method.getName()));
    Set<String> served = new HashSet<>();
    methods.forEach(method -> served.add(method.name()));
    if (!described.equals(served)) {
      throw new IllegalStateException(description.getFullName() + " has methods " + described);
    }
  }

  String name() {
    return description.getFullName();
  }

  /** As the wire has it: {@code service/method}. */
  String path(Method<?, ?> method) {
    return name() + "/" + method.name();
  }
}
