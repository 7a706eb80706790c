// Host calls: what they ask for goes into the outbox, replies settle their promises.

const { limits } = session;
const pending = { __proto__: null };
let sent = 0;
let flying = 0;

// Sends one host call, or throws the error that refuses it. A refused call takes no id.
const send = (operation, args, resolve, reject) => {
  const value = argumentsOf(operation, args);
  const head = headOf(operation, sent + 1);
  checkFrame(operation, byteLength(head) + value.size + 1);
  checkCalls(operation, sent);
  if (flying >= limits.concurrent_host_calls) {
    const limit = limits.concurrent_host_calls;
    refuse(codes.host_concurrency_limit, { __proto__: null, operation, limit });
  }
  // Whatever runs out of memory up to here leaves the counters as they were.
  pending[sent + 1] = { __proto__: null, operation, resolve, reject };
  session.outbox += head + value.text + "}\n";
  sent++;
  flying++;
};

const request = (operation, given, args) =>
  new PromiseConstructor((resolve, reject) => {
    if (given > 1) refuse(codes.invalid_arguments, { __proto__: null, operation });
    send(operation, args, resolve, reject);
  });

const call = (given, operation, args) =>
  new PromiseConstructor((resolve, reject) => {
    const name = nameOf(operation);
    if (given > 2) refuse(codes.invalid_arguments, { __proto__: null, operation: name });
    send(name, args, resolve, reject);
  });

// Settles one host call with a reply that the worker has checked.
const settle = (reply) => {
  const { resolve, reject } = pending[reply.call_id];
  delete pending[reply.call_id];
  flying--;
  if (reply.ok) resolve(reply.value);
  else reject(words().makeError(reply.error.code, fieldsOf(reply.error)));
};

return { __proto__: null, request, call, settle };
