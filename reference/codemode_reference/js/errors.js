// What a thrown value stands for. Errors that the bridge made are known by their identity.

const { codes, reasons, messages, error_fields: errorFields } = settings;
const made = new WeakMapConstructor();
// Those that may stand for a lack of memory: only the worker can tell.
const doubtful = new WeakSetConstructor();
const OVERFLOW = "Maximum call stack size exceeded";

// Getters that stand for a data property, with its value: see js/frozen.js.
const standing = new WeakMapConstructor();

// A string that stands in a data property of `found` or of a prototype; undefined without one.
const dataText = (found, key) => {
  for (let object = found; object !== null; object = getPrototypeOf(object)) {
    const property = getOwnPropertyDescriptor(object, key);
    if (property === undefined) continue;
    const value = owns(property, "value") ? property.value : get(standing, property.get);
    return typeof value === "string" ? value : undefined;
  }
  return undefined;
};

// The reason that the engine's own error stands for, or null.
const exhausted = (thrown) => {
  if (typeof thrown !== "object" || thrown === null || !isError(thrown)) return null;
  const prototype = getPrototypeOf(thrown);
  if (prototype === InternalErrorPrototype) {
    return dataText(thrown, "message") === "stack overflow" ? reasons.stack : reasons.memory;
  }
  const overflow =
    prototype === RangeErrorPrototype &&
    !marked(handmade, thrown) &&
    dataText(thrown, "message") === OVERFLOW;
  return overflow ? reasons.stack : null;
};

// The `error` of a result for a thrown value: its own code only for an error of the bridge, by
// identity.
const verdict = (thrown) => {
  const isObject = typeof thrown === "object" && thrown !== null;
  const own = isObject ? get(made, thrown) : undefined;
  if (own !== undefined) return own;
  const reason = exhausted(thrown);
  if (reason !== null) return rejected(reason, "");
  return rejected(reasons.uncaught, words().describe(thrown));
};

const rejected = (reason, detail, line, column) =>
  '{"code":' + stringify(codes.code_rejected) + ',"reason":' + stringify(reason) +
  (line > 0 ? ',"line":' + line : "") +
  (column > 0 ? ',"column":' + column : "") +
  (detail === "" ? "" : ',"detail":' + stringify(words().printable(detail))) +
  "}";
