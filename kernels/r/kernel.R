# The R kernel of a context: spec/kernel-protocol.md on base R.
#
# Everything lives in an environment of its own, out of reach of rm(list = ls()) and of user functions named like R's.
# Interrupts are suspended throughout and let in only around user code, so SIGINT can stop a cell but not the kernel.

local({

# R compiles a function on its second call, which would make the second cell of every context slow: only user code is worth it.
compiling <- .Internal(enableJIT(0L))

MAX_FRAME <- 64 * 1024^2
MAX_PART <- 16 * 1024^2
MAX_TEXT <- 1024^2
MAX_TRACEBACK <- 100L

here <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)[1L])
kernel <- environment()
state <- new.env(parent = emptyenv())
state$cells <- 0L
state$request <- raw(4)
state$owed <- FALSE
state$silent <- FALSE
state$devices <- list()
process <- Sys.getpid()

# ---- frames

# R opens descriptors only by name. That needs the right to open the pipe anew; without it a process of our own passes on.
open_channel <- function(descriptor, mode) {
  name <- paste0("/dev/fd/", descriptor)
  if (file.access(name, if (mode == "rb") 4L else 2L) == 0L) return(file(name, mode, raw = TRUE))
  pipe(if (mode == "rb") "exec cat <&3" else "exec cat >&4", mode)
}

u32 <- function(number) writeBin(as.integer(number), raw(), endian = "little")

text <- function(value) {
  bytes <- charToRaw(enc2utf8(value))
  c(u32(length(bytes)), bytes)
}

bundle_bytes <- function(bundle) {
  parts <- lapply(names(bundle), function(mime) c(text(mime), u32(length(bundle[[mime]])), bundle[[mime]]))
  c(u32(length(bundle)), unlist(parts))
}

frame <- function(type, ...) {
  payload <- c(...)
  c(u32(length(payload)), as.raw(type), payload)
}

send <- function(...) {
  writeBin(c(...), events)
  flush(events)
}

read_bytes <- function(count) {
  bytes <- readBin(requests, "raw", count)
  while (length(bytes) < count) {
    more <- readBin(requests, "raw", count - length(bytes))
    if (length(more) == 0L) return(NULL)
    bytes <- c(bytes, more)
  }
  bytes
}

# Exact up to 2^53, which R's own integers are not.
number_at <- function(bytes, position) sum(as.integer(bytes[position + 0:3]) * 256^(0:3))

# ---- values

# What the console would show, as bytes; empty when printing has another effect, like drawing. Interrupts are let in only while it
# prints: a sink that one left behind would swallow what later cells write.
printed <- function(value) suspendInterrupts(with_sink(function() allowInterrupts(print_value(value))))

with_sink <- function(print) {
  sink_target <- rawConnection(raw(0), "w")
  depth <- sink.number()
  sink(sink_target)
  on.exit({
    while (sink.number() > depth) sink()
    close(sink_target)
  })
  print()
  rawConnectionValue(sink_target)
}

# In the user's environment, where methods for print() are found.
print_value <- function(value) {
  if (base::isS4(value)) methods::show(value) else base::print(value)
  base::invisible()
}
environment(print_value) <- globalenv()

cut_bytes <- function(bytes, limit = MAX_TEXT) {
  if (length(bytes) <= limit) return(bytes)
  note <- sprintf("... [%d bytes in all, the first %d shown]", length(bytes), limit)
  # A character cut in half is dropped.
  head <- iconv(rawToChar(bytes[seq_len(limit)]), "UTF-8", "UTF-8", sub = "")
  c(charToRaw(head), charToRaw(note))
}

bundle_of <- function(value) {
  rich <- rich_form(value)
  if (!is.null(rich)) return(rich)
  bytes <- printed(value)
  # The newline that ends every printed value says nothing.
  while (length(bytes) > 0L && bytes[length(bytes)] == as.raw(10L)) bytes <- bytes[-length(bytes)]
  if (length(bytes) == 0L) NULL else list("text/plain" = cut_bytes(bytes))
}

rich_form <- function(value) {
  if (inherits(value, "htmlwidget") && requireNamespace("htmlwidgets", quietly = TRUE)) {
    return(limited(paste0("<htmlwidget ", class(value)[1L], ">"), lazy$widget_html(value)))
  }
  if (inherits(value, c("shiny.tag", "shiny.tag.list", "html"))) {
    html <- paste(as.character(value), collapse = "\n")
    return(limited(html, html))
  }
  NULL
}

