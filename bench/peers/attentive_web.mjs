// Translates with the engine for web pages (scripts/web), whose folder is the first argument: node attentive_web.mjs ENGINE TASK,
// where TASK is a JSON object with the folder that `attentive export --to web` wrote, the lines, and how many of them are given
// to the engine at once. Prints the translations and the times as JSON; as with Bergamot, on one thread.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

const [folder, task] = process.argv.slice(2);
const { site, lines, batch } = JSON.parse(readFileSync(task, "utf8"));
const { Engine } = await import(join(folder, "engine.js"));

const started = performance.now();
const manifest = JSON.parse(readFileSync(join(site, "manifest.json"), "utf8"));
const [model] = manifest.models;
const files = new Map(model.files.map(({ path }) => [path, new Uint8Array(readFileSync(join(site, path)))]));
const module = await WebAssembly.compile(readFileSync(join(folder, "attentive.wasm")));
const engine = await Engine.start(module, files, [{ name: model.name, dir: model.dir, direction: null }]);

const translate = (text) => {
  const body = new TextEncoder().encode(JSON.stringify({ text, beam_width: 1, split_sentences: false, keep_placeables: false }));
  const headers = [["host", "localhost"], ["content-type", "application/json"], ["content-length", `${body.length}`]];
  engine.send(1, { method: "POST", path: "/api/translate", headers, body });
  let answer = "";
  while (!engine.isIdle) {
    for (const { data } of engine.step()) {
      answer += data ? new TextDecoder().decode(data) : "";
    }
  }
  return JSON.parse(answer).results.map(({ translations: [best] }) => best.text);
};

translate(lines.slice(0, 1));
const start = (performance.now() - started) / 1000;
const before = process.cpuUsage();
const begun = performance.now();
const found = [];
for (let first = 0; first < lines.length; first += batch) {
  found.push(...translate(lines.slice(first, first + batch)));
}
const seconds = (performance.now() - begun) / 1000;
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ start, seconds, cpu: (user + system) / 1e6, lines: found, memory: engine.memory }));
