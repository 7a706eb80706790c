// Errors that the bridge makes, and how a thrown value is told apart from them.

const { codes, reasons, messages, error_fields: errorFields } = settings;
const made = new WeakMapConstructor();
// Those that may stand for a lack of memory: only the worker can tell.
const doubtful = new WeakSetConstructor();
const OVERFLOW = "Maximum call stack size exceeded";

// An Error with the stable message of `code`; `fields` is an object without prototype.
const makeError = (code, fields) => {
  const parts = messages[code];
  let message = parts[0];
  for (let index = 1; index < parts.length; index += 2) {
    message += fields[parts[index]] + parts[index + 1];
  }
  const error = new ErrorConstructor(message);
  let text = '{"code":' + stringify(code);
  define(error, "code", code, true);
  for (let index = 0; index < errorFields.length; index++) {
    const name = errorFields[index];
    if (fields[name] === undefined) continue;
    define(error, name, fields[name], true);
    text += ',"' + name + '":' + stringify(fields[name]);
  }
  define(error, "stack", "Error: " + message, false);
  put(made, error, text + "}");
  return error;
};

// A string that stands in a data property of `found` or of a prototype; undefined without one.
const dataText = (found, key) => {
  for (let object = found; object !== null; object = getPrototypeOf(object)) {
    const property = getOwnPropertyDescriptor(object, key);
    if (property === undefined) continue;
    return owns(property, "value") && typeof property.value === "string"
      ? property.value
      : undefined;
  }
  return undefined;
};

// The reason that the engine's own error stands for, or null.
const exhausted = (thrown) => {
  if (typeof thrown !== "object" || thrown === null || !isError(thrown)) return null;
  const prototype = getPrototypeOf(thrown);
  if (prototype === InternalErrorPrototype) {
    return dataText(thrown, "message") === "stack overflow" ? reasons.stack : reasons.memory;
  }
  const overflow =
    prototype === RangeErrorPrototype &&
    !marked(handmade, thrown) &&
    dataText(thrown, "message") === OVERFLOW;
  return overflow ? reasons.stack : null;
};

const CONTROL = /[\0-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]/u;

// Text of the program for a person to read: bounded, control characters and lone surrogates escaped.
const printable = (text) => {
  let clean = "";
  for (let index = 0; index < text.length && clean.length < settings.detail_characters; index++) {
    let piece = text[index];
    const unit = unitAt(text, index);
    const pair = unit >= 0xd800 && unit < 0xdc00 && index + 1 < text.length;
    if (pair && !matches(CONTROL, piece + text[index + 1])) piece += text[++index];
    if (matches(CONTROL, piece)) piece = "\\u" + cut("000" + hex(unit), -4);
    if (clean.length + piece.length > settings.detail_characters) break;
    clean += piece;
  }
  return clean;
};

const DIGITS = "0123456789abcdef";
const hex = (unit) => (unit < 16 ? "" : hex(unit >> 4)) + DIGITS[unit & 15];

// What a thrown value says of itself, read without running a getter or a conversion; nothing if the
// traps of a proxy throw.
const describe = (thrown) => {
  if ((typeof thrown !== "object" && typeof thrown !== "function") || thrown === null) return "";
  try {
    const name = dataText(thrown, "name");
    const message = dataText(thrown, "message");
    if (name === undefined || message === undefined) return name ?? message ?? "";
    return name === "" || message === "" ? name + message : name + ": " + message;
  } catch {
    return "";
  }
};

// The `error` of a result for a thrown value: its own code only for an error of the bridge, by
// identity.
const verdict = (thrown) => {
  const isObject = typeof thrown === "object" && thrown !== null;
  const own = isObject ? get(made, thrown) : undefined;
  if (own !== undefined) return own;
  const reason = exhausted(thrown);
  if (reason !== null) return rejected(reason, "");
  return rejected(reasons.uncaught, describe(thrown));
};

const rejected = (reason, detail, line, column) =>
  '{"code":' + stringify(codes.code_rejected) + ',"reason":' + stringify(reason) +
  (line > 0 ? ',"line":' + line : "") +
  (column > 0 ? ',"column":' + column : "") +
  (detail === "" ? "" : ',"detail":' + stringify(printable(detail))) +
  "}";
