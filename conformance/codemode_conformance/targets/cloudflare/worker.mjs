// SPDX-License-Identifier: Apache-2.0
// The Worker in which the executor runs: it gets one program and its operations, and hands calls on to the adapter.
import { DynamicWorkerExecutor } from "@cloudflare/codemode";
import { build, mark } from "../../kits/cmconf_kit.mjs";

const wire = (value) => {
  const [shown, odd] = mark(value);
  return value === undefined ? { present: false } : { present: true, value: shown, ...(odd.length && { odd }) };
};

export default {
  async fetch(request, env) {
    const { r, source, timeout, ops } = await request.json();
    const forward = (name) => async (...args) => {
      const body = JSON.stringify({ r, name, args: wire(args[0]) });
      const answer = await (await env.HARNESS.fetch("http://harness/", { method: "POST", body })).json();
      if (!answer.ok) throw new Error(answer.message);
      return answer.present ? build(answer.value, answer.odd ?? []) : undefined;
    };
    const fns = Object.fromEntries(ops.map((name) => [name, forward(name)]));
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER, timeout });
    try {
      const { result, error, logs } = await executor.execute(source, [{ name: "codemode", fns }]);
      const text = typeof error === "string" ? error : "a message that is no text";
      if (error !== undefined) return Response.json({ error: { message: text }, logs });
      return Response.json({ result: wire(result), logs });
    } catch (error) {
      const { name, message, stack } = Object(error);
      return Response.json({ error: { name, message: message ?? String(error), stack } });
    }
  },
};
