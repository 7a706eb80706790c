// Built-ins that a program cannot change, and globals that it does not have.

const WITHHELD = ["process", "require", "global", "globalThis", "setTimeout", "setInterval", "eval"];
for (let index = 0; index < WITHHELD.length; index++) {
  defineProperty(global, WITHHELD[index], {
    __proto__: null,
    value: undefined,
    enumerable: false,
    configurable: false,
    writable: false,
  });
}

// A frozen data property cannot be assigned to on an object that inherits it, which programs do all
// the time: `this.name = "..."` in a class of errors. Where that is usual an accessor stands for it:
// what is read is the same, and what is written stands on the object itself.
const OVERRIDDEN = ["constructor", "name", "message", "toString", "toLocaleString", "valueOf", "toJSON"];
const overridable = (prototype, key) => {
  const found = getOwnPropertyDescriptor(prototype, key);
  if (found === undefined || !owns(found, "value") || !found.configurable) return;
  const { value, enumerable } = found;
  const reader = () => value;
  put(standing, reader, value);
  defineProperty(prototype, key, {
    __proto__: null,
    get: reader,
    set: function (changed) {
      const own = { __proto__: null, value: changed, enumerable: true, configurable: true, writable: true };
      if (this === prototype || !defineProperty(this, key, own)) {
        throw new TypeErrorConstructor("'" + key + "' is read-only");
      }
    },
    enumerable,
    configurable: false,
  });
};

// Everything that can be reached from the globals and from the syntax, each thing once.
const { TypeError: TypeErrorConstructor } = global;
const reached = new Set();
const toFreeze = [asyncGenerator, async () => {}, function* () {}, async function* () {}];
for (let index = 0; index < names.length; index++) toFreeze.push(global[names[index]]);
for (let index = 0; index < iterators.length; index++) toFreeze.push(getPrototypeOf(iterators[index]));
while (toFreeze.length > 0) {
  const item = toFreeze.pop();
  const isObject = (typeof item === "object" && item !== null) || typeof item === "function";
  if (!isObject || item === global || reached.has(item)) continue;
  reached.add(item);
  toFreeze.push(getPrototypeOf(item));
  const keys = ownKeys(item);
  for (let index = 0; index < keys.length; index++) {
    const found = getOwnPropertyDescriptor(item, keys[index]);
    if (found !== undefined) toFreeze.push(found.value, found.get, found.set);
  }
}
for (const item of reached) {
  const prototype = typeof item === "function" && item.prototype;
  if (prototype && reached.has(prototype)) {
    const keys = prototype === ObjectPrototype ? ownKeys(prototype) : OVERRIDDEN;
    for (let index = 0; index < keys.length; index++) {
      if (keys[index] !== "__proto__") overridable(prototype, keys[index]);
    }
  }
}
for (const item of reached) freeze(item);
