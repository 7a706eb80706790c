// Values that leave the program, as JSON text. Every object is read once, however often it occurs:
// a node keeps what became of it. The walk has a stack of its own, as a linked list, because an
// array of ours could be tapped through Array.prototype.

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

// Plain, or of a class of the program: nothing of the engine in its chain but Object.prototype.
const isPlain = (object) => {
  if (marked(intrinsics, object)) return false;
  let found = getPrototypeOf(object);
  while (found !== null && found !== ObjectPrototype) {
    if (marked(intrinsics, found)) return false;
    found = getPrototypeOf(found);
  }
  return !hasSlots(object);
};

// The own enumerable string keys; a symbol among the enumerable keys is no JSON.
const visibleKeys = (object) => {
  const keys = ownKeys(object);
  const visible = { __proto__: null, length: 0 };
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    if (!shows(object, key)) continue;
    if (typeof key === "symbol") throw NOT_JSON;
    visible[visible.length++] = key;
  }
  return visible;
};

const lengthOf = (array) => {
  const { length } = array;
  if (typeof length !== "number" || !(length >= 0 && length <= LARGEST)) throw NOT_JSON;
  return length;
};

const newNode = () => ({ __proto__: null, open: true, depth: 0, size: 0, text: "" });

// Adds text of `size` bytes; beyond the limit only the size goes on.
const append = (node, text, size, limit) => {
  node.size = node.size + size > LARGEST ? LARGEST : node.size + size;
  node.text = node.text === null || text === null || node.size > limit ? null : node.text + text;
};

// Starts the reading of one object, after its toJSON: a frame, or null if that gave a primitive.
const enter = (value, key, node, up) => {
  const { toJSON } = value;
  const object = typeof toJSON === "function" ? apply(toJSON, value, [key]) : value;
  const text = scalar(object);
  if (text !== null) {
    append(node, text, byteLength(text), LARGEST);
    node.open = false;
    return null;
  }
  const list = isArray(object);
  if (typeof object === "function" || (!list && !isPlain(object))) throw NOT_JSON;
  const keys = list ? null : visibleKeys(object);
  const length = list ? lengthOf(object) : keys.length;
  append(node, list ? "[" : "{", 1, LARGEST);
  const level = up === null ? 1 : up.level + 1;
  return { __proto__: null, object, node, up, level, keys, length, index: 0 };
};

// So many times too deep is not read to the end: engines have died of that.
const FAR = 8;
const TOO_FAR = { __proto__: null };

// Reads `root` and all it holds into `top`. Throws NOT_JSON, or what the program's own code throws.
const readAll = (root, top, limit, progress) => {
  const text = scalar(root);
  if (text !== null) return append(top, text, byteLength(text), limit);
  const seen = new WeakMapConstructor();
  put(seen, root, top);
  let frame = enter(root, "", top, null);
  while (frame !== null) {
    const { object, node, keys, index } = frame;
    if (frame.level > limits.value_depth) progress.too_deep = true;
    if (frame.level > limits.value_depth * FAR) throw TOO_FAR;
    if (index === frame.length) {
      append(node, keys === null ? "]" : "}", 1, limit);
      node.depth++;
      node.open = false;
      frame = frame.up;
      if (frame !== null) adopt(frame.node, node, limit);
      continue;
    }
    frame.index++;
    const key = keys === null ? "" + index : keys[index];
    if (keys === null && !owns(object, key)) throw NOT_JSON;
    const before = (index > 0 ? "," : "") + (keys === null ? "" : quote(key) + ":");
    const value = object[key];
    const piece = scalar(value);
    const ready = piece === null ? before : before + piece;
    append(node, ready, byteLength(ready), limit);
    if (piece !== null) continue;
    const known = get(seen, value);
    if (known !== undefined) {
      if (known.open) throw NOT_JSON;
      adopt(node, known, limit);
      continue;
    }
    const child = newNode();
    put(seen, value, child);
    const entered = enter(value, key, child, frame);
    if (entered === null) adopt(node, child, limit);
    else frame = entered;
  }
  return undefined;
};

const adopt = (node, child, limit) => {
  append(node, child.text, child.size, limit);
  if (child.depth > node.depth) node.depth = child.depth;
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
    readAll(value, top, limit, progress);
    // A shared object may lie deeper than on the way on which it was read.
    if (top.depth > limits.value_depth) fault = reasons.too_deep;
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
