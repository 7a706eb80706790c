// The parent's end of a trace.

import { isDeepStrictEqual } from "node:util";

import { walk } from "./checks.mjs";

const WHOLE = ["host_calls", "operation_known", "operation_granted", "history_headroom", "batch_history"];

export class Parent {
  constructor(rules) {
    this.rules = rules;
    this.state = rules.protocol.initial;
    this.late = false;
    this.spent = false;
    this.calls = 0;
    this.used = { pages: 0, snapshots: 0, bytes: 0, record: 0 };
    this.open = new Map(); // the operation of each call that holds a slot
    this.sent = [];
    this.batch = undefined;
    this.outcome = undefined;
    this.actions = [];
  }

  /** Take one event; what the parent does. */
  on(event, given = {}) {
    this.actions = [];
    if (event === "time_up") this.late = true;
    else if (event === "cpu_time_up") this.spent = true;
    else if (event === "answer") this.answer(given);
    else this.event(event, given);
    return this.actions;
  }

  event(name, given) {
    const { protocol } = this.rules;
    const calls = name === "host_call" || name === "host_batch";
    const event = calls && given.call_id !== this.calls + 1 ? "malformed" : name;
    const cell = protocol.transitions[this.state][event];
    if (cell.ignore) return;
    if (cell.error !== undefined) {
      this.end(this.rules.error(cell.error, { limit: this.rules.limitOf(cell.error) }));
    } else if (event === "host_call") {
      this.call(given);
    } else if (event === "host_batch") {
      this.whole(given);
    } else if (event === "result") {
      this.result(given, cell.next);
    } else {
      this.state = cell.next;
      if (this.state === protocol.final) this.stop("end", this.outcome);
    }
  }

  stop(how, outcome) {
    this.actions.push({ do: how, outcome, cancelled: [...this.open.keys()] });
    this.open.clear();
    this.batch = undefined;
  }

  end(error) {
    this.state = this.rules.protocol.final;
    this.stop("end", { error });
  }

  refuse(id, error) {
    this.sent.push(error);
    this.actions.push({ do: "reply", call_id: id, error });
  }

  // A host call.

  /** The checks of a host call, but those in `skip`; what failed. A call that fails has no slot. */
  checked(call, skip = []) {
    const { rules } = this;
    const { call_id: id, operation } = call;
    const spec = rules.operations.get(operation);
    const left = (row) => () => spec[row] === 0 || this.used[row] + spec[row] <= rules.limits.get(row) || { operation };
    const tests = {
      host_calls: () => this.calls < rules.limits.get("host_calls") || { operation: spec && operation },
      operation_known: () => spec !== undefined || {},
      operation_granted: () => spec.granted || { operation },
      concurrent_host_calls: () => this.open.size < rules.limits.get("concurrent_host_calls") || { operation },
      read_only: () => !rules.readonly || spec.effect === "read" || { operation },
      pages: left("pages"),
      snapshots: left("snapshots"),
      arguments: () => call.valid !== false || { operation },
      text_filter: () => !call.blocked || {},
      ...this.kept(call.record ?? 0, 0),
      deadline: () => !this.late || {},
    };
    const take = (what) => {
      if (what === "call") this.calls += 1;
      else if (what === "slot") this.open.set(id, operation);
      else if (what === "record") this.used.record += call.record ?? 0;
      else if (what in this.used) this.used[what] += spec[what];
    };
    const failed = walk(rules, "parent_host_call", tests, take, skip);
    if (failed !== undefined) this.open.delete(id);
    return failed;
  }

  /** The two checks of a durable history; `fresh` is not yet added to it. */
  kept(record, fresh) {
    const { history, limits } = this.rules;
    if (history === undefined) return {};
    const left = () => history - this.used.record - fresh;
    return {
      history_headroom: () => left() >= limits.get("history_headroom_bytes") || { measured: Math.max(left(), 0) },
      batch_history: () => record <= limits.get("batch_history_bytes") || { measured: record },
    };
  }

  /** What a failed check of a call or a value leads to; whether anything was said of it. */
  failed(id, { check, error }) {
    if (error === undefined) return false;
    if (check.answer === "terminate" || this.rules.ends(error.code)) this.end(error);
    else this.refuse(id, error);
    return true;
  }

  call(given) {
    const failed = this.checked(given);
    if (failed !== undefined) this.failed(given.call_id, failed);
    else this.actions.push({ do: "dispatch", call_id: given.call_id, operation: given.operation });
  }

  // A batch.

