import type { CodeResult } from "./generated/types.js";
import type { Bundle } from "./streams.js";

/** What notebooks of Deno ask a value for. */
const DISPLAY = Symbol.for("Jupyter.display");

/** A run of code that notebooks show as what it is. */
export interface RichCodeResult extends CodeResult {
  /** The last expression's value as text; empty when there is none. */
  readonly text: string;
}

export function rich(result: CodeResult): RichCodeResult {
  const shown = { ...result, text: result.result?.["text/plain"] ?? "" };
  Object.defineProperty(shown, DISPLAY, { value: () => notebookBundle(result), enumerable: false });
  return shown;
}

/** One output as it is, or all of them one below the other, as Jupyter wants it. */
function notebookBundle(result: CodeResult): Record<string, unknown> {
  const outputs: Bundle[] = [];
  const printed = result.stdout + result.stderr;
  if (printed !== "") {
    outputs.push({ "text/plain": printed });
  }
  outputs.push(...result.displayOutputs.map((display) => ({ [display.type]: display.data })));
  if (result.result !== null) {
    outputs.push(result.result);
  }
  if (result.error !== null) {
    outputs.push({ "text/plain": result.error.traceback });
  }
  const only = outputs[0];
  if (only === undefined) {
    return { "text/plain": "" };
  }
  if (outputs.length === 1) {
    return Object.fromEntries(Object.entries(only).map(([mime, data]) => [mime, isJson(mime) ? JSON.parse(data) : data]));
  }
  return {
    "text/plain": outputs.map((output) => output["text/plain"] ?? "").filter(Boolean).join("\n"),
    "text/html": outputs.map(asHtml).join("\n"),
  };
}

function isJson(mime: string): boolean {
  return mime === "application/json" || mime.endsWith("+json");
}

function asHtml(bundle: Bundle): string {
  const page = bundle["text/html"] ?? bundle["image/svg+xml"];
  if (page !== undefined) {
    return page;
  }
  const image = ["image/png", "image/jpeg", "image/gif", "image/webp"].find((mime) => mime in bundle);
  if (image !== undefined) {
    return `<img src="data:${image};base64,${bundle[image]}"/>`;
  }
  const text = bundle["text/plain"] ?? Object.values(bundle)[0] ?? "";
  return `<pre>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}</pre>`;
}