limited <- function(plain, html) {
  html <- charToRaw(enc2utf8(html))
  plain <- cut_bytes(charToRaw(plain))
  if (length(html) <= MAX_PART) return(list("text/plain" = plain, "text/html" = html))
  list("text/plain" = c(plain, charToRaw(" "), left_out("text/html", length(html))))
}

left_out <- function(mime, size) charToRaw(sprintf("[%s left out: %.0f bytes, the limit is %.0f]", mime, size, MAX_PART))

# Loaded on first use.
lazy <- new.env(parent = kernel)
delayedAssign("widget_html", { load_rest(); rest$widget_html }, assign.env = lazy)
delayedAssign("completions", { load_rest(); rest$completions }, assign.env = lazy)
rest <- new.env(parent = baseenv())
load_rest <- function() if (length(ls(rest)) == 0L) sys.source(file.path(dirname(here), "rest.R"), rest)

# A forked child, one of parallel::mclapply's say, never speaks the protocol.
is_fork <- function() Sys.getpid() != process

send_display <- function(bundle) {
  if (!state$silent && !is_fork()) send(frame(0x83, state$request, bundle_bytes(bundle)))
}

# Shows a value now; with `mime`, text or raw bytes of that type.
display <- function(value, mime = NULL) {
  if (!is.null(mime)) {
    bytes <- if (is.raw(value)) value else charToRaw(enc2utf8(paste(as.character(value), collapse = "\n")))
    bundle <- if (length(bytes) <= MAX_PART) stats::setNames(list(bytes), mime)
              else list("text/plain" = left_out(mime, length(bytes)))
  } else {
    bundle <- bundle_of(value)
  }
  if (!is.null(bundle)) suspendInterrupts(send_display(bundle))
  flush_plots()
  invisible(value)
}

# ---- figures

# Opened by the first drawing command of a cell, never before; more of them by dev.new(), or when the code has closed one. No interrupt
# comes between a device and what is known of it: later cells would draw into one that is never shown.
open_device <- function(...) suspendInterrupts({
  plots <- tempfile("plot")
  grDevices::png(paste0(plots, "-%03d.png"), width = 800, height = 600, res = 100)
  state$devices[[length(state$devices) + 1L]] <- list(number = grDevices::dev.cur(), plots = plots)
})

flush_plots <- function() suspendInterrupts(show_plots())

show_plots <- function() {
  if (is_fork()) return(invisible())
  devices <- state$devices
  state$devices <- list()
  for (device in devices) show_device(device)
}

show_device <- function(device) {
  if (is_open(device)) grDevices::dev.off(device$number)
  files <- Sys.glob(paste0(device$plots, "-*.png"))
  on.exit(unlink(files))
  for (file in files) {
    size <- file.size(file)
    if (is.na(size) || size == 0) next
    send_display(if (size > MAX_PART) list("text/plain" = left_out("image/png", size))
                 else list("image/png" = readBin(file, "raw", size)))
  }
}

# The number of one that the code has closed may be another's by now, which is the user's.
is_open <- function(device) {
  if (!device$number %in% grDevices::dev.list()) return(FALSE)
  path <- attr(.Devices[[device$number]], "filepath")
  is.null(path) || startsWith(path, device$plots)
}

# ---- a cell

# Runs each expression as the console does; returns the bundle of the last one's value.
evaluate <- function(code, name) {
  source <- srcfilecopy(name, strsplit(code, "\n", fixed = TRUE)[[1L]], isFile = FALSE)
  expressions <- parse(text = code, srcfile = source, keep.source = TRUE)
  count <- length(expressions)
  bundle <- NULL
  for (i in seq_len(count)) {
    .Internal(enableJIT(compiling))
    outcome <- withVisible(eval(expressions[[i]], globalenv()))
    .Internal(enableJIT(0L))
    if (!outcome$visible) next
    if (i < count) print_value(outcome$value)
    else if (state$silent) print_nowhere(outcome$value)
    else bundle <- bundle_of(outcome$value)
  }
  flush_plots()
  bundle
}

# A silent cell still draws.
print_nowhere <- function(value) if (inherits(value, c("ggplot", "trellis", "grob"))) printed(value)

describe_call <- function(call) {
  line <- tryCatch(deparse(call, nlines = 1L, width.cutoff = 120L)[1L], error = function(e) "<call>")
  place <- attr(call, "srcref")
  if (is.null(place)) return(line)
  sprintf("%s at %s#%d", line, attr(place, "srcfile")$filename, place[1L])
}

