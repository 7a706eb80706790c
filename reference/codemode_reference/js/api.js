// The one global of a program. Calls return promises; what they ask for goes into the outbox.

const { limits, operations, invocation_id: invocation } = execute;
const pending = { __proto__: null };
let calls = 0;
let flying = 0;
let outbox = "";

const byName = { __proto__: null };
const methods = { __proto__: null };

// Sends one host call, or throws the error that refuses it. A refused call takes no id.
const send = (operation, args, resolve, reject) => {
  const value = snapshot(args, limits.ipc_frame_bytes);
  if (value.fault !== null) {
    const error = makeError(codes.invalid_arguments, { __proto__: null, operation });
    if (value.null_thrown) mark(doubtful, error);
    throw error;
  }
  const head =
    '{"type":"host_call","invocation_id":' + invocation + ',"call_id":' + (calls + 1) +
    ',"operation":' + stringify(operation) + ',"arguments":';
  const measured = byteLength(head) + value.size + 1;
  if (measured > limits.ipc_frame_bytes) {
    const limit = limits.ipc_frame_bytes;
    throw makeError(codes.invalid_arguments, { __proto__: null, operation, measured, limit });
  }
  if (calls >= limits.host_calls) {
    const limit = limits.host_calls;
    throw makeError(codes.host_calls_limit, { __proto__: null, operation, limit });
  }
  if (flying >= limits.concurrent_host_calls) {
    const limit = limits.concurrent_host_calls;
    throw makeError(codes.host_concurrency_limit, { __proto__: null, operation, limit });
  }
  // Whatever runs out of memory up to here leaves the counters as they were.
  pending[calls + 1] = { __proto__: null, operation, resolve, reject };
  outbox += head + value.text + "}\n";
  calls++;
  flying++;
};

const request = (operation, given, args) =>
  new PromiseConstructor((resolve, reject) => {
    if (given > 1) throw makeError(codes.invalid_arguments, { __proto__: null, operation });
    send(operation, args === undefined ? {} : args, resolve, reject);
  });

const call = (...given) =>
  new PromiseConstructor((resolve, reject) => {
    const operation = given[0];
    const name = typeof operation === "string" ? operation : "";
    if (typeof operation !== "string" || !byName[name]) {
      const suggestion = nearest(name, byName);
      throw makeError(codes.unknown_operation, { __proto__: null, suggestion });
    }
    if (given.length > 2) throw makeError(codes.invalid_arguments, { __proto__: null, operation });
    send(operation, given[1] === undefined ? {} : given[1], resolve, reject);
  });

// Settles one host call with a reply that the worker has checked.
const settle = (reply) => {
  const { operation, resolve, reject } = pending[reply.call_id];
  delete pending[reply.call_id];
  flying--;
  if (reply.ok) {
    resolve(reply.value);
    return;
  }
  const fields = { __proto__: null };
  for (let index = 0; index < errorFields.length; index++) {
    const name = errorFields[index];
    if (owns(reply.error, name)) fields[name] = reply.error[name];
  }
  reject(makeError(reply.error.code, fields));
};

// The known name closest to `name` by edits, if it has anything in common with it.
const nearest = (name, known) => {
  let best;
  let least = name.length > 64 ? 0 : name.length;
  const candidates = ownKeys(known);
  for (let index = 0; index < candidates.length; index++) {
    const edits = distance(name, candidates[index], least);
    if (edits < least) {
      least = edits;
      best = candidates[index];
    }
  }
  return best;
};

const distance = (from, to, most) => {
  if (from.length - to.length >= most || to.length - from.length >= most) return most;
  let row = { __proto__: null };
  for (let column = 0; column <= to.length; column++) row[column] = column;
  for (let line = 1; line <= from.length; line++) {
    const next = { __proto__: null, 0: line };
    for (let column = 1; column <= to.length; column++) {
      const changed = row[column - 1] + (from[line - 1] === to[column - 1] ? 0 : 1);
      const added = next[column - 1] + 1;
      const removed = row[column] + 1;
      next[column] = changed < added ? changed : added;
      if (removed < next[column]) next[column] = removed;
    }
    row = next;
  }
  return row[to.length];
};

const help = parse("{}");
for (let index = 0; index < operations.length; index++) {
  const { name, method, effect, arguments: schema } = operations[index];
  byName[name] = true;
  methods[method] = (...given) => request(name, given.length, given[0]);
  define(help, method, { operation: name, effect, arguments: schema || {} }, true);
}
const helpText = stringify(help);
methods.call = call;
methods.help = () => parse(helpText);
freeze(methods);

const quiet = { __proto__: null, then: true, toJSON: true };
const inherited = ownKeys(ObjectPrototype);
for (let index = 0; index < inherited.length; index++) quiet[inherited[index]] = true;

defineProperty(global, "codemode", {
  __proto__: null,
  value: new ProxyConstructor(methods, {
    __proto__: null,
    get(target, key) {
      if (owns(target, key)) return target[key];
      if (typeof key === "symbol" || quiet[key]) return undefined;
      throw makeError(codes.unknown_method, {
        __proto__: null,
        suggestion: nearest(key, methods),
      });
    },
  }),
});
