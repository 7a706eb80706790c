// The one global of a program. Its calls return promises.

session.id = execute.invocation_id;
session.limits = execute.limits;
const { operations } = execute;
const methods = { __proto__: null };

const help = parse("{}");
for (let index = 0; index < operations.length; index++) {
  const { name, method, effect, arguments: schema } = operations[index];
  session.names[name] = true;
  methods[method] = (...given) => calls().request(name, given.length, given[0]);
  define(help, method, { operation: name, effect, arguments: schema || {} }, true);
}
const helpText = stringify(help);
methods.call = (...given) => calls().call(given.length, given[0], given[1]);
methods.help = () => parse(helpText);
freeze(methods);

const quiet = { __proto__: null, then: true, toJSON: true };
const inherited = ownKeys(ObjectPrototype);
for (let index = 0; index < inherited.length; index++) quiet[inherited[index]] = true;

defineProperty(global, "codemode", {
  __proto__: null,
  value: new ProxyConstructor(methods, {
    __proto__: null,
    get(target, key) {
      if (owns(target, key)) return target[key];
      if (typeof key === "symbol" || quiet[key]) return undefined;
      throw words().makeError(codes.unknown_method, {
        __proto__: null,
        suggestion: words().nearest(key, methods),
      });
    },
  }),
});
