// Runs the program to its end. The worker calls `control`; the program cannot reach it.

// Parsed in two places, the first time without running anything: see js/main.js.
const TRIAL = ["throw 0;(function(){0?()=>{\n", "\n}:0})"];
const PROGRAM = ["(function(){\n", "\n})"];

session.end = (error) => {
  fail(error);
  bridge(toAscii(state + session.outbox));
};

const start = (source) => {
  let program;
  try {
    program = compile(TRIAL, PROGRAM, source);
  } catch (thrown) {
    return fail(words().refusal(thrown, source));
  }
  let value;
  try {
    value = program();
  } catch (thrown) {
    return onThrow(thrown);
  }
  return onValue(value);
};

const control = () => {
  start(execute.source);
  // A native function returns flat text; the worker's binding cannot take a rope of pieces.
  return toAscii(state + session.outbox);
};
return control;
