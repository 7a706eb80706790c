// node batch.mjs EXPORT INTEROP: lines of JSON on stdin, an answer for each on stdout. A question is
// {frame: base64, to: "parent" | "worker"} or {size: text}; the readings are those of spec/interop.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [exported, interop] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(join(interop, name)).href);
const { receiver } = await part("frames.mjs");
const { measure, sizeOf } = await part("sizes.mjs");

const load = (...path) => JSON.parse(readFileSync(join(exported, ...path), "utf8"));
const profiles = readdirSync(join(exported, "profiles")).map((file) => load("profiles", file));
const tables = {
  policy: load("policy.json"),
  errors: load("errors.json"),
  protocol: load("protocol.json"),
  alternatives: load("alternatives.json"),
  profiles: new Map(profiles.map((profile) => [profile.name, profile])),
};
const { profile } = load("vectors", "frames.json");
const { max_depth: maxDepth } = load("vectors", "sizes.json");
const receive = receiver(tables, profile, {});

function answer(question) {
  if (question.size !== undefined) {
    try {
      const { size, refused } = measure(question.size, maxDepth);
      return { size, refused };
    } catch (fault) {
      return { refused: fault.constructor.name === "SyntaxFault" ? "syntax" : String(fault) };
    }
  }
  const { event, reason, value } = receive(Buffer.from(question.frame, "base64"), question.to);
  return { event, reason, size: value === undefined ? undefined : sizeOf(value) };
}

for await (const line of createInterface({ input: process.stdin })) {
  let found;
  try {
    found = answer(JSON.parse(line));
  } catch (error) {
    found = { raised: String(error) };
  }
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
