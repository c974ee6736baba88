package dev.carrel.control.context;

import dev.carrel.control.redact.Redaction;

/** What a kernel says, without the secrets of its sandbox. */
final class CleanEvents {
  private CleanEvents() {}

  static KernelEvent of(KernelEvent event, Redaction redaction) {
    if (!redaction.active()) {
      return event;
    }
    return switch (event) {
      case KernelEvent.Ready(String language, String version, String flavour) ->
          new KernelEvent.Ready(
              redaction.text(language), redaction.text(version), redaction.text(flavour));
      case KernelEvent.Result(int id, MimeBundle bundle) ->
          new KernelEvent.Result(id, clean(bundle, redaction));
      case KernelEvent.Display(int id, MimeBundle bundle) ->
          new KernelEvent.Display(id, clean(bundle, redaction));
      case KernelEvent.Failed(int id, CodeError error) ->
          new KernelEvent.Failed(
              id,
              new CodeError(
                  redaction.text(error.type()),
                  redaction.text(error.message()),
                  redaction.text(error.traceback())));
      case KernelEvent.Done _, KernelEvent.Pong _, KernelEvent.Skipped _ -> event;
    };
  }

  private static MimeBundle clean(MimeBundle bundle, Redaction redaction) {
    return new MimeBundle(
        bundle.items().stream()
            .map(
                item ->
                    new MimeBundle.Item(redaction.text(item.mime()), redaction.bytes(item.data())))
            .toList());
  }
}