# The user's calls: after evaluate()'s own (withVisible, eval, eval), before those that signal the condition.
user_calls <- function(calls) {
  evals <- which(vapply(calls, function(call) identical(call[[1L]], quote(evaluate)), NA))
  if (length(evals) > 0L) calls <- calls[-seq_len(min(length(calls), evals[length(evals)] + 3L))]
  ends <- which(vapply(calls, function(call) deparse(call[[1L]], nlines = 1L)[1L] %in% SIGNALLERS, NA))
  if (length(ends) > 0L) calls <- calls[seq_len(ends[1L] - 1L)]
  calls
}
SIGNALLERS <- c(".handleSimpleError", "stop", "base::stop", "signalCondition", "abort", "rlang::abort")

OWN_CALLS <- list(quote(eval(expressions[[i]], globalenv())), quote(parse(text = code, srcfile = source, keep.source = TRUE)))

# " in f(x)", or nothing where the code stood at the top of its cell.
in_call <- function(call) {
  if (is.null(call) || any(vapply(OWN_CALLS, identical, NA, call))) return("")
  paste0(" in ", describe_call(call))
}

error_texts <- function(condition, calls) {
  message <- paste(conditionMessage(condition), collapse = "\n")
  head <- paste0("Error", in_call(conditionCall(condition)), ": ", message)
  if (length(calls) > MAX_TRACEBACK) calls <- c(calls[1:20], quote(...), calls[length(calls) - 19:0])
  lines <- vapply(seq_along(calls), function(i) sprintf("%d: %s", i, describe_call(calls[[i]])), "")
  list(class(condition)[1L], message, paste(c(head, lines), collapse = "\n"))
}

# R keeps warnings for the end of a top-level command, which here never comes.
show_warning <- function(condition) {
  if (!getOption("warn") %in% c(0, 1)) return()
  cat("Warning", in_call(conditionCall(condition)), ": ", conditionMessage(condition), "\n", sep = "", file = stderr())
  invokeRestart("muffleWarning")
}

INTERRUPTED <- list(status = 2L, error = list("interrupt", "the cell was interrupted", "the cell was interrupted"))

run <- function(code) {
  state$cells <- state$cells + 1L
  name <- sprintf("<cell %d>", state$cells)
  calls <- NULL
  failed <- function(condition) {
    texts <- tryCatch(error_texts(condition, calls), error = function(e) {
      list(class(condition)[1L], "(describing the error failed)", "Error: (describing the error failed)")
    })
    list(status = 1L, error = texts)
  }
  on.exit(.Internal(enableJIT(0L)))
  withRestarts(tryCatch(
    allowInterrupts(withCallingHandlers(
      list(status = 0L, bundle = evaluate(code, name)),
      error = function(condition) {
        # Only the first: handlers of the user may see further ones.
        if (is.null(calls)) calls <<- tryCatch(user_calls(sys.calls()), error = function(e) list())
      },
      warning = show_warning
    )),
    error = failed,
    interrupt = function(condition) INTERRUPTED
  ), abort = function() {
    # R's own restart of this name leads to its top level, where a script ends.
    list(status = 1L, error = list("abort", "the cell was aborted", "the cell was aborted"))
  })
}

# What ends allowInterrupts() can be interrupted itself, and then leaves them let in: the next one comes where none is expected.
keep_interrupts_out <- function() .Internal(interruptsSuspended(TRUE))

# SIGINT while nothing runs means nothing; being suspended it is still waiting.
drop_idle_interrupts <- function() {
  tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(condition) NULL)
}

execute <- function(payload) {
  state$silent <- number_at(payload, 5L) %% 2 == 1
  drop_idle_interrupts()
  outcome <- decode_and_run(payload)
  keep_interrupts_out()
  finish(outcome)
}

finish <- function(outcome) suspendInterrupts({
  options(device = open_device)
  # After an error figures are still owed.
  tryCatch(flush_plots(), error = function(e) NULL)
  event <- NULL
  if (!is.null(outcome$error)) {
    event <- frame(0x84, state$request, unlist(lapply(outcome$error, function(part) text(cut_text(part)))))
  } else if (!is.null(outcome$bundle)) {
    event <- frame(0x82, state$request, bundle_bytes(outcome$bundle))
  }
  flush(stdout())
  done(outcome$status, event)
})

decode_and_run <- function(payload) {
  bytes <- payload[-(1:12)]
  if (any(bytes == as.raw(0L))) {
    message <- "the code contains a NUL byte, which R cannot read"
    return(list(status = 1L, error = list("simpleError", message, message)))
  }
  code <- rawToChar(bytes)
  Encoding(code) <- "UTF-8"
  run(code)
}