  whole(given) {
    const { rules } = this;
    const calls = given.calls.map((call, index) => ({ ...call, call_id: given.call_id + index }));
    const spec = (call) => rules.operations.get(call.operation);
    const bad = calls.find((call) => !spec(call)?.granted);
    const record = calls.reduce((sum, call) => sum + (call.record ?? 0), 0);
    const failed = walk(rules, "parent_host_call", {
      host_calls: () => this.calls + calls.length <= rules.limits.get("host_calls") || {},
      operation_known: () => bad === undefined || spec(bad) !== undefined || {},
      operation_granted: () => bad === undefined || { operation: bad.operation },
      ...this.kept(record, record),
    });
    if (failed !== undefined) {
      this.end(failed.error);
      return;
    }
    this.calls += calls.length;
    this.used.record += record;
    let group = 0;
    const entries = calls.map((call, index) => {
      const reads = (entry) => entry !== undefined && spec(entry).effect === "read";
      if (!reads(call) || !reads(calls[index - 1])) group += 1;
      return { call, group, running: false, result: undefined };
    });
    this.batch = { entries, started: 0, committed: 0 };
    this.advance();
  }

  /** Commit what is due and start what may start, until neither is left. */
  advance() {
    this.commit();
    for (let entry = this.startable(); entry !== undefined; entry = this.startable()) {
      this.start(entry);
      this.commit();
    }
  }

  startable() {
    if (this.batch === undefined) return undefined;
    const { entries, started } = this.batch;
    const entry = entries[started];
    const running = entries.filter((other) => other.running);
    const free = running.length < this.rules.limits.get("concurrent_host_calls");
    return free && running.every((other) => other.group === entry?.group) ? entry : undefined;
  }

  start(entry) {
    const { call } = entry;
    const failed = this.checked(call, [...WHOLE, "record"]);
    this.batch.started += 1;
    if (failed === undefined) {
      entry.running = true;
      this.actions.push({ do: "dispatch", call_id: call.call_id, operation: call.operation });
    } else if (failed.error === undefined) {
      this.batch.started = this.batch.entries.length; // nothing after it is looked at
    } else if (this.rules.ends(failed.error.code)) {
      this.end(failed.error);
    } else {
      entry.result = { error: failed.error };
    }
  }

  commit() {
    while (this.batch !== undefined) {
      const { entries, committed } = this.batch;
      const { call, result } = entries[committed];
      if (result === undefined) return;
      this.batch.committed += 1;
      const last = committed + 1 === entries.length;
      if (result.error !== undefined) this.refuse(call.call_id, result.error);
      else this.value(call.call_id, call.operation, result);
      if (last) this.batch = undefined;
    }
  }

  // An answer.

  answer(given) {
    const id = given.call_id;
    if (!this.open.has(id)) return;
    const operation = this.open.get(id);
    this.open.delete(id);
    const entry = this.batch?.entries.find((other) => other.call.call_id === id);
    if (entry === undefined) {
      this.value(id, operation, given);
      return;
    }
    entry.running = false;
    entry.result = given;
    this.advance();
  }

  value(id, operation, { size = 0, fault }) {
    const { limits } = this.rules;
    const sum = this.used.bytes + size;
    const tests = {
      open: () => (["running", "draining"].includes(this.state) && !this.late) || {},
      failure: () => fault !== "failed" || { operation },
      value: () => fault === undefined || { operation },
      host_result_bytes: () => size <= limits.get("host_result_bytes") || { operation, measured: size },
      cumulative_host_result_bytes: () =>
        sum <= limits.get("cumulative_host_result_bytes") || { operation, measured: sum },
    };
    const failed = walk(this.rules, "parent_host_value", tests, () => {
      this.used.bytes = sum;
    });
    if (failed !== undefined) this.failed(id, failed);
    else this.actions.push({ do: "reply", call_id: id, size });
  }

  // A result.

  result(given, next) {
    const { rules } = this;
    const { present = false, size = 0, error } = given;
    const failed = walk(rules, "parent_final", {
      presence: () => present || error !== undefined || rules.chosen.undefined_result === "absent" || {},
      wall_time_ms: () => error !== undefined || !this.late || {},
      claim: () => error === undefined || this.believes(error) || { reason: "uncaught" },
      final_result_bytes: () =>
        error !== undefined || size <= rules.limits.get("final_result_bytes") || { measured: size },
    });
    const told = failed?.error ?? error;
    if (failed !== undefined && rules.errors.get(told.code).category === "protocol") {
      this.end(told);
      return;
    }
    this.outcome = told === undefined ? { present } : { error: told };
    this.state = next;
    this.stop("settle", this.outcome);
  }

  believes(error) {
    if (this.sent.some((other) => isDeepStrictEqual(other, error))) return true;
    const own = this.rules.errors.get(error.code).worker_own;
    if (own === undefined || (error.operation !== undefined && !this.rules.operations.has(error.operation))) return false;
    if (own === "always") return true;
    if (own === "longer_than_a_frame") {
      if (error.measured === undefined && error.limit === undefined) return true;
      const frame = this.rules.limits.get("ipc_frame_bytes");
      return error.limit === frame && error.measured > frame;
    }
    const limit = this.rules.limitOf(error.code);
    if (limit === undefined || error.limit !== limit) return false;
    if (own === "measured_above_limit") return error.measured > limit;
    if (own === "elapsed_at_limit") return this.late;
    if (own === "worked_at_limit") return this.spent;
    return own === "calls_at_limit" ? this.calls === limit : this.calls >= limit;
  }
}
