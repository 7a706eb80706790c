// What one line is to the end that receives it: an event, and why it is refused.

import { Numeral, read, SyntaxFault } from "./json_text.mjs";
import { invalidField, rowsOf } from "./policy.mjs";

const SAFE = Number.MAX_SAFE_INTEGER;
const RECEIVERS = {
  execute: "worker",
  host_call: "parent",
  host_batch: "parent",
  progress: "parent",
  host_result: "worker",
  result: "parent",
};
const MODULES = { host_batch: "batch", progress: "progress" };
const MESSAGE_BYTES = 256;

const text = (found) => typeof found === "string";
const truth = (found) => typeof found === "boolean";
const anything = () => true;
const object = (found) => found instanceof Map;
const count = (found) =>
  found instanceof Numeral && found.isInteger && found.value >= 0 && found.value <= SAFE;
const ordinal = (found) => count(found) && found.value > 0;
const oneOf = (...values) => (found) => values.includes(found);
const listOf = (check) => (found) => Array.isArray(found) && found.every(check);

// A shape maps names to checks; a name that ends in "?" may be missing.
const closed = (shape) => (found) => {
  if (!object(found)) return false;
  const names = new Map(Object.entries(shape).map(([name, check]) => [name.replace("?", ""), check]));
  for (const name of found.keys()) if (!names.has(name)) return false;
  return Object.keys(shape).every((name) => {
    const plain = name.replace("?", "");
    return found.has(plain) ? names.get(plain)(found.get(plain)) : name !== plain;
  });
};

export function receiver(tables, profileName, under) {
  const profile = tables.profiles.get(profileName);
  const rows = rowsOf(tables, profileName);
  const inExecute = new Map([...rows].filter(([, row]) => row.in_execute));
  const limit = rows.get("ipc_frame_bytes").default;
  const depth = rows.get("value_depth").default;
  const modules = under.modules ?? [];
  const undefinedResult = under.undefined_result ?? profile.alternatives.undefined_result;
  const codes = new Map(tables.errors.errors.map((entry) => [entry.code, entry]));

  const fields = {
    operation: text,
    measured: count,
    limit: count,
    counted: oneOf("utf8", "encoded"),
    pattern: text,
    line: ordinal,
    column: ordinal,
    suggestion: text,
    detail: (found) => text(found) && [...found].length <= tables.errors.detail_characters,
  };
  const error = (kind) => (found) => {
    const entry = object(found) ? codes.get(found.get("code")) : undefined;
    if (entry === undefined || !entry.frames.includes(kind)) return false;
    const reason = oneOf(...Object.keys(entry.category_by_reason ?? {}));
    const shape = { code: text };
    for (const [name, presence] of Object.entries(entry.fields)) {
      shape[presence === "required" ? name : `${name}?`] = name === "reason" ? reason : fields[name];
    }
    return closed(shape)(found);
  };
  const alternatives = (found) =>
    object(found) &&
    [...found].every(([name, value]) => {
      if (!Object.hasOwn(tables.alternatives.alternatives, name)) return false;
      const entry = tables.alternatives.alternatives[name];
      const known = (one) => text(one) && Object.hasOwn(entry.values, one);
      return entry.set ? listOf(known)(value) : known(value);
    });
  const operation = closed({
    name: text,
    method: text,
    effect: oneOf("read", "write"),
    "arguments?": object,
  });
  const call = closed({ operation: text, arguments: anything });
  const answer = (kind) => ({
    ok: truth,
    value_present: truth,
    "value?": anything,
    "error?": error(kind),
  });
  const ids = { type: text, invocation_id: ordinal };
  const shapes = {
    execute: {
      ...ids,
      v: (found) => ordinal(found) && found.value === tables.protocol.version,
      source: text,
      limits: (found) => object(found) && [...found.values()].every(count),
      alternatives,
      operations: listOf(operation),
    },
    host_call: { ...ids, call_id: ordinal, operation: text, arguments: anything },
    host_batch: {
      ...ids,
      call_id: ordinal,
      calls: (found) => listOf(call)(found) && found.length > 0,
    },
    progress: {
      ...ids,
      current: count,
      "total?": count,
      "message?": (found) => text(found) && Buffer.byteLength(found) <= MESSAGE_BYTES,
    },
    host_result: { ...ids, call_id: ordinal, ...answer("host_result") },
    result: { ...ids, ...answer("result") },
  };

  const consistent = (kind, frame) => {
    if (!frame.has("ok")) return true;
    const [hasValue, hasError] = [frame.has("value"), frame.has("error")];
    if (frame.get("value_present") !== hasValue) return false;
    if (!frame.get("ok")) return hasError && !hasValue;
    return !hasError && (hasValue || (kind === "result" && undefinedResult === "absent"));
  };

  const malformed = (reason) => ({ event: "malformed", reason });

  return (line, to) => {
    if (line.length > limit) return { event: "oversized", reason: "length" };
    let decoded;
    try {
      decoded = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
    } catch {
      return malformed("encoding");
    }
    if (decoded.startsWith("\ufeff")) return malformed("bom");
    let found;
    try {
      found = read(decoded);
    } catch (fault) {
      if (fault instanceof SyntaxFault) return malformed("syntax");
      throw fault;
    }
    for (const fault of ["duplicate", "number", "surrogate"]) {
      if (found.faults.has(fault)) return malformed(fault);
    }
    if (found.depth > depth + 1) return malformed("depth");
    const frame = found.value;
    const kind = object(frame) ? frame.get("type") : undefined;
    if (!text(kind)) return malformed("shape");
    const inUse = !Object.hasOwn(MODULES, kind) || modules.includes(MODULES[kind]);
    if (!Object.hasOwn(RECEIVERS, kind) || !inUse) return { event: "unknown", reason: "kind" };
    if (!closed(shapes[kind])(frame) || !consistent(kind, frame)) return malformed("shape");
    if (RECEIVERS[kind] !== to) return { event: kind, reason: "direction" };
    if (kind === "execute") {
      const limits = new Map([...frame.get("limits")].map(([name, found_]) => [name, found_.value]));
      if (invalidField(limits, inExecute) !== null) return malformed("limits");
    }
    return { event: kind, value: frame.get(frame.has("value") ? "value" : "arguments") };
  };
}
