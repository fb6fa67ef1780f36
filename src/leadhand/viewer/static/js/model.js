// A run as the page knows it: columns that only grow, and what is derived from them. No elements here.

class Grow {
  constructor() {
    this.data = new Int32Array(1024);
    this.length = 0;
  }
  push(values) {
    const need = this.length + values.length;
    if (need > this.data.length) {
      const bigger = new Int32Array(Math.max(need, this.data.length * 2));
      bigger.set(this.data.subarray(0, this.length));
      this.data = bigger;
    }
    this.data.set(values, this.length);
    this.length = need;
  }
  set(i, value) {
    this.data[i] = value;
  }
}

// What a kind of row is, for filters, dots and words.
const GROUPS = {
  attempt_started: "model", attempt_replied: "model", attempt_failed: "problem", command: "command", command_ended: "command",
  wait: "wait", finish: "team", tool: "tool", tool_ended: "tool", call_rejected: "problem", check_started: "tool", check_ended: "tool", delegation_started: "team", delegation_ended: "team",
  mail_sent: "team", assignment: "team", delivery: "team", results: "message", message_added: "message",
  agent_started: "team", agent_ended: "team", note_added: "team", compacted: "message", slot_claimed: "team", selected: "team", warned: "problem", grading_failed: "problem", recovered: "problem",
};
const WORDS = {
  attempt_started: "model call", attempt_replied: "reply", attempt_failed: "failed call", command: "command", command_ended: "exit",
  wait: "waits", finish: "finishes", tool: "tool", tool_ended: "result", call_rejected: "rejected", check_started: "tries", check_ended: "tried", delegation_started: "delegates",
  delegation_ended: "report", mail_sent: "message", assignment: "assigned", delivery: "delivered", results: "results",
  message_added: "prompt", agent_started: "joins", agent_ended: "ends", run_started: "run", session_started: "resumed",
  recovered: "recovered", sandbox_started: "sandbox", processes_killed: "killed", warned: "warning", collected: "collected",
  note_added: "note", compacted: "compacted", slot_claimed: "claims", candidate_kept: "kept", candidate_graded: "graded", selected: "chosen",
  run_ended: "run ends", grading_started: "grading", graded: "graded", grading_failed: "grading",
};
// Rows that repeat what another row shows: left out of the list unless everything is asked for.
const QUIET = new Set(["attempt_started", "command_ended", "tool_ended", "results"]);

export class RunModel {
  constructor(head) {
    this.head = head;
    this.kinds = head.kinds;
    this.agents = [];
    for (const name of ["t", "agent", "kind", "bad", "of", "endOf", "startOf"]) this[name] = new Grow();
    this.lanes = [];
    for (const name of ["waits", "spends", "arrows", "marks", "paths", "writes", "references"]) this[name] = [];
    this.count = 0;
    this.now = 0;
    this.summary = null;
    this.version = 0;
    this.costs = { t: [], usd: [], leadUsd: [], tokens: [], leadTokens: [] };
    this.code = Object.fromEntries(this.kinds.map((kind, i) => [kind, i]));
  }

  // Takes a delta in. The same columns from the first cursor on give the same model, however they were cut.
  apply(delta) {
    const c = delta.columns;
    for (const agent of c.agents) {
      this.agents.push(agent);
      this.lanes.push({ spans: [], sorted: true });
    }
    this.t.push(c.t);
    this.agent.push(c.agent);
    this.kind.push(c.kind);
    this.bad.push(c.bad);
    this.of.push(c.of);
    const none = new Int32Array(c.t.length).fill(-1);
    this.endOf.push(none);
    this.startOf.push(none);
    for (let i = 0; i < c.start.length; i += 1) this.#span(c.start[i], c.end[i]);
    for (const name of ["waits", "arrows", "marks", "paths", "writes", "references"]) for (const item of c[name]) this[name].push(item);
    for (const [seq, level] of c.marks) if (level !== "note") this.bad.set(seq, 1); // some are found later than their rows
    for (const spend of c.spends) this.#spend(spend);
    Object.assign(this, {
      count: delta.count, now: delta.now, summary: delta.summary, open: delta.open, delegations: delta.delegations,
      money: delta.money, dearest: delta.dearest, commands: delta.commands, phases: delta.phases, path: delta.path, ended: delta.ended,
      error: delta.error, reading: delta.reading, looked: delta.looked, unlooked: delta.unlooked,
    });
    this.version += 1;
  }

