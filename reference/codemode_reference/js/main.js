// Runs the program and hands out what it sends. The worker calls `control`; the program cannot
// reach it.

const PENDING = "p";
const SETTLING = "s";
const DONE = "d";
const NULL_THROWN = "n";
let state = PENDING;

const finish = (ok, key, text, last) => {
  session.outbox +=
    '{"type":"result","invocation_id":' + session.id + ',"ok":' + ok + ',"value_present":' + ok +
    ',"' + key + '":' + text + "}\n";
  state = last;
};

const fail = (error) => finish(false, "error", error, DONE);

const onValue = (value) => {
  state = SETTLING;
  if (value === undefined) return fail(rejected(reasons.no_value, ""));
  let found;
  try {
    found = snapshot(value, session.limits.final_result_bytes);
  } catch (thrown) {
    return onThrow(thrown);
  }
  if (found.fault !== null) {
    const last = found.null_thrown ? NULL_THROWN : DONE;
    return finish(false, "error", rejected(found.fault, ""), last);
  }
  if (found.text !== null) return finish(true, "value", found.text, DONE);
  const code = stringify(codes.final_result_bytes_limit);
  const { final_result_bytes: limit } = session.limits;
  return fail('{"code":' + code + ',"measured":' + found.size + ',"limit":' + limit + "}");
};

const onThrow = (thrown) => {
  state = SETTLING;
  const last = thrown === null || marked(doubtful, thrown) ? NULL_THROWN : DONE;
  finish(false, "error", verdict(thrown), last);
};

// Parsed in two places, the first time without running anything. After its closing brace the first
// one goes on with a colon alone, which the second one never allows: a source that closes the
// wrapper is a syntax error in one of them.
const TRIAL = ["throw 0;(function(){0?async()=>{\n", "\n}:0})"];
const PROGRAM = ["(async function(){\n", "\n})"];

const compile = (source) => {
  try {
    evaluate(TRIAL[0] + source + TRIAL[1]);
  } catch (thrown) {
    if (thrown !== 0) throw thrown;
  }
  return evaluate(PROGRAM[0] + source + PROGRAM[1]);
};

const start = (source) => {
  let program;
  try {
    program = compile(source);
  } catch (thrown) {
    return fail(words().refusal(thrown, source));
  }
  const promise = program();
  // An undefined constructor makes `then` use the intrinsic one, whatever the program replaced.
  define(promise, "constructor", undefined, false);
  apply(then, promise, [onValue, onThrow]);
};

const control = (kind, text) => {
  if (kind === "start") start(execute.source);
  if (kind === "settle") calls().settle(parse(parse(text)));
  const sent = session.outbox;
  session.outbox = "";
  // A native function returns flat text; the worker's binding cannot take a rope of pieces.
  return toAscii(state + sent);
};
return control;
