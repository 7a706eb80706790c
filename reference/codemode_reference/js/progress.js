// Progress of the program, for people: no host call, no answer, and never a failure.

const { most, message_bytes: longest } = settings.progress;
const NO_TEXT = /[\ud800-\udfff]/u;
let reports = 0;

const whole = (value) =>
  typeof value === "number" && value >= 0 && value <= LARGEST ? value - (value % 1) : null;

// As much of a text as may be told, by whole characters.
const told = (text) => {
  let size = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = unitAt(text, index);
    const pair = unit >= 0xd800 && unit < 0xdc00;
    size += unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (size > longest) return cut(text, 0, index);
    if (pair) index++;
  }
  return text;
};

const report = (current, total, message) => {
  const done = whole(current);
  if (done === null || reports >= most) return;
  const all = whole(total);
  const text = typeof message === "string" && !matches(NO_TEXT, message) ? told(message) : null;
  session.outbox +=
    '{"type":"progress","invocation_id":' + session.id + ',"current":' + done +
    (all === null ? "" : ',"total":' + all) +
    (text === null ? "" : ',"message":' + stringify(text)) +
    "}\n";
  reports++;
};
