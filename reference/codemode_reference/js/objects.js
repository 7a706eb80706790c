// Objects that leave the program: whether they are plain, and the walk that reads them. Every object
// is read once, however often it occurs: a node keeps what became of it. The walk has a stack of its
// own, as a linked list, because an array of ours could be tapped through Array.prototype.

const anySlot = (object, slots) => {
  for (let index = 0; index < slots.length; index++) {
    try {
      apply(slots[index], object, NONE);
      return true;
    } catch {
      // It has no such slot.
    }
  }
  return false;
};

// Whether a call has failed for want of memory or stack, which says nothing of the object.
const starved = (thrown) => thrown === null || exhausted(thrown) !== null;

// The message with which each moving method refuses any other object.
const refusals = { __proto__: null };
for (let index = 0; index < MOVING_SLOTS.length; index++) {
  try {
    apply(MOVING_SLOTS[index], { __proto__: null }, NONE);
  } catch (thrown) {
    if (starved(thrown)) throw thrown;
    refusals[index] = dataText(thrown, "message");
  }
}

const anyMoving = (object) => {
  for (let index = 0; index < MOVING_SLOTS.length; index++) {
    if (refusals[index] === undefined) continue;
    try {
      apply(MOVING_SLOTS[index], object, NONE);
      return true;
    } catch (thrown) {
      if (starved(thrown)) throw thrown;
      // The program's own code has thrown, so it was called.
      if (typeof thrown !== "object" || dataText(thrown, "message") !== refusals[index]) return true;
    }
  }
  return false;
};

// Whether Object.prototype.toString would ask `object` for its tag. No getter is called.
const hasTag = (object) => {
  for (let found = object; found !== null; found = getPrototypeOf(found)) {
    if (owns(found, TAG)) return true;
  }
  return false;
};

const hides = (object, key) => owns(object, key) && !shows(object, key);

// With a tag nothing tells an arguments object for certain, only what it is born with.
const isTagged = (object) =>
  hasTag(object)
    ? anySlot(object, TAGGED_SLOTS) || (hides(object, "callee") && hides(object, ITERATOR))
    : tag(object) !== "[object Object]";

// Whether `object`, which is no array, is more than its properties. Program code may run here only
// if it is: the constructor of a promise, the body of an iterator.
const hasSlots = (object) => {
  if (isError(object) || isView(object) || isRawJSON(object)) return true;
  // Collecting the frames of all these errors would cost four times the rest.
  const frames = stackLimit && stackLimit.get && apply(stackLimit.get, ErrorConstructor, NONE);
  if (frames) apply(stackLimit.set, ErrorConstructor, [0]);
  const found = isTagged(object) || anySlot(object, HIDDEN_SLOTS) || anyMoving(object);
  if (frames) apply(stackLimit.set, ErrorConstructor, [frames]);
  return found;
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
  return { __proto__: null, object, node, up, level, keys, length, index: 0, any: false };
};

// So many times too deep is not read to the end: engines have died of that.
const FAR = 8;
const TOO_FAR = { __proto__: null };

// Reads `root`, which is no primitive, and all it holds into `top`. Throws NOT_JSON, or what the
// program's own code throws.
const readAll = (root, top, limit, progress) => {
  const seen = new WeakMapConstructor();
  put(seen, root, top);
  let frame = enter(root, "", top, null);
  while (frame !== null) {
    const { object, node, keys, index } = frame;
    if (frame.level > session.limits.value_depth) progress.too_deep = true;
    if (frame.level > session.limits.value_depth * FAR) throw TOO_FAR;
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
    const name = keys === null ? "" : quote(key) + ":";
    const value = object[key];
    if (value === undefined && keys !== null && session.omits) continue;
    const before = (frame.any ? "," : "") + name;
    frame.any = true;
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
};

const adopt = (node, child, limit) => {
  append(node, child.text, child.size, limit);
  if (child.depth > node.depth) node.depth = child.depth;
};

return { __proto__: null, readAll };
