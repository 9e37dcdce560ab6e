// The page: a snapshot a second comes as an event; nothing is asked of the databases for one browser alone.

import { Chart } from "./charts.js";
import { Dead } from "./dead.js";
import { Table, byId, clock, count, duration, element, rate, things, when } from "./words.js";

let token = null; // in memory only
let latest = null;
const number = "number";

const kinds = new Table(byId("kinds"), [
  { name: "Kind" }, { name: "Waiting", class: number }, { name: "Later", class: number }, { name: "Dead", class: number },
  { name: "Done", class: number }, { name: "Per second", class: number }, { name: "Oldest waiting", class: number },
  { name: "Wait p50", class: number }, { name: "Wait p99", class: number }, { name: "Run p50", class: number },
  { name: "Run p99", class: number }, { name: "Drained in", class: number }, { name: "", class: "number whole" },
], "No task was ever pushed.");
const shards = new Table(byId("shards"), [
  { name: "Shard" }, { name: "State", class: "whole" }, { name: "Waiting", class: number }, { name: "Inbox", class: number },
  { name: "Later", class: number }, { name: "Dead", class: number }, { name: "Per second", class: number },
  { name: "Oldest waiting", class: number }, { name: "Drained in", class: number },
], "");
const health = new Table(byId("health"), [
  { name: "Shard" }, { name: "Server", class: "whole" }, { name: "History list", class: number },
  { name: "Oldest transaction", class: number }, { name: "Deadlocks", class: number },
  { name: "Deadlocks a minute", class: number }, { name: "Replica lag", class: number },
], "");
const shepherds = new Table(byId("shepherds"), [
  { name: "Shepherd" }, { name: "Busy", class: number }, { name: "Workers", class: number }, { name: "In hand", class: number },
  { name: "Shards", class: "whole" }, { name: "For", class: number }, { name: "State" },
], "None: nobody works.");
const builds = new Table(byId("builds"), [
  { name: "Build" }, { name: "Kind" }, { name: "State" }, { name: "Tasks", class: number }, { name: "Took", class: number },
  { name: "Shards", class: "whole" }, { name: "From", class: "long" },
], "None yet.");
const schedules = new Table(byId("schedules"), [
  { name: "Schedule" }, { name: "Comes at", class: "whole" }, { name: "Kind" }, { name: "Object", class: "long" }, { name: "Next" },
  { name: "Last" }, { name: "Came", class: number }, { name: "Missed", class: number }, { name: "Shard" },
], "None.");
const minutely = new Chart(byId("charts"), "Tasks a minute", ["done", "failed", "came in"], count, false);
const waits = new Chart(byId("charts"), "Wait until begun", ["p50", "p99"], (ms) => duration(ms / 1000), true);
const runs = new Chart(byId("charts"), "Run", ["p50", "p99"], (us) => brief(us), true);

const brief = (us) => (us < 1000 ? `${us} µs` : duration(us / 1e6));
const dash = "–";
const shardName = (name) => name || "the queue";

function show(now) {
  latest = now;
  const reached = now.shards.filter((shard) => !shard.error);
  const status = byId("status");
  status.className = reached.length === now.shards.length ? "subtitle live" : "subtitle lost";
  const of = now.shards.length === 1 ? "" : `, ${reached.length} of ${things(now.shards.length, "shard")}`;
  status.textContent = `live at ${clock(now.at_ms)}${of}${now.takes_token ? "" : ", read-only"}`;
  byId("sign").hidden = !now.takes_token || token !== null;
  const unknown = reached.length === now.shards.length ? undefined : "Not known: not all shards have answered.";
  for (const table of [kinds, shepherds, builds, schedules]) table.explain(unknown);
  showMissing(now);
  showFigures(now, reached);
  showKinds(now);
  showShards(now);
  showHealth(now);
  showShepherds(reached);
  showBuilds(reached);
  showSchedules(now, reached);
}

