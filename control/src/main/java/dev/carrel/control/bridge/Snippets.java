package dev.carrel.control.bridge;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;

/**
 * The code that writes a variable to a file, or makes one of a file's content. {@code NAME} and
 * {@code PATH} are filled in, both of which are made of letters, digits and a few signs only.
 */
final class Snippets {
  private static final String PYTHON_WRITE =
      """
      def carrel_bridge_(value):
          import json
          def plain(o):
              if hasattr(o, 'to_dict') and hasattr(o, 'columns'):
                  return o.to_dict(orient='records')
              for way in ('tolist', 'item', 'isoformat'):
                  if hasattr(o, way):
                      return getattr(o, way)()
              if isinstance(o, (set, frozenset)):
                  return list(o)
              raise TypeError('a ' + type(o).__name__ + ' cannot be carried as JSON')
          text = json.dumps(value, default=plain, allow_nan=False)
          with open('PATH', 'w', encoding='utf-8') as file:
              file.write(text)
      try:
          carrel_bridge_(NAME)
      finally:
          del carrel_bridge_
      """;

  private static final String PYTHON_WRITE_TABLE =
      """
      def carrel_bridge_(frame):
          import json
          try:
              import pandas as pd
          except ImportError:
              raise TypeError('a table needs pandas') from None
          if not hasattr(frame, 'columns'):
              frame = pd.DataFrame(frame)
          kinds = {'b': 'boolean', 'i': 'integer', 'u': 'integer', 'f': 'number', 'M': 'datetime'}
          columns = []
          for name in frame.columns:
              column = frame[name]
              kind = kinds.get(getattr(column.dtype, 'kind', 'O'), 'string')
              make = {'boolean': bool, 'integer': int, 'number': float, 'string': str,
                      'datetime': lambda v: pd.Timestamp(v).isoformat()}[kind]
              columns.append({'name': str(name), 'type': kind,
                              'values': [None if pd.isna(v) else make(v) for v in column]})
          text = json.dumps({'columns': columns}, allow_nan=False)
          with open('PATH', 'w', encoding='utf-8') as file:
              file.write(text)
      try:
          carrel_bridge_(NAME)
      finally:
          del carrel_bridge_
      """;

  private static final String PYTHON_READ =
      """
      def carrel_bridge_():
          import json
          with open('PATH', encoding='utf-8') as file:
              return json.load(file)
      try:
          NAME = carrel_bridge_()
      finally:
          del carrel_bridge_
      """;

  private static final String PYTHON_READ_TABLE =
      """
      def carrel_bridge_():
          import json
          with open('PATH', encoding='utf-8') as file:
              table = json.load(file)
          try:
              import pandas as pd
          except ImportError:
              names = [c['name'] for c in table['columns']]
              return [dict(zip(names, row)) for row in zip(*(c['values'] for c in table['columns']))]
          kinds = {'boolean': 'boolean', 'integer': 'Int64', 'number': 'float64', 'string': 'object'}
          return pd.DataFrame({c['name']: pd.to_datetime(pd.Series(c['values'], dtype='object'))
                               if c['type'] == 'datetime'
                               else pd.Series(c['values'], dtype=kinds[c['type']]) for c in table['columns']})
      try:
          NAME = carrel_bridge_()
      finally:
          del carrel_bridge_
      """;

  private static final String NODE_WRITE =
      """
      ((value) => {
        const text = JSON.stringify(value, (_, v) => v instanceof Map ? Object.fromEntries(v) : v instanceof Set ? [...v] : v);
        if (text === undefined) throw new TypeError('it cannot be carried as JSON');
        require('fs').writeFileSync('PATH', text);
      })(NAME);
      """;

  private static final String NODE_WRITE_TABLE =
      """
      ((rows) => {
        if (!Array.isArray(rows)) throw new TypeError('a table is an array of objects');
        const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
        const kind = (values) => {
          const some = values.filter((v) => v !== null);
          const all = (test) => some.length > 0 && some.every(test);
          return all((v) => typeof v === 'boolean') ? 'boolean' : all(Number.isSafeInteger) ? 'integer'
            : all((v) => typeof v === 'number') ? 'number' : all((v) => v instanceof Date) ? 'datetime' : 'string';
        };
        const columns = names.map((name) => {
          const raw = rows.map((row) => row[name] ?? null);
          const type = kind(raw);
          const values = raw.map((v) => v === null ? null : type === 'string' ? String(v) : type === 'datetime' ? v.toISOString() : v);
          return { name, type, values };
        });
        require('fs').writeFileSync('PATH', JSON.stringify({ columns }));
      })(NAME);
      """;

  private static final String NODE_READ =
      "globalThis.NAME = JSON.parse(require('fs').readFileSync('PATH', 'utf8')); undefined;\n";

  private static final String NODE_READ_TABLE =
      """
      globalThis.NAME = ((columns) => Array.from({ length: columns[0]?.values.length ?? 0 }, (_, i) =>
        Object.fromEntries(columns.map((c) => [c.name,
          c.type === 'datetime' && c.values[i] !== null ? new Date(c.values[i]) : c.values[i]])))
        )(JSON.parse(require('fs').readFileSync('PATH', 'utf8')).columns); undefined;
      """;

