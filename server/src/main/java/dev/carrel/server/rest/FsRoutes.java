package dev.carrel.server.rest;

import dev.carrel.control.files.FileEvents;
import dev.carrel.control.files.FileListing;
import dev.carrel.control.files.Files;
import dev.carrel.control.files.Grep;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.server.http.EventStream;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Fields;
import dev.carrel.server.http.Router;
import java.io.IOException;

/** Everything that one does with files but read and write them. */
final class FsRoutes {
  private static final String FS = "/api/v1/sandboxes/{id}/fs";
  private static final int DEFAULT_FOUND = 1000;
  private static final int MAX_CONTEXT = 100;

  private final Files files;

  FsRoutes(Files files) {
    this.files = files;
  }

  void addTo(Router router) {
    router
        .post(FS + "/stat", this::stat)
        .post(FS + "/mkdir", this::mkdir)
        .post(FS + "/move", this::move)
        .post(FS + "/copy", this::copy)
        .post(FS + "/glob", this::glob)
        .post(FS + "/grep", this::grep)
        .get(FS + "/watch", this::watch);
  }

  private void stat(Exchange exchange) throws IOException {
    String path = exchange.fields().requiredString("path");
    exchange.json(
        200, FileViews.Entry.of(files.stat(exchange.caller(), Ids.sandbox(exchange), path)));
  }

  private void mkdir(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    exchange.json(
        200,
        FileViews.Entry.of(
            files.mkdir(
                exchange.caller(),
                Ids.sandbox(exchange),
                fields.requiredString("path"),
                fields.bool("parents", true))));
  }

  private void move(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    exchange.json(
        200,
        FileViews.Entry.of(
            files.move(
                exchange.caller(),
                Ids.sandbox(exchange),
                fields.requiredString("from"),
                fields.requiredString("to"),
                fields.bool("overwrite", true))));
  }

  private void copy(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    exchange.json(
        200,
        FileViews.Entry.of(
            files.copy(
                exchange.caller(),
                Ids.sandbox(exchange),
                fields.requiredString("from"),
                fields.requiredString("to"),
                fields.bool("overwrite", true))));
  }

  private void glob(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    FileListing listing =
        files.glob(
            exchange.caller(),
            Ids.sandbox(exchange),
            fields.string("path", Sandbox.WORKSPACE),
            fields.requiredString("pattern"),
            fields.wholeNumber("limit", DEFAULT_FOUND, 1, Integer.MAX_VALUE),
            fields.bool("hidden", false));
    exchange.json(200, new FileViews.GlobResult(FileViews.Entry.of(listing), listing.truncated()));
  }

  private void grep(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    var grep =
        new Grep(
            fields.string("path", Sandbox.WORKSPACE),
            fields.requiredString("pattern"),
            fields.string("glob"),
            fields.bool("ignore_case", false),
            fields.bool("fixed", false),
            fields.bool("hidden", false),
            fields.wholeNumber("context", 0, 0, MAX_CONTEXT),
            fields.wholeNumber("limit", DEFAULT_FOUND, 1, Integer.MAX_VALUE));
    exchange.json(
        200, FileViews.GrepResult.of(files.grep(exchange.caller(), Ids.sandbox(exchange), grep)));
  }

  private void watch(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.query().text("path").orElse(Sandbox.WORKSPACE);
    boolean recursive = exchange.query().flag("recursive", true);
    try (FileEvents changes =
        files.watch(exchange.caller(), Ids.sandbox(exchange), path, recursive)) {
      EventStream events = exchange.events();
      events.send("ready", new FileViews.Watching(path));
      while (true) {
        FileEvents.FileEvent change = changes.next(events.patience());
        if (change == null) {
          events.keepAlive();
        } else {
          events.send("change", FileViews.Change.of(change));
        }
      }
    }
  }
}