  #span(start, end) {
    this.endOf.set(start, end);
    this.startOf.set(end, start);
    const lane = this.lanes[this.agent.data[start]];
    if (!lane) return;
    const last = lane.spans.length ? lane.spans[lane.spans.length - 1] : -1;
    lane.spans.push(start);
    if (start < last) lane.sorted = false;
  }

  #spend([seq, micro, tokens]) {
    this.spends.push([seq, micro, tokens]);
    const c = this.costs;
    const last = c.t.length - 1;
    const lead = this.agents[this.agent.data[seq]]?.role !== "worker";
    c.t.push(this.t.data[seq]);
    c.usd.push((last < 0 ? 0 : c.usd[last]) + micro / 1e6);
    c.leadUsd.push((last < 0 ? 0 : c.leadUsd[last]) + (lead ? micro / 1e6 : 0));
    c.tokens.push((last < 0 ? 0 : c.tokens[last]) + tokens);
    c.leadTokens.push((last < 0 ? 0 : c.leadTokens[last]) + (lead ? tokens : 0));
  }

  // An agent's spans, as start events in order of time.
  spans(agent) {
    const lane = this.lanes[agent];
    if (!lane.sorted) {
      lane.spans.sort((a, b) => a - b);
      lane.sorted = true;
    }
    return lane.spans;
  }

  get running() {
    return this.summary?.status === "running";
  }
  get free() {
    return !this.summary || this.summary.settled_usd === 0;
  }
  kindOf(seq) {
    return this.kinds[this.kind.data[seq]];
  }
  group(seq) {
    const kind = this.kindOf(seq);
    return GROUPS[kind] || "run";
  }
  word(seq) {
    return WORDS[this.kindOf(seq)] || this.kindOf(seq).replaceAll("_", " ");
  }
  agentName(seq) {
    const i = this.agent.data[seq];
    return i < 0 ? "" : this.agents[i].name;
  }
  isBad(seq) {
    const end = this.endOf.data[seq];
    return this.bad.data[seq] === 1 || (end >= 0 && this.bad.data[end] === 1);
  }
  quiet(seq) {
    return QUIET.has(this.kindOf(seq)) && !(this.bad.data[seq] && this.kindOf(seq) === "tool_ended");
  }
  line(name) {
    return this.summary.agents.find((a) => a.name === name);
  }

  // Events that pass, in order. `groups` null: all.
  filter({ agent = -2, groups = null, bad = false, all = false } = {}) {
    const found = new Int32Array(this.count);
    const passes = this.kinds.map((kind) => (groups === null || groups.has(GROUPS[kind] || "run")) && (all || !QUIET.has(kind)));
    let n = 0;
    for (let i = 0; i < this.count; i += 1) {
      if (agent !== -2 && this.agent.data[i] !== agent) continue;
      if (bad ? !this.bad.data[i] : !passes[this.kind.data[i]]) continue;
      found[n++] = i;
    }
    return found.subarray(0, n);
  }

  // What an attempt's outcome cost: [event, millionths of a dollar, tokens], or null.
  spend(seq) {
    let low = 0;
    let high = this.spends.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.spends[middle][0] === seq) return this.spends[middle];
      if (this.spends[middle][0] < seq) low = middle + 1;
      else high = middle - 1;
    }
    return null;
  }

  // The conversation that ends in event `seq`: the joining event of its root first, then its messages in order.
  chain(seq) {
    const found = [];
    let at = this.kindOf(seq) === "attempt_started" ? this.of.data[seq] : seq;
    while (at >= 0 && found.length <= this.count) {
      found.push(at);
      const next = this.of.data[at];
      if (next >= at) break;
      at = next;
    }
    return found.reverse();
  }

  // Files by path: who wrote them, by how many commands, first and last.
  files() {
    if (this.filed?.version === this.version) return this.filed.found;
    const found = this.paths.map((path) => ({ path, by: new Map(), first: -1, last: -1, times: 0, seen: new Set() }));
    for (const [seq, agent, path] of this.writes) {
      const file = found[path];
      if (file.seen.has(seq)) continue; // both read off the command and seen by the sandbox
      file.seen.add(seq);
      file.by.set(agent, (file.by.get(agent) || 0) + 1);
      file.times += 1;
      if (file.first < 0 || seq < file.first) file.first = seq;
      file.last = Math.max(file.last, seq);
    }
    this.filed = { version: this.version, found };
    return found;
  }

  // Runs of the reference by an agent: their commands.
  referenceRuns(agent) {
    return this.references.filter(([, who]) => who === agent).map(([seq]) => seq);
  }

  // Seconds and words of a span.
  length(seq) {
    const end = this.endOf.data[seq];
    return end >= 0 ? this.t.data[end] - this.t.data[seq] : null;
  }
}

export function byTime(model, from) {
  // The first event at or after a time: binary search.
  let low = 0;
  let high = model.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (model.t.data[middle] < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
