// The size of a value, and why a text is none. A value is what json_text.mjs reads.

import { Numeral, read } from "./json_text.mjs";

const bytes = (text) => Buffer.byteLength(text);

/** The UTF-8 length of a value as JSON.stringify writes it. */
export function sizeOf(value) {
  if (value instanceof Numeral) return bytes(JSON.stringify(value.value));
  const list = Array.isArray(value);
  if (!list && !(value instanceof Map)) return bytes(JSON.stringify(value));
  let size = 2;
  let members = 0;
  for (const [key, member] of value.entries()) {
    size += (list ? 0 : bytes(JSON.stringify(key)) + 1) + sizeOf(member);
    members += 1;
  }
  return size + Math.max(members - 1, 0);
}

/** The numerals inside a value. */
function* numerals(value) {
  const left = [value];
  while (left.length > 0) {
    const item = left.pop();
    if (item instanceof Numeral) yield item;
    else if (Array.isArray(item) || item instanceof Map) for (const part of item.values()) left.push(part);
  }
}

function isExact(numeral) {
  if (!numeral.isInteger || Number.isSafeInteger(numeral.value)) return true;
  return BigInt(numeral.text) === BigInt(numeral.value);
}

/** {size} or {refused} for the text of a value that a host gives. */
export function measure(text, maxDepth) {
  const { value, faults, depth } = read(text);
  if (faults.has("number")) return { refused: "not_finite" };
  for (const numeral of numerals(value)) if (!isExact(numeral)) return { refused: "inexact_integer" };
  if (faults.has("surrogate")) return { refused: "lone_surrogate" };
  if (depth > maxDepth) return { refused: "too_deep" };
  return { size: sizeOf(value), value };
}
