// Runs the program and hands out what it sends. The worker calls `control`; the program cannot
// reach it.

// Parsed in two places, the first time without running anything. After its closing brace the first
// one goes on with a colon alone, which the second one never allows: a source that closes the
// wrapper is a syntax error in one of them.
const TRIAL = ["throw 0;(function(){0?async()=>{\n", "\n}:0})"];
const PROGRAM = ["(async function(){\n", "\n})"];

const start = (source) => {
  let program;
  try {
    program = compile(TRIAL, PROGRAM, source);
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
  // Nothing follows the result, not even a call that has waited for its turn.
  if (kind === "settle" && state === PENDING) calls().settle(parse(parse(text)));
  const sent = session.outbox;
  session.outbox = "";
  // A native function returns flat text; the worker's binding cannot take a rope of pieces.
  return toAscii(state + sent);
};
return control;
