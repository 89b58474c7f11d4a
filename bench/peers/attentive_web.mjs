// Translates with the engine for web pages (scripts/web), whose folder is the first argument: node attentive_web.mjs ENGINE TASK,
// where TASK is a JSON object with the folder that `attentive export --to web` wrote, the lines, and how many of them are given
// to the engine at once. Prints the translations and the times as JSON; as with Bergamot, on one thread.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { measured } from "./measured.mjs";

const [folder, task] = process.argv.slice(2);
const { site, lines, batch } = JSON.parse(readFileSync(task, "utf8"));
const { Engine } = await import(join(folder, "engine.js"));

await measured(lines, batch, async () => {
  const manifest = JSON.parse(readFileSync(join(site, "manifest.json"), "utf8"));
  const [model] = manifest.models;
  const files = new Map(model.files.map(({ path }) => [path, new Uint8Array(readFileSync(join(site, path)))]));
  const module = await WebAssembly.compile(readFileSync(join(folder, "attentive.wasm")));
  const engine = await Engine.start(module, files, [{ name: model.name, dir: model.dir, direction: null }]);
  return (text) => {
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
});
