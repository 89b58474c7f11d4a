// What the engines in node share: the time until the first translation, and that of all others.

import { performance } from "node:perf_hooks";

// Prints the translations and the times as JSON. `open` prepares an engine, and returns what translates a list of lines.
export async function measured(lines, batch, open) {
  const started = performance.now();
  const translate = await open();
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
  console.log(JSON.stringify({ start, seconds, cpu: (user + system) / 1e6, lines: found }));
}
