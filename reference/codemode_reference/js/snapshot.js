// Values that leave the program, as JSON text.

const NON_ASCII = /[^\0-\x7f]/;
const LONE_SURROGATE = /[\ud800-\udfff]/u;
const NOT_JSON = { __proto__: null };
const LARGEST = Number.MAX_SAFE_INTEGER;

const PIECE = 4096;

// The bytes of `text` in UTF-8, by pieces: the escaped form of a long text may not fit the heap.
const byteLength = (text) => {
  if (!matches(NON_ASCII, text)) return text.length;
  let size = 0;
  for (let from = 0; from < text.length; ) {
    const unit = unitAt(text, from + PIECE - 1);
    const to = from + PIECE + (unit >= 0xd800 && unit < 0xdc00 ? 1 : 0);
    size += toBytes(toUtf8(cut(text, from, to))).length;
    from = to;
  }
  return size;
};

// JSON.stringify looks up nothing for a primitive string.
const quote = (text) => {
  if (matches(NON_ASCII, text) && matches(LONE_SURROGATE, text)) throw NOT_JSON;
  return stringify(text);
};

// The JSON text of a primitive, null for an object or a function.
const scalar = (value) => {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      if (value - value !== 0) throw NOT_JSON;
      return "" + value;
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : null;
    case "function":
      return null;
    default:
      throw NOT_JSON;
  }
};

const newNode = () => ({ __proto__: null, open: true, depth: 0, size: 0, text: "" });

// Adds text of `size` bytes; beyond the limit only the size goes on.
const append = (node, text, size, limit) => {
  node.size = node.size + size > LARGEST ? LARGEST : node.size + size;
  node.text = node.text === null || text === null || node.size > limit ? null : node.text + text;
};

// {fault, null_thrown, size, text}: the fault is a reason of the error table; the text is there without
// a fault and up to `limit` bytes. `null_thrown` is whether the reading ended with a null, which is the
// program's or the engine's without memory. The engine's own errors come out as exceptions.
const snapshot = (value, limit) => {
  const top = newNode();
  const progress = { __proto__: null, too_deep: false };
  let fault = null;
  let nullThrown = false;
  try {
    const text = scalar(value);
    if (text === null) objects().readAll(value, top, limit, progress);
    else append(top, text, byteLength(text), limit);
    // A shared object may lie deeper than on the way on which it was read.
    if (top.depth > session.limits.value_depth) fault = reasons.too_deep;
  } catch (thrown) {
    fault = reasons.not_json;
    if (thrown !== NOT_JSON) {
      // What is nested too deep may take more memory to read to the end than there is.
      if (progress.too_deep) fault = reasons.too_deep;
      else if (thrown === null) nullThrown = true;
      else if (exhausted(thrown) !== null) throw thrown;
    }
  }
  return { __proto__: null, fault, null_thrown: nullThrown, size: top.size, text: top.text };
};
