// The result of a program, as the frame that tells it.

const PENDING = "p";
const SETTLING = "s";
const DONE = "d";
const NULL_THROWN = "n";
let state = PENDING;

const finish = (ok, key, text, last) => {
  session.outbox +=
    '{"type":"result","invocation_id":' + session.id + ',"ok":' + ok + ',"value_present":' + ok +
    ',"' + key + '":' + text + "}\n";
  state = last;
};

const finishWithout = () => {
  session.outbox +=
    '{"type":"result","invocation_id":' + session.id + ',"ok":true,"value_present":false}\n';
  state = DONE;
};

const fail = (error) => finish(false, "error", error, DONE);

const onValue = (value) => {
  state = SETTLING;
  if (value === undefined && session.absent) return finishWithout();
  if (value === undefined) return fail(rejected(reasons.no_value, ""));
  let found;
  try {
    found = snapshot(value, session.limits.final_result_bytes);
  } catch (thrown) {
    return onThrow(thrown);
  }
  if (found.fault !== null) {
    const last = found.null_thrown ? NULL_THROWN : DONE;
    return finish(false, "error", rejected(found.fault, ""), last);
  }
  if (found.text !== null) return finish(true, "value", found.text, DONE);
  const code = stringify(codes.final_result_bytes_limit);
  const { final_result_bytes: limit } = session.limits;
  return fail('{"code":' + code + ',"measured":' + found.size + ',"limit":' + limit + "}");
};

const onThrow = (thrown) => {
  state = SETTLING;
  const last = thrown === null || marked(doubtful, thrown) ? NULL_THROWN : DONE;
  finish(false, "error", verdict(thrown), last);
};

// The function that a source is the body of. It is parsed in two places, of which the first runs
// nothing.
const compile = (trial, place, source) => {
  try {
    evaluate(trial[0] + source + trial[1]);
  } catch (thrown) {
    if (thrown !== 0) throw thrown;
  }
  return evaluate(place[0] + source + place[1]);
};
