// The one global of a program, `codemode`. Its calls return promises.

const methods = { __proto__: null };

const help = parse("{}");
for (let index = 0; index < operations.length; index++) {
  const { name, method, effect, arguments: schema } = operations[index];
  methods[method] = (...given) => calls().request(name, given.length, given[0]);
  define(help, method, { operation: name, effect, arguments: schema || {} }, true);
}
const helpText = stringify(help);
methods.call = (...given) => calls().call(given.length, given[0], given[1]);
methods.help = () => parse(helpText);
offer("codemode", methods);
