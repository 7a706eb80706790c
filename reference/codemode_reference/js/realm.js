// What a program finds in its realm: the globals of ECMAScript, and nothing that an engine adds.

const STANDARD = new Set(
  ("AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array" +
    " BigUint64Array Boolean DataView Date DisposableStack Error EvalError FinalizationRegistry" +
    " Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array" +
    " Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect" +
    " RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError TypeError URIError" +
    " Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI" +
    " decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN" +
    " parseFloat parseInt undefined unescape").split(" "),
);

const InternalErrorPrototype = InternalError.prototype;
const RangeErrorPrototype = RangeError.prototype;

// Prototypes and namespaces of the engine: an object that is one, or inherits from one other than
// Object.prototype, is no plain object.
const intrinsics = new WeakSetConstructor();
mark(intrinsics, global);

// Errors that the program made itself, so that its own RangeError is not taken for the engine's.
const handmade = new WeakSetConstructor();

const names = ownKeys(global);
for (let index = 0; index < names.length; index++) {
  const name = names[index];
  if (typeof name === "string" && !STANDARD.has(name)) {
    delete global[name];
  } else if (typeof name === "string" && global[name] !== null) {
    const found = global[name];
    if (typeof found === "object") mark(intrinsics, found);
    if (typeof found === "function" && typeof found.prototype === "object") {
      mark(intrinsics, found.prototype);
    }
  }
}
const iterators = [
  [][Symbol.iterator](),
  new Map()[Symbol.iterator](),
  new Set()[Symbol.iterator](),
  ""[Symbol.iterator](),
  /x/[Symbol.matchAll](""),
  (function* () {})(),
];
if (global.Iterator) {
  iterators.push([].values().map(toAscii), Iterator.from({ __proto__: null, next: toAscii }));
}
const asyncGenerator = (async function* () {})();
for (let index = 0; index <= iterators.length; index++) {
  let found = getPrototypeOf(index < iterators.length ? iterators[index] : asyncGenerator);
  while (found !== null && found !== ObjectPrototype) {
    mark(intrinsics, found);
    found = getPrototypeOf(found);
  }
}

// The stack hook of this engine hands out the functions on the stack, the bridge's own included.
delete Error.prepareStackTrace;

// Without its constructor an InternalError can only come from the engine: the program cannot make
// one to look out of memory.
define(InternalErrorPrototype, "constructor", ErrorConstructor, false);

global.RangeError = new ProxyConstructor(RangeError, {
  __proto__: null,
  apply: (target, self, args) => remember(apply(target, self, args)),
  construct: (target, args, newTarget) => remember(construct(target, args, newTarget)),
});
define(global, "RangeError", global.RangeError, false);
define(RangeErrorPrototype, "constructor", global.RangeError, false);

function remember(error) {
  mark(handmade, error);
  return error;
}
