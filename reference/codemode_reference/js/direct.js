// Host calls that return directly: the worker writes the frame, waits, and gives the replies.

let sent = 0;

// Sends a frame that takes `count` ids: the replies, in their order.
const exchange = (frame, count) => {
  const text = toAscii("p" + count + " " + frame);
  sent += count;
  return parse(parse(session.bridge(text)));
};

const call = (given, operation, args) => {
  const name = nameOf(operation);
  if (given > 2) refuse(codes.invalid_arguments, { __proto__: null, operation: name });
  const value = argumentsOf(name, args);
  const head = headOf(name, sent + 1);
  checkFrame(name, byteLength(head) + value.size + 1);
  checkCalls(name, sent);
  const reply = exchange(head + value.text + "}\n", 1)[0];
  if (reply.ok) return reply.value;
  const { code } = reply.error;
  const fields = fieldsOf(reply.error);
  if (session.asValue[code]) return failed(code, fields);
  throw words().makeError(code, fields);
};

// One entry as it stands in the frame: {name, args}, read once and nothing else in it.
const entryOf = (list, index) => {
  const entry = owns(list, index) ? list[index] : null;
  if (typeof entry !== "object" || entry === null) {
    refuse(codes.invalid_arguments, { __proto__: null });
  }
  const keys = ownKeys(entry);
  for (let other = 0; other < keys.length; other++) {
    if (keys[other] === "name" || keys[other] === "args") continue;
    refuse(codes.invalid_arguments, { __proto__: null });
  }
  const { name, args } = entry;
  const operation = nameOf(name);
  return { __proto__: null, operation, value: argumentsOf(operation, args) };
};

// All entries in one frame: the parent runs them and answers in their order. Each has its place
// among the results, a failure too. Whether all of them fit is for the parent to say: it counts.
const callAll = (given, list) => {
  if (given !== 1 || !isArray(list)) refuse(codes.invalid_arguments, { __proto__: null });
  const { length } = list;
  const all = newNode();
  let first = null;
  for (let index = 0; index < length; index++) {
    const { operation, value } = entryOf(list, index);
    if (first === null) first = operation;
    const head =
      (index > 0 ? "," : "") + '{"operation":' + stringify(operation) + ',"arguments":';
    append(all, head, byteLength(head), session.limits.ipc_frame_bytes);
    append(all, value.text, value.size, session.limits.ipc_frame_bytes);
    append(all, "}", 1, session.limits.ipc_frame_bytes);
  }
  const results = parse("[]");
  if (first === null) return results;
  const head =
    '{"type":"host_batch","invocation_id":' + session.id + ',"call_id":' + (sent + 1) +
    ',"calls":[';
  checkFrame(first, head.length + all.size + 2);
  const replies = exchange(head + all.text + "]}\n", length);
  for (let index = 0; index < length; index++) {
    const reply = replies[index];
    const result = reply.ok ? reply.value : failed(reply.error.code, fieldsOf(reply.error));
    define(results, index, result, true);
  }
  return results;
};

// The catalogue, which costs nothing.

const briefs = (entries, fits) => {
  let text = "";
  const names = ownKeys(entries);
  for (let index = 0; index < names.length; index++) {
    const { brief, searched } = entries[names[index]];
    if (fits(searched)) text += (text === "" ? "" : ",") + brief;
  }
  return parse("[" + text + "]");
};

const list = (entries) => briefs(entries, () => true);

const search = (entries, text) => {
  if (typeof text !== "string") refuse(codes.invalid_arguments, { __proto__: null });
  const wanted = lower(text);
  return briefs(entries, (searched) => within(searched, wanted));
};

const describe = (entries, name) => {
  const { brief, arguments: schema } = entries[nameOf(name)];
  const found = parse(brief);
  define(found, "arguments", parse(stringify(schema)), true);
  return found;
};

const budget = () => {
  const found = parse(session.bridge("b"));
  const { host_calls: limit } = session.limits;
  define(found, "host_calls", parse('{"limit":' + limit + ',"left":' + (limit - sent) + "}"), true);
  return found;
};

return { __proto__: null, call, callAll, list, search, describe, budget };
