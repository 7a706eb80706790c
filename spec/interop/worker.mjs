// The worker's end of a trace.

import { isDeepStrictEqual } from "node:util";

import { walk } from "./checks.mjs";

export class Worker {
  constructor(rules) {
    this.rules = rules;
    this.state = rules.protocol.initial;
    this.ids = 0;
    this.open = new Set();
    this.queue = [];
    this.known = []; // errors that the program got from the bridge
    this.actions = [];
  }

  /** Take one event; what the worker does. */
  on(event, given) {
    this.actions = [];
    if (event === "ask") this.ask(given);
    else if (event === "end") this.end(given);
    else this.frame(event, given);
    return this.actions;
  }

  frame(event, given) {
    const cell = this.rules.protocol.transitions[this.state][event];
    if (cell.exit !== undefined) this.exit(cell.exit);
    else if (cell.next !== undefined) {
      this.state = cell.next;
      if (event === "host_result") this.reply(given);
    }
  }

  exit(status) {
    this.state = this.rules.protocol.final;
    this.actions.push({ do: "exit", status });
  }

  result(what) {
    this.actions.push({ do: "send", frame: "result", ...what });
    this.exit(0);
  }

  ask(wish) {
    const { rules } = this;
    const { operation } = wish;
    const most = rules.limits.get("concurrent_host_calls");
    const full = this.open.size >= most;
    const fits = rules.limits.get("ipc_frame_bytes");
    const failed = walk(rules, "worker_host_call", {
      name: () => rules.operations.has(operation) || {},
      read_only: () => !rules.readonly || rules.operations.get(operation).effect === "read" || { operation },
      arguments_value: () => wish.fault === undefined || { operation },
      frame_fits: () => (wish.frame_bytes ?? 0) <= fits || { operation, measured: wish.frame_bytes, limit: fits },
      host_calls: () => this.ids < rules.limits.get("host_calls") || { operation },
      concurrent_host_calls: () => !full || rules.chosen.concurrency_excess === "queue" || { operation },
    });
    if (failed === undefined && full) {
      this.queue.push(wish);
    } else if (failed === undefined) {
      this.ids += 1;
      this.open.add(this.ids);
      this.actions.push({ do: "send", frame: "host_call", call_id: this.ids, operation });
    } else if (rules.ends(failed.error.code)) {
      this.result({ error: failed.error });
    } else {
      this.known.push(failed.error);
      this.actions.push({ do: "throw", error: failed.error });
    }
  }

  reply(given) {
    this.open.delete(given.call_id);
    if (given.error !== undefined) this.known.push(given.error);
    const most = this.rules.limits.get("concurrent_host_calls");
    while (this.queue.length > 0 && this.open.size < most && this.state !== this.rules.protocol.final) {
      this.ask(this.queue.shift());
    }
  }

  end(given) {
    const { rules } = this;
    const { thrown, present = false, size = 0, depth = 0 } = given;
    if (thrown !== undefined) {
      const kept = thrown.code === "code_rejected" || this.known.some((error) => isDeepStrictEqual(error, thrown));
      this.result({ error: kept ? thrown : rules.error("code_rejected", { reason: "uncaught" }) });
      return;
    }
    const failed = walk(rules, "worker_final", {
      undefined: () => present || rules.chosen.undefined_result === "absent" || { reason: "no_value" },
      types: () => given.fault === undefined || { reason: "not_json" },
      depth: () => depth <= rules.limits.get("value_depth") || { reason: "too_deep" },
      final_result_bytes: () => size <= rules.limits.get("final_result_bytes") || { measured: size },
    });
    if (failed !== undefined) this.result({ error: failed.error });
    else this.result({ present, ...(size > 0 ? { size } : {}) });
  }
}
