package dev.carrel.server.rest;

import dev.carrel.control.budget.Budget;
import dev.carrel.control.budget.Budgets;
import dev.carrel.control.budget.Resource;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What may be used up in all. */
final class BudgetRoutes {
  private static final String OF_SANDBOX = "/api/v1/sandboxes/{id}/budget";
  private static final String OF_NAMESPACE = "/api/v1/namespaces/{namespace}/budget";

  private final Budgets budgets;

  BudgetRoutes(Budgets budgets) {
    this.budgets = budgets;
  }

  void addTo(Router router) {
    router
        .get(OF_SANDBOX, this::ofSandbox)
        .put(OF_SANDBOX, this::setSandbox)
        .get(OF_NAMESPACE, this::ofNamespace)
        .put(OF_NAMESPACE, this::setNamespace);
  }

  private void ofSandbox(Exchange exchange) {
    exchange.json(200, View.of(budgets.ofSandbox(exchange.caller(), Ids.sandbox(exchange))));
  }

  private void setSandbox(Exchange exchange) throws IOException {
    Fields fields = exchange.requiredFields();
    exchange.json(
        200,
        View.of(
            budgets.setSandbox(
                exchange.caller(), Ids.sandbox(exchange), limits(fields), reset(fields))));
  }

  private void ofNamespace(Exchange exchange) {
    exchange.json(
        200, View.of(budgets.ofNamespace(exchange.caller(), exchange.parameter("namespace"))));
  }

  private void setNamespace(Exchange exchange) throws IOException {
    Fields fields = exchange.requiredFields();
    exchange.json(
        200,
        View.of(
            budgets.setNamespace(
                exchange.caller(),
                exchange.parameter("namespace"),
                limits(fields),
                reset(fields))));
  }

  static Map<Resource, @Nullable Long> limits(Fields fields) {
    var limits = new EnumMap<Resource, @Nullable Long>(Resource.class);
    for (Resource resource : Resource.values()) {
      limits.put(resource, fields.wholeNumber(resource.wireName(), 0, Budget.MAX_BYTES));
    }
    return limits;
  }

  private static boolean reset(Fields fields) {
    return fields.bool("reset", false);
  }

  record View(
      String scope,
      String name,
      @Nullable Long cpuSeconds,
      @Nullable Long egressBytes,
      @Nullable Long executions,
      double cpuSecondsUsed,
      long egressBytesUsed,
      long executionsUsed) {
    static View of(Budget budget) {
      return new View(
          ExecViews.wireName(budget.scope().kind()),
          budget.scope().name(),
          budget.limits().get(Resource.CPU_SECONDS),
          budget.limits().get(Resource.EGRESS_BYTES),
          budget.limits().get(Resource.EXECUTIONS),
          used(budget, Resource.CPU_SECONDS),
          (long) used(budget, Resource.EGRESS_BYTES),
          (long) used(budget, Resource.EXECUTIONS));
    }

    private static double used(Budget budget, Resource resource) {
      return budget.used().getOrDefault(resource, 0.0);
    }
  }
}
