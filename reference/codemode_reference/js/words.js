// What is said to programs and people: the errors that the bridge makes, what a thrown value says,
// the name that was meant.

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

const WHERE = /:(\d+):(\d+)\)?\n/;

// The `error` of a result for what the engine has thrown at a program that it did not start.
const refusal = (thrown, source) => {
  if (exhausted(thrown) !== null) return rejected(exhausted(thrown), "");
  const where = apply(exec, WHERE, [thrown.stack + "\n"]) || [0, 0, 0];
  const line = (thrown.lineNumber || where[1]) - 1;
  // What is missing at the end is missed in the text after the program.
  const inside = line <= source.split("\n").length;
  const message = dataText(thrown, "message");
  return rejected(reasons.syntax, message, inside ? line : 0, inside ? where[2] : 0);
};

// The known name closest to `name` by edits, if it has anything in common with it.
const nearest = (name, known) => {
  let best;
  let least = name.length > 64 ? 0 : name.length;
  const candidates = ownKeys(known);
  for (let index = 0; index < candidates.length; index++) {
    const edits = distance(name, candidates[index], least);
    if (edits < least) {
      least = edits;
      best = candidates[index];
    }
  }
  return best;
};

const distance = (from, to, most) => {
  if (from.length - to.length >= most || to.length - from.length >= most) return most;
  let row = { __proto__: null };
  for (let column = 0; column <= to.length; column++) row[column] = column;
  for (let line = 1; line <= from.length; line++) {
    const next = { __proto__: null, 0: line };
    for (let column = 1; column <= to.length; column++) {
      const changed = row[column - 1] + (from[line - 1] === to[column - 1] ? 0 : 1);
      const added = next[column - 1] + 1;
      const removed = row[column] + 1;
      next[column] = changed < added ? changed : added;
      if (removed < next[column]) next[column] = removed;
    }
    row = next;
  }
  return row[to.length];
};

return { __proto__: null, makeError, printable, describe, refusal, nearest };
