// The one global of a program, `codemode`: groups of methods, aliases, and what is not in a group.
// Calls return promises; arguments may be given by position.

const TOP = "";
// By group: methods with their aliases, and what `help()` says of them.
const groups = { __proto__: null };
const pages = { __proto__: null };
const page = (group) => {
  if (groups[group] === undefined) {
    groups[group] = { __proto__: null };
    pages[group] = parse("{}");
  }
  return pages[group];
};

// One argument after the other, as in a call: the parameters that have to be given, at least one.
const exampleOf = (group, method, parameters, required) => {
  let text = "";
  for (let index = 0; index < parameters.length; index++) {
    if (index > 0 && index >= required.length) break;
    text += (index > 0 ? ", " : "") + parameters[index];
  }
  return "await codemode." + (group === TOP ? "" : group + ".") + method + "(" + text + ")";
};

page(TOP);
for (let index = 0; index < operations.length; index++) {
  const { name, method, effect, arguments: schema, group = TOP, aliases, shortcuts } = operations[index];
  const { properties = {}, required = [] } = schema || {};
  const parameters = ownKeys(properties);
  const entry = { __proto__: null, name, effect, parameters, properties };
  session.entries[name] = entry;
  const run = (...given) => calls().request(entry, given);
  const told = page(group);
  groups[group][method] = run;
  const line = { operation: name, effect, arguments: schema || {} };
  define(line, "example", exampleOf(group, method, parameters, required), true);
  if (aliases) define(line, "aliases", aliases, true);
  if (shortcuts) define(line, "shortcuts", shortcuts, true);
  define(told, method, line, true);
  for (let other = 0; aliases && other < aliases.length; other++) groups[group][aliases[other]] = run;
  for (let other = 0; shortcuts && other < shortcuts.length; other++) {
    groups[TOP][shortcuts[other]] = run;
  }
}

const named = ownKeys(groups);
for (let index = 0; index < named.length; index++) {
  const group = named[index];
  if (group === TOP) continue;
  define(pages[TOP], group, pages[group], true);
  const text = stringify(pages[group]);
  groups[group].help = () => parse(text);
  groups[TOP][group] = guarded(groups[group]);
}
const helpText = stringify(pages[TOP]);
groups[TOP].call = (...given) => calls().call(given.length, given[0], given[1]);
groups[TOP].help = () => parse(helpText);
groups[TOP].reportProgress = (current, total, message) => calls().report(current, total, message);
offer("codemode", groups[TOP]);
