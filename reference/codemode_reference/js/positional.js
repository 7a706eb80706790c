// Arguments by position, as one object by name.

const isRecord = (value) => typeof value === "object" && value !== null && !isArray(value);

// Named ones in one object; or values in the order of the parameters, of which a last object that no
// parameter asks for has further ones by name.
const byPosition = (entry, given) => {
  let { length: count } = given;
  if (count === 0 || (count === 1 && (given[0] === undefined || isRecord(given[0])))) return given[0];
  const { name: operation, parameters, properties } = entry;
  const args = parse("{}");
  let options = null;
  const asked = count <= parameters.length ? properties[parameters[count - 1]] : null;
  if (count > 1 && isRecord(given[count - 1]) && !(isRecord(asked) && asked.type === "object")) {
    options = given[--count];
  }
  if (count > parameters.length) refuse(codes.invalid_arguments, { __proto__: null, operation });
  for (let index = 0; index < count; index++) {
    if (given[index] !== undefined) define(args, parameters[index], given[index], true);
  }
  const keys = options === null ? NONE : ownKeys(options);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    if (!shows(options, key)) continue;
    // One parameter twice, or a key that is no name.
    if (typeof key === "symbol" || owns(args, key)) {
      refuse(codes.invalid_arguments, { __proto__: null, operation });
    }
    define(args, key, options[key], true);
  }
  return args;
};
