// The one invocation; its `execute` frame fills this. `names` has the name of an operation for each
// name or alias, `entries` what is known of each operation; `omits`: an undefined property is left
// out; `end` ends a program from inside.
const session = {
  __proto__: null,
  id: 0,
  limits: null,
  names: { __proto__: null },
  omits: false,
  absent: false,
  readonly: false,
  entries: { __proto__: null },
  asValue: { __proto__: null },
  terminal: { __proto__: null },
  end: null,
  outbox: "",
};

// Parts that many programs do without, a text each: compiled at the first use, or before there is a
// program if the worker has to wait for one. They see what `shared` holds and look up nothing else.

const later = (text) => {
  let part = waits ? evaluate(text) : null;
  let made = null;
  return () => {
    if (made !== null) return made;
    if (part === null) part = evaluate(text);
    made = part(shared);
    return made;
  };
};
const objects = later(objectsText);
const calls = later(callsText);
const words = later(wordsText);
