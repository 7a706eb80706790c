// Captured before the program exists: a program may replace every global and every method, so
// nothing below looks one up again. No spread, no for-of, no array destructuring, no template literal
// (the engine makes it a call of String.prototype.concat) and no assignment to a new index of an array
// anywhere: each of them runs code that a program can replace.
const {
  apply,
  construct,
  defineProperty,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  ownKeys,
} = Reflect;
const { isArray } = Array;
const { isView } = ArrayBuffer;
// An old engine has only the tag, which a revoked proxy refuses to tell.
const tagged = (found) => {
  try {
    return tag(found) === "[object Error]";
  } catch {
    return false;
  }
};
const isError = Error.isError || tagged;
const isRawJSON = JSON.isRawJSON || (() => false);
const global = globalThis;
const evaluate = eval;
const toAscii = escape;
const toUtf8 = encodeURIComponent;
const toBytes = unescape;
const parse = JSON.parse;
const stringify = JSON.stringify;
const freeze = Object.freeze;
const PromiseConstructor = Promise;
const ErrorConstructor = Error;
const WeakMapConstructor = WeakMap;
const WeakSetConstructor = WeakSet;
const ProxyConstructor = Proxy;
const ObjectPrototype = Object.prototype;

const { has: mapHas, get: mapGet, set: mapSet } = WeakMap.prototype;
const { has: setHas, add: setAdd } = WeakSet.prototype;
const { hasOwnProperty, propertyIsEnumerable, toString } = ObjectPrototype;
const { exec } = RegExp.prototype;
const { charCodeAt, slice } = String.prototype;
const { then } = Promise.prototype;

const has = (map, key) => apply(mapHas, map, [key]);
const get = (map, key) => apply(mapGet, map, [key]);
const put = (map, key, value) => apply(mapSet, map, [key, value]);
const marked = (set, key) => apply(setHas, set, [key]);
const mark = (set, key) => apply(setAdd, set, [key]);
const owns = (object, key) => apply(hasOwnProperty, object, [key]);
const shows = (object, key) => apply(propertyIsEnumerable, object, [key]);
const tag = (object) => apply(toString, object, []);
const matches = (pattern, text) => apply(exec, pattern, [text]) !== null;
const unitAt = (text, index) => apply(charCodeAt, text, [index]);
const cut = (text, from, to) => apply(slice, text, [from, to]);

// A data property whatever a program has put on Object.prototype.
const define = (object, key, value, visible) =>
  defineProperty(object, key, {
    __proto__: null,
    value,
    enumerable: visible,
    configurable: true,
    writable: true,
  });
