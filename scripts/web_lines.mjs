// Compares the engine for web pages with the program, line by line, greedily and with beam 5, in f32 and int8:
//
//     scripts/web && cargo build --release && node scripts/web_lines.mjs MODEL SRC [LINES]
//
// Prints how many texts are equal, the largest difference of scores, and every line that differs, with both scores.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const root = new URL("..", import.meta.url).pathname;
const program = process.env.ATTENTIVE ?? join(root, "target/release/attentive");
const engine = process.env.ATTENTIVE_WEB ?? join(root, "target/web");
const [model, src, count = "500"] = process.argv.slice(2);
const { load } = await import(join(engine, "attentive.js"));
const lines = readFileSync(src, "utf8").split("\n").slice(0, Number(count));
const folder = mkdtempSync(join(tmpdir(), "attentive-lines-"));
const input = join(folder, "lines");
writeFileSync(input, lines.map((line) => `${line}\n`).join(""));
const run = (...command) => execFileSync(program, command, { encoding: "utf8", maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "ignore"] });

for (const precision of ["f32", "int8"]) {
  const site = join(folder, precision);
  run("export", model, "--to", "web", "--precision", precision, "--engine", engine, "--output", site);
  const models = await load(pathToFileURL(site));
  for (const beam of [1, 5]) {
    const own = run("translate", model, input, "--json", "--precision", precision, "--beam-width", `${beam}`).trim().split("\n").map((line) => JSON.parse(line).translations[0]);
    const body = JSON.stringify({ text: lines, beam_width: beam, split_sentences: false, keep_placeables: false });
    const response = await models.fetch("/api/translate", { method: "POST", headers: { "content-type": "application/json" }, body });
    const { results } = await response.json();
    const found = results.map(({ translations: [best] }) => best);
    const differing = found.flatMap((one, index) => (one.text === own[index].text ? [] : [index]));
    const same = found.flatMap((one, index) => (one.text === own[index].text ? [Math.abs(one.score - own[index].score)] : []));
    const bits = found.filter((one, index) => JSON.stringify(one.token_log_probs) === JSON.stringify(own[index].token_log_probs)).length;
    console.log(`${precision}, beam ${beam}: ${same.length} of ${lines.length} texts equal, ${bits} with equal bits; scores differ by at most ${Math.max(...same)}`);
    for (const index of differing) {
      console.log(`  line ${index + 1}: ${own[index].score} ${JSON.stringify(own[index].text)}, ${found[index].score} ${JSON.stringify(found[index].text)}`);
    }
  }
  models.close();
}
rmSync(folder, { recursive: true });