function showMissing(now) {
  const lines = now.shards.flatMap((shard, at) => {
    if (!shard.error) return [];
    const since = now.servers[at].reached_ms;
    const when = since ? `not reached since ${clock(since)}` : "not reached yet";
    return [`${shardName(shard.name)}: ${when}: ${shard.error}`];
  });
  const place = byId("missing");
  place.hidden = lines.length === 0;
  const said = lines.join("\n");
  if (place.dataset.said === said) return;
  place.dataset.said = said;
  const note = element("p", {}, "What they hold is in none of the numbers below.");
  place.replaceChildren(...lines.map((line) => element("p", { class: "bad" }, line)), note);
}

function showFigures(now, reached) {
  const sum = (field) => now.kinds.reduce((sum, kind) => sum + kind[field], 0);
  const [waiting, perSecond] = [sum("waiting"), sum("rate")];
  const inbox = reached.reduce((sum, shard) => sum + shard.inbox, 0);
  const all = byShepherd(reached);
  const busy = all.reduce((sum, one) => sum + one.busy, 0);
  const workers = all.reduce((sum, one) => sum + (one.isLate ? 0 : one.workers), 0);
  const oldest = now.kinds.reduce((most, kind) => Math.max(most, kind.waiting > 0 ? kind.oldest_seconds : 0), 0);
  const figures = [
    ["Waiting", count(waiting), inbox > 0 ? `${count(inbox)} more in inboxes` : ""],
    ["Later", count(sum("later"))], ["Dead", count(sum("dead"))], ["Done", count(sum("done"))],
    ["Per second", rate(perSecond)], ["Oldest waiting", waiting > 0 ? duration(oldest) : dash],
    ["Drained in", perSecond > 0 && waiting > 0 ? duration(waiting / perSecond) : dash],
    ["Busy workers", `${count(busy)} of ${count(workers)}`],
  ];
  const place = byId("figures");
  figures.forEach(([name, value, note = ""], at) => {
    const shown = place.children[at] ?? place.appendChild(
      element("div", {}, element("dt", {}, name), element("dd", { class: "value" }), element("dd", { class: "note" })));
    if (shown.children[1].textContent !== value) shown.children[1].textContent = value;
    if (shown.children[2].textContent !== note) shown.children[2].textContent = note;
  });
}

function pausedOn(now, kind) {
  const servers = now.servers.filter((_, at) => !now.shards[at].error);
  const paused = servers.filter(({ paused }) => paused.kinds[kind] ?? paused.all).length;
  return { some: paused > 0, all: paused > 0 && paused === servers.length };
}

const buttons = new Map();

/** The button of a kind, the same one each time. */
function pauseButton(kind, isPaused) {
  const button = buttons.get(kind) ?? element("button", { type: "button" });
  buttons.set(kind, button);
  const text = isPaused ? "Resume" : "Pause";
  if (button.textContent !== text) button.textContent = text;
  button.onclick = () => pause(kind, !isPaused);
  return button;
}

function showKinds(now) {
  kinds.show(now.kinds.map((kind) => {
    const paused = pausedOn(now, kind.kind);
    const word = paused.all ? " paused" : paused.some ? " paused in part" : "";
    const latency = (latency, field, words) => (latency ? words(latency[field]) : dash);
    const wait = (ms) => duration(ms / 1000);
    const cells = [
      `${kind.kind}${word}`, count(kind.waiting), count(kind.later),
      { text: count(kind.dead), className: kind.dead > 0 ? "bad" : "" }, count(kind.done), rate(kind.rate),
      kind.waiting > 0 ? duration(kind.oldest_seconds) : dash, latency(kind.wait_ms, "p50", wait),
      latency(kind.wait_ms, "p99", wait), latency(kind.run_us, "p50", brief), latency(kind.run_us, "p99", brief),
      kind.eta_seconds === undefined ? dash : duration(kind.eta_seconds),
      now.takes_token ? pauseButton(kind.kind, paused.some) : "",
    ];
    return { key: kind.kind, cells };
  }));
  for (const id of ["kind", "dead-kind"]) offer(byId(id), now.kinds.map((kind) => String(kind.kind)));
}

function offer(select, values) {
  const known = new Set([...select.options].map((option) => option.value));
  for (const value of values) if (!known.has(value)) select.append(element("option", { value }, value));
}

