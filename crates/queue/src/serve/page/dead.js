// Dead tasks: a look first, with how many and which; then what is done is done to those that were seen, and to no other.

import { Table, byId, clock, count, element, things } from "./words.js";

/** So many tasks are listed. */
const SHOWN = 25;

export class Dead {
  constructor(allow, call, ask) {
    Object.assign(this, { allow, call, ask, seen: null, busy: false });
    const number = "number";
    this.errors = new Table(byId("dead-errors"), [
      { name: "Error", class: "long" }, { name: "Kind" }, { name: "Tasks", class: number },
    ], "");
    this.tasks = new Table(byId("dead-tasks"), [
      { name: "Task" }, { name: "Shard" }, { name: "Kind" }, { name: "Object", class: "long" },
      { name: "Tried", class: number }, { name: "Died" }, { name: "Error", class: "long" }, { name: "", class: "whole" },
    ], "");
    this.errors.show([]);
    this.tasks.show([]);
    byId("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      this.look();
    });
    byId("retry").addEventListener("click", () => this.change("retry"));
    byId("drop").addEventListener("click", () => this.change("drop"));
  }

  async look() {
    const filter = { kind: byId("dead-kind").value, error: byId("dead-error").value };
    const answer = await fetch(`api/dead?${new URLSearchParams(filter)}`);
    const found = await answer.json();
    if (!answer.ok) {
      byId("dead-said").textContent = found.error;
      return;
    }
    this.filter = { kind: filter.kind === "" ? null : Number(filter.kind), error: filter.error || null };
    this.seen = found.shards;
    this.show(found);
  }

  show({ shards, missing }) {
    const matching = shards.reduce((sum, shard) => sum + shard.matching, 0);
    const notes = [`${things(matching, "dead task")} match`.replace("task match", "task matches")];
    if (matching > SHOWN) notes.push(`the latest ${SHOWN} are listed`);
    if (shards.some((shard) => shard.has_older)) notes.push("only the latest 10,000 of each shard were looked through");
    notes.push(...missing.map(({ shard, error }) => `${shard || "the shard"} is missing: ${error}`));
    byId("dead-said").textContent = `${notes.join("; ")}.`;
    byId("dead-actions").hidden = matching === 0;
    for (const [id, word] of [["retry", "Retry"], ["drop", "Drop"]]) byId(id).textContent = `${word} ${things(matching, "task")}…`;
    this.matching = matching;
    this.errors.show(this.groups());
    const tasks = shards.flatMap((shard) => shard.tasks.map((task) => ({ shard, task })));
    tasks.sort((a, b) => b.task.died_ms - a.task.died_ms);
    this.tasks.show(tasks.slice(0, SHOWN).map(({ shard, task }) => ({
      key: `${shard.shard}/${task.id}`,
      cells: [
        String(task.id), shard.shard || "–", String(task.kind), task.object_id, count(task.attempts),
        { text: clock(task.died_ms), title: new Date(task.died_ms).toString() }, task.error, this.button(shard, task),
      ],
    })));
  }

  groups() {
    const groups = new Map();
    for (const { kind, error, tasks } of this.seen.flatMap((shard) => shard.errors)) {
      const key = `${kind} ${error}`;
      const group = groups.get(key) ?? { kind, error, tasks: 0 };
      group.tasks += tasks;
      groups.set(key, group);
    }
    const sorted = [...groups.entries()].sort(([, a], [, b]) => b.tasks - a.tasks).slice(0, 20);
    return sorted.map(([key, { kind, error, tasks }]) => ({ key, cells: [error || "(none)", String(kind), count(tasks)] }));
  }

  button(shard, task) {
    const button = element("button", { type: "button" }, "Retry");
    button.addEventListener("click", async () => {
      if (await this.allow()) this.run("retry", [shard], task.id);
    });
    return button;
  }

  async change(what) {
    if (this.busy || !(await this.allow())) return;
    const which = [...this.errors.rows.values()].slice(0, 3).map((row) => `“${row.children[0].textContent}”`).join(", ");
    const title = `${what === "retry" ? "Retry" : "Drop"} ${things(this.matching, "dead task")}?`;
    const end = what === "retry" ? "They are begun again as if they were new." : "They are gone for good.";
    if (await this.ask(title, `Most of their errors: ${which}. ${end}`, title.replace("?", ""))) this.run(what, this.seen);
  }

  async run(what, shards, task = null) {
    this.busy = true;
    let done = 0;
    try {
      for (const { shard, from, to } of shards) {
        for (let tasks = 1; tasks > 0;) {
          const answer = await this.call(`api/dead/${what}`, { shard, filter: this.filter, task, from, to });
          tasks = answer.tasks;
          done += tasks;
          byId("dead-said").textContent = `${things(done, "task")} ${what === "retry" ? "given another try" : "dropped"}…`;
        }
      }
    } catch (error) {
      byId("dead-said").textContent = `${things(done, "task")} done, then: ${error.message}`;
      return;
    } finally {
      this.busy = false;
    }
    await this.look();
  }
}
