// The one global of a program, `tools`. Its calls return directly.

session.bridge = bridge;

const entries = { __proto__: null };
for (let index = 0; index < operations.length; index++) {
  const { name, effect, aliases, description, arguments: schema } = operations[index];
  const entry = { __proto__: null, name, effect };
  if (description !== undefined) entry.description = description;
  if (aliases !== undefined) entry.aliases = aliases;
  let searched = name + " " + (description === undefined ? "" : description);
  for (let other = 0; aliases && other < aliases.length; other++) searched += " " + aliases[other];
  entry.brief = stringify(entry);
  entry.searched = lower(searched);
  entry.arguments = schema || {};
  entries[name] = entry;
}

offer("tools", {
  __proto__: null,
  call: (...given) => calls().call(given.length, given[0], given[1]),
  callAll: (...given) => calls().callAll(given.length, given[0]),
  list: () => calls().list(entries),
  search: (text) => calls().search(entries, text),
  describe: (name) => calls().describe(entries, name),
  budget: () => calls().budget(),
});