function showShards(now) {
  shards.show(now.shards.map((shard, at) => {
    const server = now.servers[at];
    const key = shard.name;
    if (shard.error) {
      const since = server.reached_ms ? `not reached since ${clock(server.reached_ms)}` : "not reached yet";
      return { key, cells: [shardName(key), { text: since, className: "bad", title: shard.error }, ...Array(7).fill(dash)] };
    }
    const sum = (field) => shard.kinds.reduce((sum, kind) => sum + kind[field], 0);
    const [waiting, perSecond] = [sum("waiting"), sum("rate")];
    const oldest = shard.kinds.reduce((most, kind) => Math.max(most, kind.waiting > 0 ? kind.oldest_seconds : 0), 0);
    const age = now.at_ms - server.reached_ms;
    const state = age > 3000 ? { text: `slow: as of ${clock(server.reached_ms)}`, className: "bad" }
      : { text: shard.is_moving ? "its tasks are being moved" : server.is_draining ? "takes no more tasks" : "live", className: "good",
          title: shard.in_transit > 0 ? `${count(shard.in_transit)} tasks on their way to other shards` : undefined };
    return { key, cells: [
      shardName(key), state, count(waiting), `${shard.inbox_is_estimate ? "about " : ""}${count(shard.inbox)}`,
      count(sum("later")), count(sum("dead")), rate(perSecond), waiting > 0 ? duration(oldest) : dash,
      perSecond > 0 && waiting > 0 ? duration(waiting / perSecond) : dash,
    ] };
  }));
}

function reading(reading, words) {
  if (!reading) return { text: "unknown: not reached", className: "reason" };
  if (reading.value !== undefined) return words(reading.value);
  if (reading.none !== undefined) return { text: reading.none, className: "reason" };
  return { text: `unknown: ${reading.unknown}`, className: "reason" };
}

function showHealth(now) {
  health.show(now.shards.map((shard, at) => {
    const known = now.servers[at].health ?? {};
    const cells = [
      shardName(shard.name), known.version ?? { text: "unknown: not reached", className: "reason" }, reading(known.history_list, count),
      reading(known.oldest_transaction_seconds, duration), reading(known.deadlocks, count),
      reading(known.deadlocks_per_minute, rate), reading(known.replica_lag_seconds, duration),
    ];
    return { key: shard.name, cells };
  }));
}

/** A shepherd works on several shards with the same workers. */
function byShepherd(reached) {
  const all = new Map();
  for (const shard of reached) {
    for (const one of shard.shepherds) {
      const key = one.is_late ? `${one.name} of ${shard.name} ${one.shepherd}` : one.name;
      const known = all.get(key) ?? { name: one.name, workers: 0, inHand: 0, seconds: 0, shards: [], isLate: one.is_late };
      known.workers = Math.max(known.workers, one.workers);
      known.inHand += one.running;
      known.seconds = Math.max(known.seconds, one.seconds);
      known.shards.push(shard.name);
      all.set(key, known);
    }
  }
  return [...all].map(([key, one]) => ({ key, ...one, busy: one.isLate ? 0 : Math.min(one.inHand, one.workers) }));
}

function showShepherds(reached) {
  shepherds.show(byShepherd(reached).map((one) => ({ key: one.key, cells: [
    one.name, count(one.busy), count(one.workers), count(one.inHand), one.shards.join(", ") || dash, duration(one.seconds),
    one.isLate ? { text: "nothing heard of it", className: "bad" } : { text: "at work", className: "good" },
  ] })));
}

function showBuilds(reached) {
  const all = new Map();
  for (const shard of reached) {
    for (const build of shard.builds) {
      const known = all.get(build.job) ?? { ...build, tasks: 0, shards: [], states: new Set() };
      known.tasks += build.tasks;
      known.seconds = Math.max(known.seconds, build.seconds);
      known.states.add(build.state);
      known.shards.push(shard.name);
      all.set(build.job, known);
    }
  }
  const loading = (build) => (build.states.has("loading") ? 0 : 1);
  const sorted = [...all.values()].sort((a, b) => loading(a) - loading(b)).slice(0, 20);
  builds.show(sorted.map((build) => ({ key: build.job, cells: [
    build.job, String(build.kind), [...build.states].join(", "), count(build.tasks), duration(build.seconds),
    build.shards.join(", ") || dash, build.source === "-" ? "standard input" : build.source,
  ] })));
}

