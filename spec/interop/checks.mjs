// The rules of a trace, and the checks of order.json made in their order.

import { rowsOf } from "./policy.mjs";

const SHOWN = ["operation", "reason", "measured", "limit"];
const DEFAULTS = { effect: "read", pages: 0, snapshots: 0, granted: true };

/** What both ends of a trace are judged by. */
export function rulesOf(tables, operations, trace) {
  const rows = rowsOf(tables, trace.profile);
  const limits = new Map([...rows].map(([name, row]) => [name, trace.policy[name] ?? row.default]));
  const catalogue = trace.catalogue ?? Object.keys(operations);
  const errors = new Map(tables.errors.errors.map((entry) => [entry.code, entry]));
  const chosen = { ...tables.profiles.get(trace.profile).alternatives, ...trace.under };
  const limitOf = (code) => {
    const row = [...rows.values()].find((entry) => entry.error === code);
    return row === undefined || !("limit" in errors.get(code).fields) ? undefined : limits.get(row.name);
  };
  return {
    rows,
    limits,
    chosen,
    errors,
    limitOf,
    operations: new Map(catalogue.map((name) => [name, { ...DEFAULTS, ...operations[name] }])),
    readonly: trace.readonly ?? false,
    history: trace.history_bytes,
    protocol: tables.protocol.endpoints[trace.end],
    places: tables.order.places,
    /** Whether an error is the end of the invocation rather than of a call. */
    ends: (code) => {
      const { ends } = errors.get(code);
      return ends === "always" || (ends === "exhaustion" && chosen.exhaustion === "terminal");
    },
    /** An error with those of its fields that are known and that its code has. */
    error: (code, known = {}) => {
      const { fields } = errors.get(code);
      const shown = SHOWN.filter((name) => name in fields && known[name] !== undefined);
      return { code, ...Object.fromEntries(shown.map((name) => [name, known[name]])) };
    },
  };
}

/**
 * Make the checks of a place, except those in `skip`. A test gives true, or the fields of its error.
 * `take` is called with the names of what a passed check takes. Gives the check that failed with its
 * error (none where it drops), or nothing.
 */
export function walk(rules, place, tests, take = () => {}, skip = []) {
  for (const check of rules.places[place].checks) {
    const { row } = check;
    if (skip.includes(check.check) || (row !== undefined && !rules.limits.has(row))) continue;
    const fields = tests[check.check]?.() ?? true;
    if (fields === true) {
      for (const what of check.takes ?? []) take(what);
      continue;
    }
    const code = row === undefined ? check.code : rules.rows.get(row).error;
    const error = code === undefined ? undefined : rules.error(code, { limit: rules.limits.get(row), ...fields });
    return { check, error };
  }
  return undefined;
}
