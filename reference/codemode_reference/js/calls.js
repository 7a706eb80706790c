// Host calls: what they ask for goes into the outbox, replies settle their promises.

const { limits } = session;
const pending = { __proto__: null };
let sent = 0;
let flying = 0;

// Sends one host call, or throws the error that refuses it. A refused call takes no id.
const send = (operation, args, resolve, reject) => {
  const value = snapshot(args, limits.ipc_frame_bytes);
  if (value.fault !== null) {
    const error = words().makeError(codes.invalid_arguments, { __proto__: null, operation });
    if (value.null_thrown) mark(doubtful, error);
    throw error;
  }
  const head =
    '{"type":"host_call","invocation_id":' + session.id + ',"call_id":' + (sent + 1) +
    ',"operation":' + stringify(operation) + ',"arguments":';
  const measured = byteLength(head) + value.size + 1;
  if (measured > limits.ipc_frame_bytes) {
    const fields = { __proto__: null, operation, measured, limit: limits.ipc_frame_bytes };
    throw words().makeError(codes.invalid_arguments, fields);
  }
  if (sent >= limits.host_calls) {
    const limit = limits.host_calls;
    throw words().makeError(codes.host_calls_limit, { __proto__: null, operation, limit });
  }
  if (flying >= limits.concurrent_host_calls) {
    const limit = limits.concurrent_host_calls;
    throw words().makeError(codes.host_concurrency_limit, { __proto__: null, operation, limit });
  }
  // Whatever runs out of memory up to here leaves the counters as they were.
  pending[sent + 1] = { __proto__: null, operation, resolve, reject };
  session.outbox += head + value.text + "}\n";
  sent++;
  flying++;
};

const request = (operation, given, args) =>
  new PromiseConstructor((resolve, reject) => {
    if (given > 1) throw words().makeError(codes.invalid_arguments, { __proto__: null, operation });
    send(operation, args === undefined ? {} : args, resolve, reject);
  });

const call = (given, operation, args) =>
  new PromiseConstructor((resolve, reject) => {
    const name = typeof operation === "string" ? operation : "";
    if (typeof operation !== "string" || !session.names[name]) {
      const suggestion = words().nearest(name, session.names);
      throw words().makeError(codes.unknown_operation, { __proto__: null, suggestion });
    }
    if (given > 2) throw words().makeError(codes.invalid_arguments, { __proto__: null, operation });
    send(operation, args === undefined ? {} : args, resolve, reject);
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
  reject(words().makeError(reply.error.code, fields));
};

return { __proto__: null, request, call, settle };