/** When one comes next; a time that has passed means that nobody works. */
function nextOf(one, now) {
  if (one.error) return { text: "does not come", className: "bad", title: one.error };
  if (!one.next) return { text: one.is_paused ? "paused" : "never", className: "soft" };
  const next = Date.parse(one.next);
  const title = new Date(next).toString();
  return now.at_ms - next > 5000 ? { text: `${when(next)}: nobody works`, className: "bad", title } : { text: when(next), title };
}

function showSchedules(now, reached) {
  const all = reached.flatMap((shard) => shard.schedules);
  all.sort((a, b) => (a.name < b.name ? -1 : 1));
  schedules.show(all.map((one) => {
    const last = one.last ? { text: when(Date.parse(one.last)), title: new Date(one.last).toString() } : dash;
    return { key: `${one.shard} ${one.name}`, cells: [
      one.name, `${one.cron} ${one.timezone}`, String(one.kind), one.object_id, nextOf(one, now), last, count(one.fired),
      count(one.missed), one.shard || dash,
    ] };
  }));
}

async function showHistory() {
  const kind = byId("kind").value;
  const answer = await fetch(`api/history?${new URLSearchParams({ kind })}`);
  if (!answer.ok) return;
  const history = await answer.json();
  const from = Math.max(history.done.length - Number(byId("hours").value), 0);
  const first = history.first_minute + from;
  const cut = (list) => list.slice(from);
  minutely.show(first, [cut(history.done), cut(history.failed), cut(history.taken)]);
  waits.show(first, [cut(history.wait_p50_ms), cut(history.wait_p99_ms)]);
  runs.show(first, [cut(history.run_p50_us), cut(history.run_p99_us)]);
}

/** Asks a person; what they typed is in the field of the token. */
function ask(title, text, yes, wantsToken = false) {
  const dialog = byId("dialog");
  byId("dialog-title").textContent = title;
  byId("dialog-text").textContent = text;
  byId("dialog-yes").textContent = yes;
  byId("dialog-entry").hidden = !wantsToken;
  byId("token").value = "";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** Whether this browser may change something: asks for the token if it does not know it. */
async function allow() {
  let text = "It stands in the file that the server was started with, and is kept until this page is closed.";
  while (token === null) {
    if (latest && !latest.takes_token) {
      await ask("Nothing can be changed", "The server was started without --token-file.", "Well");
      return false;
    }
    if (!(await ask("Allow changes", text, "Allow", true))) return false;
    const typed = byId("token").value.trim();
    byId("token").value = "";
    const answer = await fetch("api/token", { method: "POST", headers: { "X-Drover-Token": typed } }).catch(() => null);
    if (answer?.ok) token = typed;
    else text = answer?.status === 403 ? "That is not the token." : "The server cannot be reached.";
  }
  byId("sign").hidden = true;
  return true;
}

async function call(path, body) {
  const headers = { "X-Drover-Token": token, "Content-Type": "application/json" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const said = await answer.json();
  if (answer.status === 401 || answer.status === 403) token = null;
  if (!answer.ok) throw new Error(said.error);
  return said;
}

async function pause(kind, isPaused) {
  if (!(await allow())) return;
  try {
    const { missing } = await call("api/pause", { kind, is_paused: isPaused });
    if (missing.length > 0) {
      const words = missing.map(({ shard, error }) => `${shardName(shard)}: ${error}`).join("; ");
      await ask("Not on all shards", words, "Well");
    }
  } catch (error) {
    await ask("That did not work", error.message, "Well");
  }
}

function listen() {
  const events = new EventSource("api/events");
  events.onmessage = (event) => show(JSON.parse(event.data));
  events.onerror = () => {
    byId("status").className = "subtitle lost";
    byId("status").textContent = latest ? `the server is gone; as of ${clock(latest.at_ms)}` : "the server cannot be reached";
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  };
}

new Dead(allow, call, ask);
byId("sign").addEventListener("click", allow);
byId("kind").addEventListener("change", showHistory);
byId("hours").addEventListener("change", showHistory);
setInterval(() => showHistory().catch(() => {}), 15000);
showHistory().catch(() => {});
listen();
