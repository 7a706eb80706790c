// A strict reader of JSON text that keeps what JSON.parse loses: the spelling of numbers, keys that
// occur twice, a key named __proto__. Objects come as Map, numbers as Numeral.

export class Numeral {
  constructor(text) {
    this.text = text;
    this.value = Number(text);
  }

  // Written without fraction and exponent.
  get isInteger() {
    return /^-?\d+$/.test(this.text);
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// Each character can be taken in one way only, so that a text without an end takes no longer than another.
// eslint-disable-next-line no-control-regex
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const WORD = /true|false|null/y;
const WORDS = { true: true, false: false, null: null };

export class SyntaxFault extends Error {}

/**
 * The value of a text, the faults that do not keep it from being read (duplicate, number,
 * surrogate), and its depth. Throws SyntaxFault for what is no JSON. No recursion.
 */
export function read(text) {
  let at = 0;
  let deepest = 0;
  const faults = new Set();
  const open = [];

  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return null;
    at = pattern.lastIndex;
    return found[0];
  };
  const skip = () => take(SPACE);
  const accept = (mark) => {
    skip();
    if (text[at] !== mark) return false;
    at += 1;
    return true;
  };
  const expect = (mark) => {
    if (!accept(mark)) throw new SyntaxFault(`${mark} expected at ${at}`);
  };
  const string = () => {
    skip();
    const found = take(STRING);
    if (found === null) throw new SyntaxFault(`a string expected at ${at}`);
    const value = JSON.parse(found);
    if (!value.isWellFormed()) faults.add("surrogate");
    return value;
  };
  const key = (map) => {
    const name = string();
    if (map.has(name)) faults.add("duplicate");
    expect(":");
    return name;
  };
  const scalar = () => {
    if (text[at] === '"') return string();
    const word = take(WORD);
    if (word !== null) return WORDS[word];
    const digits = take(NUMBER);
    if (digits === null || digits === "") throw new SyntaxFault(`a value expected at ${at}`);
    const number = new Numeral(digits);
    if (!Number.isFinite(number.value)) faults.add("number");
    return number;
  };

  for (;;) {
    skip();
    let value;
    if (text[at] === "[" || text[at] === "{") {
      const isList = text[at] === "[";
      at += 1;
      const target = isList ? [] : new Map();
      if (!accept(isList ? "]" : "}")) {
        open.push({ target, name: isList ? null : key(target) });
        deepest = Math.max(deepest, open.length);
        continue;
      }
      deepest = Math.max(deepest, open.length + 1);
      value = target;
    } else {
      value = scalar();
    }
    // Put the finished value into what is open, and close what ends with it.
    for (;;) {
      const top = open.at(-1);
      if (top === undefined) {
        skip();
        if (at !== text.length) throw new SyntaxFault(`text after the value at ${at}`);
        return { value, faults, depth: deepest };
      }
      if (Array.isArray(top.target)) top.target.push(value);
      else top.target.set(top.name, value);
      if (accept(",")) {
        if (!Array.isArray(top.target)) top.name = key(top.target);
        break;
      }
      expect(Array.isArray(top.target) ? "]" : "}");
      value = top.target;
      open.pop();
    }
  }
}
