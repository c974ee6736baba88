# The parts of the R kernel that most contexts never use.

# An htmlwidget as one page that needs no other file. htmlwidgets can do that itself only with pandoc.
widget_html <- function(widget) {
  folder <- tempfile("widget")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  page <- file.path(folder, "widget.html")
  htmlwidgets::saveWidget(widget, page, selfcontained = FALSE, libdir = "lib")
  html <- paste(readLines(page, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  html <- inline(html, folder, '<script src="([^"]+)"></script>', function(text) {
    paste0("<script>", gsub("</script", "<\\/script", text, fixed = TRUE), "</script>")
  })
  inline(html, folder, '<link href="([^"]+)" rel="stylesheet" ?/?>', function(text) paste0("<style>", text, "</style>"))
}

inline <- function(html, folder, pattern, wrap) {
  for (tag in unique(regmatches(html, gregexpr(pattern, html))[[1L]])) {
    file <- file.path(folder, utils::URLdecode(sub(pattern, "\\1", tag)))
    if (!file.exists(file)) next
    text <- paste(readLines(file, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
    parts <- strsplit(html, tag, fixed = TRUE)[[1L]]
    html <- paste(parts, collapse = wrap(text))
  }
  html
}

# Completion by R's own completer; `start` counts bytes.
completions <- function(bytes, cursor) {
  before <- rawToChar(bytes[seq_len(min(cursor, length(bytes)))])
  Encoding(before) <- "UTF-8"
  line <- sub("^.*\n", "", before)
  utils:::.assignLinebuffer(line)
  utils:::.assignEnd(nchar(line))
  utils:::.guessTokenFromLine()
  utils:::.completeToken()
  token <- utils:::.CompletionEnv[["token"]]
  words <- sort(unique(utils:::.retrieveCompletions()))
  list(start = cursor - nchar(token, "bytes"), words = utils::head(words[nzchar(words)], 200L))
}
