// node vectors.mjs DIR: an implementation of sizes, frames, policies, values and of what both ends do,
// that shares no code with the Python ones, put to the vectors of an exported specification.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { receiver } from "./frames.mjs";
import { invalidField, rowsOf } from "./policy.mjs";
import { measure, sizeOf } from "./sizes.mjs";
import { replay } from "./traces.mjs";
import { leave } from "./values.mjs";

const [directory] = process.argv.slice(2);
if (directory === undefined) {
  console.error("usage: node vectors.mjs DIR (a folder written by `cmconf spec export`)");
  process.exit(2);
}

const load = (...path) => JSON.parse(readFileSync(join(directory, ...path), "utf8"));
const profiles = readdirSync(join(directory, "profiles")).map((file) => load("profiles", file));
const tables = {
  policy: load("policy.json"),
  errors: load("errors.json"),
  protocol: load("protocol.json"),
  order: load("order.json"),
  alternatives: load("alternatives.json"),
  profiles: new Map(profiles.map((profile) => [profile.name, profile])),
};

function bytesOf(line, shared = {}) {
  const part = (item) => {
    if (typeof item === "string") return Buffer.from(item);
    if ("base64" in item) return Buffer.from(item.base64, "base64");
    if ("shared" in item) return Buffer.from(shared[item.shared]);
    return Buffer.from(item.repeat.repeat(item.times));
  };
  return Buffer.concat((Array.isArray(line) ? line : [line]).map(part));
}

// Each gives what this implementation finds and what the vector says, in the same form.
const kinds = {
  sizes: (document, vector) => {
    const { size, refused } = measure(bytesOf(vector.json).toString(), document.max_depth);
    const text = vector.text === undefined ? undefined : JSON.stringify(JSON.parse(bytesOf(vector.json)));
    return [
      { size, refused, text },
      { size: vector.size, refused: vector.refused, text: vector.text },
    ];
  },
  policy: (document, vector) => {
    const rows = rowsOf(tables, vector.profile);
    const values = new Map([...rows].map(([name, row]) => [name, row.default]));
    for (const [name, value] of Object.entries(vector.change ?? {})) values.set(name, value);
    for (const name of vector.remove ?? []) values.delete(name);
    return [invalidField(values, rows), vector.field];
  },
  frames: (document, vector) => {
    const receive = receiver(tables, document.profile, vector.under ?? {});
    const { event, reason, value } = receive(bytesOf(vector.line, document.shared), vector.to);
    const size = vector.size === undefined || value === undefined ? undefined : sizeOf(value);
    return [
      { event, reason, size },
      { event: vector.event, reason: vector.reason, size: vector.size },
    ];
  },
  values: (document, vector) => {
    const { alternatives } = tables.profiles.get(document.profile);
    const chosen = { ...alternatives, ...vector.under };
    const maxDepth = rowsOf(tables, document.profile).get("value_depth").default;
    const { size, refused, absent, accepted } = vector;
    const found = vector.places.map((place) => {
      if (place === "host") {
        const got = measure(bytesOf(vector.json).toString(), maxDepth);
        const value = accepted === undefined ? undefined : JSON.parse(bytesOf(vector.json));
        return { size: got.size, refused: got.refused && "host_result_invalid", accepted: value };
      }
      // eslint-disable-next-line no-new-func
      const made = new Function(`return (${vector.javascript});`)();
      const got = leave(made, place, maxDepth, chosen);
      return {
        size: got.text === undefined ? undefined : Buffer.byteLength(got.text),
        refused: got.refused,
        absent: got.absent,
        accepted: accepted === undefined || got.text === undefined ? undefined : JSON.parse(got.text),
      };
    });
    const wanted = vector.places.map((place) =>
      place === "host" ? { size, refused, accepted } : { size, refused, absent, accepted },
    );
    return [found, wanted];
  },
  traces: (document, vector) => {
    const found = replay(tables, document.operations, vector);
    const wanted = vector.steps.map(({ actions, state }) => ({ actions, state }));
    // The first step that differs says enough.
    const at = wanted.findIndex((step, index) => !isDeepStrictEqual(step, found[index]));
    return at < 0 ? [true, true] : [{ step: at + 1, ...found[at] }, wanted[at]];
  },
};

let disagreements = 0;
for (const [name, judge] of Object.entries(kinds)) {
  const document = load("vectors", `${name}.json`);
  let wrong = 0;
  for (const vector of document.vectors) {
    let found;
    let wanted;
    try {
      [found, wanted] = judge(document, vector);
    } catch (error) {
      [found, wanted] = [String(error), "an answer"];
    }
    if (isDeepStrictEqual(found, wanted)) continue;
    wrong += 1;
    console.log(`${name}: ${vector.id}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
  console.log(`${name}: ${document.vectors.length} vectors, ${wrong} disagreements`);
  if (document.vectors.length === 0) wrong += 1;
  disagreements += wrong;
}
process.exitCode = disagreements > 0 ? 1 : 0;
