// Runs a program whose result is its last expression, and hands out what it sends. The worker calls
// `control`, and has found where that expression is; the program cannot reach it.

const TRIAL = ["throw 0;(function(){0?async()=>{\n", "\n}:0})"];
const PROGRAM = ["(async function(){\n", "\n})"];

// The program as it is must be legal, before anything is put into it; then it returns its last
// expression, on the same line and in the same column of its place.
const compileWith = (source, last) => {
  const program = compile(TRIAL, PROGRAM, source);
  if (last === null) return program;
  const { 0: from, 1: to } = last;
  const text = cut(source, 0, from) + "return (" + cut(source, from, to) + "\n)" + cut(source, to);
  return evaluate(PROGRAM[0] + text + PROGRAM[1]);
};

const start = (source, last) => {
  let program;
  try {
    program = compileWith(source, last);
  } catch (thrown) {
    return fail(words().refusal(thrown, source));
  }
  const promise = program();
  // An undefined constructor makes `then` use the intrinsic one, whatever the program replaced.
  define(promise, "constructor", undefined, false);
  apply(then, promise, [onValue, onThrow]);
};

const control = (kind, text) => {
  if (kind === "start") start(execute.source, parse(text));
  // Nothing follows the result, not even a call that has waited for its turn.
  if (kind === "settle" && state === PENDING) calls().settle(parse(parse(text)));
  const sent = session.outbox;
  session.outbox = "";
  // A native function returns flat text; the worker's binding cannot take a rope of pieces.
  return toAscii(state + sent);
};
return control;