# Works on bytes: a text of the user may be in any encoding, or in none.
cut_text <- function(value) {
  bytes <- charToRaw(if (Encoding(value) == "bytes") value else enc2utf8(value))
  long <- length(bytes) > 262144L
  text <- iconv(rawToChar(if (long) bytes[seq_len(131072L)] else bytes), "UTF-8", "UTF-8", sub = "byte")
  if (long) paste0(text, "\n[... cut]") else text
}

done <- function(status, event = NULL) suspendInterrupts({
  send(event, frame(0x85, state$request, as.raw(status)))
  state$owed <- FALSE
})

# ---- requests

complete <- function(payload) {
  cursor <- number_at(payload, 5L)
  found <- tryCatch(
    allowInterrupts(lazy$completions(payload[-(1:12)], cursor)),
    error = function(condition) list(start = cursor, words = character()),
    interrupt = function(condition) list(start = cursor, words = character())
  )
  keep_interrupts_out()
  words <- unlist(lapply(found$words, text))
  done(0L, frame(0x86, state$request, u32(found$start), u32(cursor), u32(length(found$words)), words))
}

# The environment of a user who came after the start. Bytes stay bytes: text marked as UTF-8 would be translated.
bind <- function(payload) {
  count <- number_at(payload, 5L)
  strings <- list()
  at <- 9
  while (at + 3 <= length(payload)) {
    size <- number_at(payload, at)
    if (size > length(payload) - at - 3) break
    strings[[length(strings) + 1L]] <- payload[at + 3 + seq_len(size)]
    at <- at + 4 + size
  }
  odd <- seq_along(strings) %% 2L == 1L
  names <- strings[odd]
  unfit <- vapply(names, function(name) length(name) == 0L || charToRaw("=") %in% name, NA)
  if (at != length(payload) + 1 || length(strings) != 2 * count || any(unfit) || as.raw(0L) %in% unlist(strings)) {
    stop("kernel: a malformed BIND")
  }
  if (count > 0) {
    values <- lapply(strings[!odd], rawToChar)
    do.call(Sys.setenv, stats::setNames(values, vapply(names, rawToChar, "")))
  }
  done(0L)
}

serve_request <- function() {
  header <- read_bytes(5L)
  if (is.null(header)) quit("no", 0L)
  size <- number_at(header, 1L)
  if (size < 4 || size > MAX_FRAME) stop("kernel: a request of ", size, " bytes")
  payload <- read_bytes(size)
  if (is.null(payload)) quit("no", 0L)
  state$request <- payload[1:4]
  state$owed <- TRUE
  switch(as.integer(header[5L]),
    execute(payload),
    done(0L, frame(0x87, state$request)),
    complete(payload),
    {
      done(0L)
      quit("no", 0L)
    },
    bind(payload),
    stop("kernel: request of unknown type ", header[5L])
  )
}

# A request that an interrupt has taken from its way is answered.
serve_next <- function() {
  keep_interrupts_out()
  if (state$owed) finish(INTERRUPTED)
  serve_request()
}

# R's own, but for our two channels, which are connections like the user's.
close_all_connections <- function() {
  sink(stderr(), type = "message")
  while (sink.number() > 0L) sink()
  gc()
  for (number in setdiff(getAllConnections(), c(0:2, requests, events))) close(getConnection(number))
  invisible()
}

prepare <- function() {
  unlockBinding("closeAllConnections", baseenv())
  assign("closeAllConnections", close_all_connections, envir = baseenv())
  lockBinding("closeAllConnections", baseenv())
  # R's first wait puts SIGINT back to what a variable says that is set only as that wait begins: one that comes in this very moment
  # would leave it deadly. So the first one is here, where none comes.
  Sys.sleep(1e-6)
  if (!isTRUE(l10n_info()[["UTF-8"]])) Sys.setlocale("LC_CTYPE", "C.UTF-8")
  options(device = open_device, warn = 1L, browser = function(url) message("not opened, there is no browser here: ", url),
          menu.graphics = FALSE, keep.source = TRUE, error = NULL)
  attach(list(display = display), name = "carrel", warn.conflicts = FALSE)
}

requests <- open_channel(3L, "rb")
events <- open_channel(4L, "wb")
suspendInterrupts({
  prepare()
  version <- paste(R.version$major, R.version$minor, sep = ".")
  send(frame(0x81, text("r"), text(version), text("plain")))
  repeat tryCatch(serve_next(), interrupt = function(condition) NULL)
})

}, envir = new.env(parent = baseenv()))
