// SPDX-License-Identifier: Apache-2.0
// Adapter kit of Code Mode Conformance, adapter protocol 1: one file to copy beside your adapter. Node 20 or newer.
import { writeSync } from "node:fs";
import { types } from "node:util";

const FIELDS = { hello: "v key", open: "s policy ops", run: "r s source options", cancel: "r", ping: "n", close: "s",
  return: "r c ok present value odd error", stop: "" };
const CAPABILITY = { timeout_ms: "options.timeout", readonly: "options.readonly" };
const NODES = 1 << 20, DEPTH = 256, MARKS = 1000; // what a target hands over may have no bound of its own
const is = (want) => (v) => Object.is(v, want), a = (name) => (v) => typeof v === name, none = () => null;
const custom = (v) => v && !Array.isArray(v) && // neither plain nor without prototype, in any realm
  Object.getPrototypeOf(Object.getPrototypeOf(v) ?? Object.prototype) !== null;
const bytes = (v) => [...new Uint8Array(v.buffer ?? v, v.byteOffset ?? 0, Math.min(v.byteLength, NODES))];
const usual = (v) => v === null || typeof v === "boolean" || // told at once, as most are: a large value must not block
  (typeof v === "number" && Number.isFinite(v) && !Object.is(v, -0)) || (typeof v === "string" && v.isWellFormed());
const ODD = { // kind: [is it one?, what JSON shows of it, how to build one]; the first match counts
  NaN: [is(NaN), none, () => NaN], Infinity: [is(Infinity), none, () => Infinity], "-0": [is(-0), () => 0, () => -0],
  "-Infinity": [is(-Infinity), none, () => -Infinity], bigint: [a("bigint"), String, (v) => BigInt(v ?? 1)],
  undefined: [a("undefined"), none, () => undefined], symbol: [a("symbol"), none, () => Symbol("odd")],
  lone_surrogate: [(v) => a("string")(v) && !v.isWellFormed(), (v) => v.toWellFormed(), () => "\ud800"],
  proxy: [types.isProxy, none, (v) => new Proxy(v ?? {}, {})], // before the tests that would run its traps
  function: [a("function"), none, () => () => 1], promise: [types.isPromise, none, (v) => Promise.resolve(v)],
  Date: [types.isDate, (v) => (Number.isNaN(+v) ? null : v.toISOString()), (v) => new Date(v ?? 0)],
  RegExp: [types.isRegExp, String, () => /odd/], Set: [types.isSet, (v) => [...v], (v) => new Set(v)],
  Map: [types.isMap, (v) => [...v], (v) => new Map(v)], // shown as its entries
  WeakMap: [(v) => types.isWeakMap(v) || types.isWeakSet(v), none, () => new WeakMap()],
  Error: [types.isNativeError, ({ name, message }) => ({ name, message }), (v) => Object.assign(new Error("odd"), v)],
  ArrayBuffer: [types.isAnyArrayBuffer, bytes, (v) => Uint8Array.from(v ?? [1]).buffer],
  typed_array: [ArrayBuffer.isView, bytes, (v) => Uint8Array.from(v ?? [1])],
  boxed: [types.isBoxedPrimitive, (v) => v.valueOf(), (v) => Object(v ?? 1)],
  class: [(v) => a("object")(v) && custom(v), (v) => ({ ...v }), (v) => Object.assign(new (class Odd {})(), v)],
  symbol_key: [none, none, (v) => ({ ...v, [Symbol("odd")]: 1 })], hole: [none, none, () => Array(1)],
  cycle: [none, none, (v, parent) => parent ?? ((v = {}), (v.self = v))],
};
/** The kinds that `build` makes: `host_values` of the identity. */
export const hostValues = Object.keys(ODD);

/** What JSON can carry of a value, and `[path, kind]` for each place where it loses something. */
export function mark(root) {
  const odd = [], above = new Set();
  const note = (path, kind, shown = null) => (odd.length < MARKS && odd.push([path, kind]), shown);
  let left = NODES;
  const walk = (v, path) => {
    if (left-- <= 0 || path.length > DEPTH) return note(path, "unknown");
    if (usual(v)) return v;
    if (above.has(v)) return note(path, "cycle");
    if (Object(v) === v) above.add(v);
    try {
      const kind = Array.isArray(v) && !types.isProxy(v) ? undefined : hostValues.find((name) => ODD[name][0](v));
      if (kind) return walk(ODD[kind][1](v), note(path, kind, path));
      if (Object(v) !== v) return v;
      if (Object.getOwnPropertySymbols(v).length) note(path, "symbol_key");
      const entry = (_, i) => (i in v ? walk(v[i], [...path, i]) : note([...path, i], "hole"));
      if (Array.isArray(v)) return v.length > left ? note(path, "unknown") : Array.from({ length: v.length }, entry);
      const shown = Object.create(null); // so that __proto__ is a key like any other
      for (const key of Object.keys(v)) {
        const name = key.toWellFormed(), at = [...path, name];
        shown[name] = walk(v[key], name === key ? at : note(at, "lone_surrogate", at));
      }
      return shown;
    } catch { return note(path, "unknown"); } finally { above.delete(v); }
  };
  return [walk(root, []), odd];
}

/** The value that `mark` or the harness described, built in place. */
export function build(value, odd = []) {
  const box = { value };
  for (const [path, kind] of [...odd].sort((x, y) => y[0].length - x[0].length)) { // the innermost first
    let at = box, key = "value";
    for (const step of path) [at, key] = [at[key], step];
    if (kind === "hole" && path.length) delete at[key];
    else at[key] = ODD[kind][2](at[key], path.length ? at : undefined);
  }
  return box.value;
}

