// Host calls of a program that may make more at once than its limit: those above it wait their turn,
// without an id. What they ask for goes into the outbox, replies settle their promises.

const { limits } = session;
const pending = { __proto__: null };
let sent = 0;
let flying = 0;
let first = null;
let last = null;

// A refusal or a failure, where that is declared a value or an error.
const settleWith = (code, fields, resolve, reject) => {
  if (session.asValue[code]) resolve(failed(code, fields));
  else reject(words().makeError(code, fields));
};

// Sends one call, or keeps it until its turn; throws the error that refuses it.
const launch = (wish) => {
  const head = headOf(wish.operation, sent + 1);
  checkFrame(wish.operation, byteLength(head) + wish.value.size + 1);
  checkCalls(wish.operation, sent);
  if (flying >= limits.concurrent_host_calls) {
    if (first === null) first = wish;
    else last.next = wish;
    last = wish;
    return;
  }
  // Whatever runs out of memory up to here leaves the counters as they were.
  pending[sent + 1] = wish;
  session.outbox += head + wish.value.text + "}\n";
  sent++;
  flying++;
};

const send = (entry, args, resolve, reject) => {
  const operation = entry.name;
  if (session.readonly && entry.effect !== "read") {
    settleWith(codes.read_only_violation, { __proto__: null, operation }, resolve, reject);
    return;
  }
  const value = argumentsOf(operation, args());
  launch({ __proto__: null, operation, value, resolve, reject, next: null });
};

const request = (entry, given) =>
  new PromiseConstructor((resolve, reject) => {
    send(entry, () => byPosition(entry, given), resolve, reject);
  });

const call = (given, operation, args) =>
  new PromiseConstructor((resolve, reject) => {
    const entry = session.entries[nameOf(operation)];
    const refuseMore = () => {
      if (given > 2) refuse(codes.invalid_arguments, { __proto__: null, operation: entry.name });
      return args;
    };
    send(entry, refuseMore, resolve, reject);
  });

// Settles one host call with a reply that the worker has checked, and lets others have their turn.
const settle = (reply) => {
  const { resolve, reject } = pending[reply.call_id];
  delete pending[reply.call_id];
  flying--;
  if (reply.ok) resolve(reply.value);
  else settleWith(reply.error.code, fieldsOf(reply.error), resolve, reject);
  while (first !== null && flying < limits.concurrent_host_calls) {
    const wish = first;
    first = wish.next;
    wish.next = null;
    try {
      launch(wish);
    } catch (error) {
      wish.reject(error);
    }
  }
};

return { __proto__: null, request, call, settle, report };
