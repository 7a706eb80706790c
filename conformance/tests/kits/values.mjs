// Prints what the kit marks of values that JSON cannot carry, and of each that it builds itself.
import { runInNewContext } from "node:vm";
import { build, hostValues, mark } from "./cmconf_kit.mjs";
const trap = () => { throw new Error("looked at"); };
const sparse = [];
sparse.length = 4_000_000_000;
const values = {
  usual: [null, true, 0, 1.5, "\u00e9", { a: [] }, Object.create(null)],
  numbers: [NaN, -0, 2n ** 64n],
  proxy: new Proxy([], { get: trap, has: trap, ownKeys: trap }),
  getter: { get a() { return trap(); } },
  realm: runInNewContext("({ plain: { a: 1 }, map: new Map([[1, 2]]) })"),
  keys: { [Symbol("s")]: 1, a: undefined, "\ud800": 1 },
  instance: new (class A { x = 1; })(),
  json: { toJSON: () => "changed", __proto__: null },
  holes: [, 1],
  sparse,
};
const rebuilt = hostValues.map((kind) => [kind, mark(build({ a: [null, 1] }, [[["a", 0], kind]]))[1]]);
console.log(JSON.stringify([...mark(values), rebuilt]));