  private static final String R_TEXT =
      """
      invisible((function(value) {
        text <- function(s) {
          s <- enc2utf8(as.character(s))
          for (pair in list(c("\\\\", "\\\\\\\\"), c("\\"", "\\\\\\""), c("\\n", "\\\\n"), c("\\r", "\\\\r"), c("\\t", "\\\\t")))
            s <- gsub(pair[1], pair[2], s, fixed = TRUE)
          paste0("\\"", gsub("[\\001-\\037]", " ", s), "\\"")
        }
        number <- function(v) {
          if (!is.finite(v)) stop("a number that is not finite cannot be carried as JSON")
          s <- format(v, digits = 15, trim = TRUE)
          if (as.numeric(s) == v) s else format(v, digits = 17, trim = TRUE)
        }
        one <- function(v) {
          if (is.na(v)) "null" else if (is.logical(v)) tolower(as.character(v))
          else if (inherits(v, "POSIXt")) text(format(v, "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"))
          else if (inherits(v, "Date")) text(format(v, "%Y-%m-%d"))
          else if (is.numeric(v)) number(v) else text(v)
        }
        each <- function(x) paste0("[", paste(vapply(seq_along(x), function(i) one(x[i]), ""), collapse = ","), "]")
      """;

  private static final String R_WRITE =
      R_TEXT
          + """
              json <- function(x) {
                if (is.null(x)) return("null")
                if (is.factor(x)) x <- as.character(x)
                if (is.data.frame(x)) x <- lapply(seq_len(nrow(x)), function(i) lapply(x, function(col) if (is.factor(col)) as.character(col[i]) else col[i]))
                if (is.function(x) || is.environment(x)) stop("a function cannot be carried as JSON")
                if (is.list(x) || !is.null(names(x))) {
                  parts <- vapply(as.list(x), json, "")
                  if (is.null(names(x))) return(paste0("[", paste(parts, collapse = ","), "]"))
                  return(paste0("{", paste0(vapply(names(x), text, ""), ":", parts, collapse = ","), "}"))
                }
                if (length(x) == 1L) one(x) else each(x)
              }
              writeLines(json(value), "PATH", useBytes = TRUE)
            })(NAME))
            """;

  private static final String R_WRITE_TABLE =
      R_TEXT
          + """
              frame <- value
              if (!is.data.frame(frame)) stop("it is no data frame")
              columns <- vapply(names(frame), function(name) {
                x <- frame[[name]]
                if (is.factor(x)) x <- as.character(x)
                type <- if (is.logical(x)) "boolean" else if (inherits(x, c("POSIXt", "Date"))) "datetime"
                  else if (is.integer(x)) "integer" else if (is.numeric(x)) "number" else "string"
                paste0("{\\"name\\":", text(name), ",\\"type\\":\\"", type, "\\",\\"values\\":", each(x), "}")
              }, "")
              writeLines(paste0("{\\"columns\\":[", paste(columns, collapse = ","), "]}"), "PATH", useBytes = TRUE)
            })(NAME))
            """;

  private static final String R_READ =
      "NAME <- eval(parse(file = \"PATH\", encoding = \"UTF-8\", keep.source = FALSE))\n";

  // A variable that is not set leaves no file.
  private static final String BASH_WRITE =
      "if [ -n \"${NAME+x}\" ]; then printf %s \"$NAME\" > 'PATH'; fi\n";

  private static final String BASH_READ = "IFS= read -r -d '' NAME < 'PATH' || true\n";

  private Snippets() {}

  /** Writes a variable to a file. */
  static String write(Language language, Form form, String name, String path) {
    return filled(
        switch (language) {
          case PYTHON -> form == Form.JSON ? PYTHON_WRITE : PYTHON_WRITE_TABLE;
          case NODE -> form == Form.JSON ? NODE_WRITE : NODE_WRITE_TABLE;
          case R -> form == Form.JSON ? R_WRITE : R_WRITE_TABLE;
          case BASH -> only(form, BASH_WRITE);
        },
        name,
        path);
  }

  /** Makes a variable of a file. */
  static String read(Language language, Form form, String name, String path) {
    return filled(
        switch (language) {
          case PYTHON -> form == Form.JSON ? PYTHON_READ : PYTHON_READ_TABLE;
          case NODE -> form == Form.JSON ? NODE_READ : NODE_READ_TABLE;
          case R -> R_READ;
          case BASH -> only(form, BASH_READ);
        },
        name,
        path);
  }

  private static String only(Form form, String snippet) {
    if (form == Form.TABLE) {
      throw new SandboxException(ErrorCode.NOT_SUPPORTED, "bash has no tables")
          .withHint("carry it as json");
    }
    return snippet;
  }

  private static String filled(String snippet, String name, String path) {
    return snippet.replace("NAME", name).replace("PATH", path);
  }
}