const wire = (v) => {
  if (v === undefined) return { present: false };
  const [value, odd] = mark(v);
  return odd.length ? { present: true, value, odd } : { present: true, value };
};
const stackGetter = Object.getOwnPropertyDescriptor(new Error(), "stack").get; // in later versions of Node
const cut = (text) => String(text).slice(0, 1e6); // a program may throw a message of any length
const plain = (e, key) => { // other getters, and the traps of a proxy, may be the program's
  for (let o = e; o && !types.isProxy(o); o = Object.getPrototypeOf(o)) {
    const found = Object.getOwnPropertyDescriptor(o, key);
    if (!found) continue;
    const value = found.get && found.get === stackGetter ? e[key] : found.value;
    return value === undefined || Object(value) === value ? undefined : cut(value);
  }
};
const native = (e) => (Object(e) === e
  ? { name: plain(e, "name"), code: plain(e, "code"), message: plain(e, "message"), stack: plain(e, "stack") }
  : { message: cut(e) });
/** The outcome of a program that ended with a value; undefined is success without one. */
export const ok = (value, logs) => ({ ok: true, ...wire(value), logs });
/** The outcome of one that failed, and from `open` a refusal; `more` may hold `error` and `logs`. */
export const failed = (category, error, more) => ({ ok: false, category, native: native(error), ...more });

/** Speaks the protocol. `open(policy, ops, s)` answers a session, `failed(...)`, or `{ unsupported: [rows] }`. */
export function serve(identity, open) {
  const sessions = new Map(), runs = new Map(), nap = new Int32Array(new SharedArrayBuffer(4));
  let key = "", rest = "";
  const emit = (m, fields) => {
    const line = JSON.stringify({ m, k: key, ...fields }, (_, v) => (typeof v === "string" ? v.toWellFormed() : v));
    for (let bytes = Buffer.from(`\n${line}\n`); bytes.length; ) {
      try { bytes = bytes.subarray(writeSync(1, bytes)); } catch (e) {
        if (e.code !== "EAGAIN") process.exit(1); // the harness is gone
        Atomics.wait(nap, 0, 0, 1); // the pipe is full, and some part of this process made it non-blocking
      }
    }
  };
  const commands = {
    hello(m) { key = m.key; emit("identity", identity); },
    async open({ s, policy, ops }) {
      const session = await open(policy, ops, s);
      if (session.unsupported) return emit("unsupported", { s, fields: session.unsupported });
      if (session.ok === false) return emit("refused", { s, ...session, ok: undefined });
      sessions.set(s, session);
      const { effective = {}, unknown = [], prelude = "", wrap = ["", ""] } = session;
      emit("opened", { s, effective, unknown, prelude, wrap });
    },
    async run({ r, s, source, options = {} }) {
      const session = sessions.get(s), calls = new Map(), run = { r, session, calls };
      if (!session) throw new Error(`session ${s} is not open`);
      const fields = Object.keys(options).filter((name) => !identity.capabilities.includes(CAPABILITY[name]));
      if (fields.length) return emit("unsupported", { of: "run", r, fields });
      let last = 0;
      const call = (op, args, signal) => {
        const c = (last += 1), answer = new Promise((resolve, reject) => calls.set(c, { resolve, reject }));
        answer.catch(() => {}); // a target that no longer listens must not end the adapter
        signal?.addEventListener("abort", () => calls.delete(c) && emit("call_cancelled", { r, c }), { once: true });
        emit("call", { r, c, op, args: wire(args) });
        return answer;
      };
      runs.set(r, run);
      try { emit("outcome", { r, ...(await session.run(source, options, call, run)) }); } finally { runs.delete(r); }
    },
    return({ r, c, ok, present, value, odd = [], error }) {
      const calls = runs.get(r)?.calls, waiting = calls?.get(c);
      if (!waiting) return; // late or unknown
      const fields = odd.map(([, kind]) => kind).filter((kind) => !Object.hasOwn(ODD, kind));
      if (fields.length) return emit("unsupported", { of: "return", r, fields });
      const result = ok && present ? build(value, odd) : undefined;
      calls.delete(c);
      if (ok) waiting.resolve(result);
      else waiting.reject(Object.assign(new Error(error.message), { code: error.code }));
    },
    async cancel({ r }) {
      const run = runs.get(r); // without one, its outcome is already on the way
      if (run && !run.session.cancel) return emit("unsupported", { of: "cancel", r });
      await run?.session.cancel(run);
    },
    ping({ n }) { emit("pong", { n }); },
    async close({ s }) { await sessions.get(s)?.close?.(); sessions.delete(s); emit("closed", { s }); },
    stop() { process.exit(0); },
  };
  const receive = async (line) => {
    let m;
    try { m = JSON.parse(line); } catch { /* answered below */ }
    if (typeof m?.m !== "string") return emit("fault", { of: "line", text: "not a JSON object with a message type" });
    if (!Object.hasOwn(FIELDS, m.m)) return emit("unsupported", { of: m.m });
    const fields = Object.keys(m).filter((name) => name !== "m" && !FIELDS[m.m].split(" ").includes(name));
    if (fields.length) return emit("unsupported", { of: m.m, fields });
    try { await commands[m.m](m); } catch (e) { emit("fault", { of: m.m, text: String(e?.stack ?? e) }); }
  };
  // The monitor reports, and lets the process die: a target that takes its host down must be seen to do so.
  process.on("uncaughtExceptionMonitor", (e, kind) => emit("note", { kind, text: String(e?.stack ?? e) }));
  process.stdin.setEncoding("utf8").on("end", () => process.exit(0)).on("data", (chunk) => {
    const lines = (rest + chunk).split("\n"); // readline would also split at U+2028, which JSON may hold
    rest = lines.pop();
    for (const line of lines) if (line.trim()) receive(line);
  });
}
