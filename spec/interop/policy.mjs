// The rows of a profile, and validation of a policy.

/** The rows of a profile, by name and in table order. */
export function rowsOf(tables, name) {
  const changes = tables.profiles.get(name).rows;
  const rows = tables.policy.rows.filter((row) => row.applies.includes(name));
  return new Map(rows.map((row) => [row.name, { ...row, ...changes[row.name] }]));
}

const byCodePoints = (a, b) => {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((character, index) => character !== right[index]);
  if (at < 0) return left.length - right.length;
  return right[at] === undefined ? 1 : left[at].codePointAt(0) - right[at].codePointAt(0);
};

/** The field that makes a policy invalid, or null; `values` is a Map. */
export function invalidField(values, rows) {
  const unknown = [...values.keys()].filter((name) => !rows.has(name)).sort(byCodePoints);
  if (unknown.length > 0) return unknown[0];
  for (const [name, row] of rows) {
    const value = values.get(name);
    const least = typeof row.minimum === "string" ? values.get(row.minimum) : row.minimum;
    const legal = Number.isInteger(value) && value >= least && value <= row.absolute_maximum;
    if (!legal || (value === 0 && !row.zero_allowed)) return name;
  }
  return null;
}
