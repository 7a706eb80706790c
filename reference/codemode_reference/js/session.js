// What the `execute` frame says, for all parts.

session.id = execute.invocation_id;
session.limits = execute.limits;
const { operations, alternatives } = execute;
session.omits = alternatives.nested_undefined === "omit";
session.absent = alternatives.undefined_result === "absent";
const fillIf = (codes, chosen, map) => {
  for (let index = 0; index < codes.length && chosen; index++) map[codes[index]] = true;
};
fillIf(settings.failures, alternatives.operation_failure === "value", session.asValue);
fillIf(settings.exhaustion, alternatives.exhaustion === "terminal", session.terminal);
const { options } = alternatives;
for (let index = 0; options && index < options.length; index++) {
  if (options[index] === "readonly") session.readonly = true;
}
for (let index = 0; index < operations.length; index++) {
  const { name, aliases } = operations[index];
  session.names[name] = name;
  for (let other = 0; aliases && other < aliases.length; other++) {
    session.names[aliases[other]] = name;
  }
}

// Reading a name that is not there throws, except what a language asks of every object.
const quiet = { __proto__: null, then: true, toJSON: true };
const inherited = ownKeys(ObjectPrototype);
for (let index = 0; index < inherited.length; index++) quiet[inherited[index]] = true;

const guarded = (methods) =>
  new ProxyConstructor(freeze(methods), {
    __proto__: null,
    get(target, key) {
      if (owns(target, key)) return target[key];
      if (typeof key === "symbol" || quiet[key]) return undefined;
      throw words().makeError(codes.unknown_method, {
        __proto__: null,
        suggestion: words().nearest(key, methods),
      });
    },
  });

// The one global of a program.
const offer = (name, methods) => {
  defineProperty(global, name, { __proto__: null, value: guarded(methods) });
};
