// What a host call says: its arguments as text, or the error that refuses it before it has an id.

const refuse = (code, fields) => {
  const error = words().makeError(code, fields);
  if (session.terminal[code] && session.end !== null) session.end(get(made, error));
  throw error;
};

// The arguments of one call, once and for all.
const argumentsOf = (operation, args) => {
  const value = snapshot(args === undefined ? {} : args, session.limits.ipc_frame_bytes);
  if (value.fault === null) return value;
  const error = words().makeError(codes.invalid_arguments, { __proto__: null, operation });
  if (value.null_thrown) mark(doubtful, error);
  throw error;
};

const checkFrame = (operation, measured) => {
  const limit = session.limits.ipc_frame_bytes;
  if (measured <= limit) return;
  refuse(codes.invalid_arguments, { __proto__: null, operation, measured, limit });
};

const checkCalls = (operation, sent) => {
  const limit = session.limits.host_calls;
  if (sent >= limit) refuse(codes.host_calls_limit, { __proto__: null, operation, limit });
};

// The name of an operation of the catalogue, or what it is refused with.
const nameOf = (operation) => {
  const name = typeof operation === "string" ? operation : "";
  if (typeof operation === "string" && session.names[name]) return session.names[name];
  const suggestion = words().nearest(name, session.names);
  return refuse(codes.unknown_operation, { __proto__: null, suggestion });
};

const headOf = (operation, callId) =>
  '{"type":"host_call","invocation_id":' + session.id + ',"call_id":' + callId +
  ',"operation":' + stringify(operation) + ',"arguments":';

// The fields of an error that came in a reply.
const fieldsOf = (error) => {
  const fields = { __proto__: null };
  for (let index = 0; index < errorFields.length; index++) {
    const name = errorFields[index];
    if (owns(error, name)) fields[name] = error[name];
  }
  return fields;
};

// What a failed call is where a failure is a value.
const failed = (code, fields) => {
  const value = parse("{}");
  define(value, "success", false, true);
  define(value, "code", code, true);
  for (let index = 0; index < errorFields.length; index++) {
    const name = errorFields[index];
    if (fields[name] !== undefined) define(value, name, fields[name], true);
  }
  return value;
};
