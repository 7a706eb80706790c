// Which JavaScript values may leave a program, and as what.

import { types } from "node:util";

export class Refused extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

const SLOTS = [
  "isAnyArrayBuffer", "isArgumentsObject", "isArrayBufferView", "isBoxedPrimitive", "isDate", "isExternal",
  "isGeneratorObject", "isMap", "isMapIterator", "isModuleNamespaceObject", "isNativeError", "isPromise",
  "isRegExp", "isSet", "isSetIterator", "isWeakMap", "isWeakSet",
];

// Prototypes that the language brings along, but for Object.prototype.
const builtIn = new Set();
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
  if (typeof value === "function" && value.prototype) builtIn.add(value.prototype);
}
for (const object of [[][Symbol.iterator](), new Map().keys(), new Set().keys(), (function* () {})()]) {
  for (let up = Object.getPrototypeOf(object); up !== null; up = Object.getPrototypeOf(up)) builtIn.add(up);
}
builtIn.delete(Object.prototype);

function isPlain(object) {
  if (SLOTS.some((test) => types[test](object))) return false;
  for (let up = Object.getPrototypeOf(object); up !== null; up = Object.getPrototypeOf(up)) {
    if (builtIn.has(up)) return false;
  }
  return true;
}

/** One reading of a value as [JSON text, height]; undefined where there is none. */
function snapshot(value, maxDepth, nestedUndefined) {
  const known = new Map();

  const member = (found, key, level) => {
    const isObject = typeof found === "object" && found !== null;
    if (isObject && known.has(found)) {
      const node = known.get(found);
      if (node === null) throw new Refused("not_json");
      if (node && level + node.height > maxDepth) throw new Refused("too_deep");
      return node;
    }
    if (isObject) known.set(found, null);
    const node = fresh(found, key, level);
    if (isObject) known.set(found, node);
    return node;
  };

  const fresh = (found, key, level) => {
    const method = (typeof found === "object" || typeof found === "function") && found ? found.toJSON : null;
    const item = typeof method === "function" ? method.call(found, key) : found;
    switch (typeof item) {
      case "undefined":
        return undefined;
      case "boolean":
        return { text: String(item), height: 0 };
      case "number":
        if (!Number.isFinite(item)) throw new Refused("not_json");
        return { text: JSON.stringify(item), height: 0 };
      case "string":
        if (!item.isWellFormed()) throw new Refused("not_json");
        return { text: JSON.stringify(item), height: 0 };
      case "object":
        return item === null ? { text: "null", height: 0 } : container(item, level);
      default:
        throw new Refused("not_json");
    }
  };

  const container = (item, level) => {
    if (level >= maxDepth) throw new Refused("too_deep");
    const parts = [];
    let height = 0;
    const add = (before, node) => {
      parts.push(before + node.text);
      height = Math.max(height, node.height);
    };
    if (Array.isArray(item)) {
      const { length } = item;
      for (let index = 0; index < length; index += 1) {
        if (!Object.hasOwn(item, index)) throw new Refused("not_json");
        const node = member(item[index], String(index), level + 1);
        if (node === undefined) throw new Refused("not_json");
        add("", node);
      }
      return { text: `[${parts.join()}]`, height: height + 1 };
    }
    if (!isPlain(item)) throw new Refused("not_json");
    for (const key of Reflect.ownKeys(item)) {
      if (!Object.prototype.propertyIsEnumerable.call(item, key)) continue;
      if (typeof key === "symbol" || !key.isWellFormed()) throw new Refused("not_json");
      const node = member(item[key], key, level + 1);
      if (node === undefined && nestedUndefined === "reject") throw new Refused("not_json");
      if (node !== undefined) add(`${JSON.stringify(key)}:`, node);
    }
    return { text: `{${parts.join()}}`, height: height + 1 };
  };

  return member(value, "", 0);
}

/** {text}, {absent: true} or {refused} for a value in one place. */
export function leave(value, place, maxDepth, alternatives) {
  if (value === undefined) {
    if (place === "arguments") return { text: "{}" };
    return alternatives.undefined_result === "absent" ? { absent: true } : { refused: "no_value" };
  }
  try {
    const node = snapshot(value, maxDepth, alternatives.nested_undefined);
    return node === undefined ? { refused: "not_json" } : { text: node.text };
  } catch (fault) {
    if (fault instanceof Refused) return { refused: fault.reason };
    throw fault;
  }
}
