// What tells an object that is more than its properties, whatever its prototype and its tag say. An
// async generator is missing: its methods take anything and answer later.

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

// Methods of iterators. They do change their own kind, which is refused: it is closed or goes on by
// one.
const MOVING_SLOTS = [];
for (let index = 0; index < iterators.length; index++) {
  MOVING_SLOTS.push(iterators[index].return || iterators[index].next);
}
// It has no call without an argument that succeeds.
if (global.FinalizationRegistry) MOVING_SLOTS.push(FinalizationRegistry.prototype.unregister);

const stackLimit = getOwnPropertyDescriptor(Error, "stackTraceLimit");
