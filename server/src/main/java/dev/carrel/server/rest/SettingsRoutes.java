package dev.carrel.server.rest;

import dev.carrel.control.sandbox.Engines;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.settings.LiveSetting;
import dev.carrel.control.settings.LiveSettings;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Settings that change while the server runs; for administrators. */
final class SettingsRoutes {
  private static final String PATH = "/api/v1/settings/sandbox";

  private final LiveSettings settings;
  private final Engines engines;
  private final Sandboxes sandboxes;

  SettingsRoutes(LiveSettings settings, Engines engines, Sandboxes sandboxes) {
    this.settings = settings;
    this.engines = engines;
    this.sandboxes = sandboxes;
  }

  void addTo(Router router) {
    router.get(PATH, this::get).patch(PATH, this::change).delete(PATH, this::reset);
  }

  private void get(Exchange exchange) {
    AdminRoutes.requireAdmin(exchange.caller());
    exchange.json(200, view(settings.list()));
  }

  private void change(Exchange exchange) throws IOException {
    AdminRoutes.requireAdmin(exchange.caller());
    Fields fields = exchange.fields();
    var changes = new LinkedHashMap<String, @Nullable Object>();
    for (LiveSettings.Entry entry : settings.list()) {
      LiveSetting setting = entry.setting();
      if (fields.isNull(setting.name())) {
        changes.put(setting.name(), null);
      } else if (fields.has(setting.name())) {
        changes.put(setting.name(), value(fields, setting));
      }
    }
    exchange.json(200, view(settings.change(exchange.caller(), changes)));
  }

  private void reset(Exchange exchange) {
    AdminRoutes.requireAdmin(exchange.caller());
    exchange.json(200, view(settings.reset(exchange.caller())));
  }

  private static @Nullable Object value(Fields fields, LiveSetting setting) {
    String name = setting.name();
    return switch (setting.kind()) {
      case WHOLE -> fields.wholeNumber(name, (long) setting.min(), (long) setting.max());
      case DECIMAL -> fields.decimal(name);
      case FLAG -> fields.bool(name);
      case WORD -> fields.string(name);
    };
  }

  /** Every setting by its name, then what surrounds them. */
  private Map<String, @Nullable Object> view(List<LiveSettings.Entry> entries) {
    var view = new LinkedHashMap<String, @Nullable Object>();
    var configured = new LinkedHashMap<String, Object>();
    for (LiveSettings.Entry entry : entries) {
      view.put(entry.setting().name(), entry.value());
      configured.put(entry.setting().name(), entry.configured());
    }
    view.put("provider_type", engines.usual());
    view.put("images", sandboxes.images());
    view.put("configured", configured);
    view.put(
        "changed",
        entries.stream()
            .filter(LiveSettings.Entry::stored)
            .map(entry -> entry.setting().name())
            .toList());
    return view;
  }
}
