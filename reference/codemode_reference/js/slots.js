// Objects that are more than their properties, whatever their prototype and their tag say. An async
// generator is missing: its methods take anything and answer later.

const NONE = freeze([]);
const { toStringTag: TAG, iterator: ITERATOR } = Symbol;
const getter = (object, key) => getOwnPropertyDescriptor(object, key).get;

// One call for each kind of slot: it throws unless the object has the slot, and changes nothing if
// it has. Those of the first list also show in Object.prototype.toString, where no tag hides them.
const TAGGED_SLOTS = [
  Boolean.prototype.valueOf,
  Number.prototype.valueOf,
  String.prototype.valueOf,
  Date.prototype.valueOf,
  getter(RegExp.prototype, "source"),
];
const HIDDEN_SLOTS = [
  Symbol.prototype.valueOf,
  BigInt.prototype.valueOf,
  getter(Map.prototype, "size"),
  getter(Set.prototype, "size"),
  mapHas,
  setHas,
  getter(ArrayBuffer.prototype, "byteLength"),
  getter(SharedArrayBuffer.prototype, "byteLength"),
  then,
];
// What an old engine lacks.
if (global.WeakRef) HIDDEN_SLOTS.push(WeakRef.prototype.deref);
if (global.DisposableStack) HIDDEN_SLOTS.push(getter(DisposableStack.prototype, "disposed"));
if (global.AsyncDisposableStack) {
  HIDDEN_SLOTS.push(getter(AsyncDisposableStack.prototype, "disposed"));
}

// Methods of iterators, and the message with which they refuse any other object. They do change
// their own kind, which is refused: it is closed or goes on by one.
const moving = [];
const addMoving = (method) => {
  try {
    apply(method, { __proto__: null }, NONE);
  } catch (thrown) {
    moving.push({ __proto__: null, method, refusal: dataText(thrown, "message") });
  }
};
for (let index = 0; index < iterators.length; index++) {
  addMoving(iterators[index].return || iterators[index].next);
}
// It has no call without an argument that succeeds.
if (global.FinalizationRegistry) addMoving(FinalizationRegistry.prototype.unregister);

const stackLimit = getOwnPropertyDescriptor(Error, "stackTraceLimit");

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

const anyMoving = (object) => {
  for (let index = 0; index < moving.length; index++) {
    const { method, refusal } = moving[index];
    try {
      apply(method, object, NONE);
      return true;
    } catch (thrown) {
      if (thrown === null || exhausted(thrown) !== null) throw thrown;
      // The program's own code has thrown, so it was called.
      if (typeof thrown !== "object" || dataText(thrown, "message") !== refusal) return true;
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
