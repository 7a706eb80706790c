// node schemas.mjs DIR: every document of an exported specification is valid by its schema, and
// by the digest of the manifest; and what is planted into it is found.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import Ajv2020 from "ajv/dist/2020.js";

const [directory] = process.argv.slice(2);
if (directory === undefined) {
  console.error("usage: node schemas.mjs DIR (a folder written by `cmconf spec export`)");
  process.exit(2);
}

const bytes = (path) => readFileSync(join(directory, ...path.split("/")));
const load = (path) => JSON.parse(bytes(path).toString());
const manifest = load("manifest.json");
const paths = Object.keys(manifest.files);
let faults = 0;
const tell = (line) => {
  faults += 1;
  console.log(line);
};

for (const path of paths) {
  const digest = createHash("sha256").update(bytes(path)).digest("hex");
  if (digest !== manifest.files[path].sha256) tell(`${path}: not the digest of the manifest`);
}

// Closed objects spread over several keywords are meant; unknown keywords are not.
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  validateFormats: false, // annotations in this dialect
  allErrors: true,
});
const ids = new Map();
for (const path of paths.filter((entry) => entry.startsWith("schema/"))) {
  const schema = load(path);
  ajv.addSchema(schema);
  ids.set(path.slice("schema/".length, -".schema.json".length), schema.$id);
}
const validator = (name, definition = "") => {
  if (!ids.has(name)) throw new Error(`there is no schema ${name}`);
  return ajv.getSchema(ids.get(name) + (definition && `#/$defs/${definition}`));
};
const all = [...ids.keys()].filter((name) => typeof validator(name) !== "function");
if (all.length > 0) tell(`schemas that do not compile: ${all.join(", ")}`);

// Every way to break a document at its top: a key too many, a key missing, another type, and in the
// first entry of each list the same.
function* planted(document) {
  yield ["another type", [document]];
  yield ["null", null];
  yield ["an unknown key", { ...document, planted: 1 }];
  for (const key of Object.keys(document)) {
    if (key !== "$schema") yield [`${key} is null`, { ...document, [key]: null }];
    const list = document[key];
    const isList = Array.isArray(list) && typeof list[0] === "object" && list[0] !== null;
    if (isList && !Array.isArray(list[0])) {
      yield [`${key}[0] has an unknown key`, { ...document, [key]: [{ ...list[0], planted: 1 }, ...list.slice(1)] }];
      yield [`${key}[0] is text`, { ...document, [key]: ["planted", ...list.slice(1)] }];
    }
  }
}

let documents = 0;
let plants = 0;
for (const [path, name] of [...paths.map((entry) => [entry, manifest.files[entry].schema]), ["manifest.json", "manifest"]]) {
  if (name === undefined) continue;
  const validate = validator(name);
  const document = load(path);
  documents += 1;
  if (!validate(document)) tell(`${path}: ${ajv.errorsText(validate.errors)}`);
  for (const [what, broken] of planted(document)) {
    plants += 1;
    if (validate(broken)) tell(`${path}: ${what}, and the schema ${name} takes it`);
  }
}

// Every legal frame of the vectors by the schema of its kind, and none by that of another.
const { shared, vectors } = load("vectors/frames.json");
const kinds = ["execute", "host_call", "host_batch", "progress", "host_result", "result"];
const text = (line) =>
  (Array.isArray(line) ? line : [line])
    .map((part) => {
      if (typeof part === "string") return part;
      return "shared" in part ? shared[part.shared] : part.repeat.repeat(part.times);
    })
    .join("");
let frames = 0;
for (const vector of vectors) {
  if (vector.reason !== undefined) continue;
  frames += 1;
  const frame = JSON.parse(text(vector.line));
  const taken = kinds.filter((kind) => validator("frame", kind)(frame));
  if (String(taken) !== vector.event) tell(`${vector.id}: taken as ${taken.join(", ") || "nothing"}`);
}

console.log(
  `${paths.length} files, ${ids.size} schemas; ${documents} documents, ${plants} planted faults, ${frames} frames: ` +
    `${faults} faults`,
);
process.exitCode = faults > 0 ? 1 : 0;
