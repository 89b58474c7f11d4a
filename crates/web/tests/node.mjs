// Tests of the engine in node, with models of every family:
//
//     scripts/web && cargo build --release && node --test crates/web/tests/node.mjs
//
// ATTENTIVE names the program and ATTENTIVE_WEB the engine, if they are elsewhere than in target/.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const root = new URL("../../..", import.meta.url).pathname;
const program = process.env.ATTENTIVE ?? join(root, "target/release/attentive");
const engine = process.env.ATTENTIVE_WEB ?? join(root, "target/web");
const runs = join(root, "tests/fixtures/runs");
const folder = mkdtempSync(join(tmpdir(), "attentive-web-"));
after(() => rmSync(folder, { recursive: true }));
const { load } = await import(join(engine, "attentive.js"));

function run(...command) {
  const { status, stdout, stderr } = spawnSync(program, command, { encoding: "utf8" });
  assert.equal(status, 0, `${command.join(" ")}: ${stderr}`);
  return stdout;
}

const LARGE = `
[data]
train = { builtin = "grammar", pairs = 500 }
valid = { builtin = "grammar", pairs = 10 }
[tokenizer]
vocab_size = 500
[model]
d_model = 256
[train]
max_steps = 1
batch_tokens = 512
`;

// The models of a fixture, exported in `precision`.
let exports = 0;
function exported(name, precision, ...more) {
  const out = join(folder, `${(exports += 1)}`);
  run("export", join(runs, name, "run"), "--to", "web", "--precision", precision, "--engine", engine, "--output", out, ...more);
  return pathToFileURL(out);
}

const lines = (...path) => readFileSync(join(runs, ...path), "utf8").replace(/\n$/, "").split("\n");
const post = (models, path, body, signal) =>
  models.fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });

async function answer(models, path, body) {
  const response = await post(models, path, body);
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

const near = (found, expected) => Math.abs(found - expected) <= 1e-4;

for (const name of ["transformer-post", "transformer-rotary", "seq2seq-bahdanau", "seq2seq-luong", "average"]) {
  test(`${name} translates as the program does`, async () => {
    const src = lines(name, "src");
    for (const [precision, beam] of [["f32", 1], ["f32", 5], ["int8", 5]]) {
      const models = await load(exported(name, precision));
      const command = ["translate", join(runs, name, "run"), join(runs, name, "src"), "--json", "--precision", precision, "--beam-width", `${beam}`];
      const expected = run(...command).trim().split("\n").map((line) => JSON.parse(line).translations[0]);
      const { results } = await answer(models, "/api/translate", { text: src, beam_width: beam, split_sentences: false, keep_placeables: false });
      for (const [index, { translations: [found] }] of results.entries()) {
        assert.equal(found.text, expected[index].text, `${name}, ${precision}, beam ${beam}, line ${index + 1}`);
        assert.ok(near(found.score, expected[index].score), `${found.score}, ${expected[index].score}`);
        if (precision === "int8") {
          assert.deepEqual(found.token_log_probs, expected[index].token_log_probs, "8-bit models give the same bits everywhere");
        }
      }
      models.close();
    }
  });
}

test("a model that is stored in bf16 stays in bf16", async () => {
  const [small, site] = [join(folder, "bf16"), join(folder, "bf16-site")];
  run("quantize", join(runs, "transformer-post", "run"), "--precision", "bf16", "--output", small);
  run("export", small, "--to", "web", "--engine", engine, "--output", site);
  const models = await load(pathToFileURL(site));
  assert.equal(models.models[0].precision, "bf16");
  const expected = run("translate", small, join(runs, "transformer-post", "src")).trimEnd().split("\n");
  const { results } = await answer(models, "/api/translate", { text: lines("transformer-post", "src"), split_sentences: false });
  assert.deepEqual(results.map(({ translations: [best] }) => best.text), expected);
  models.close();
});

test("languages and the license are in the manifest", async () => {
  const models = await load(exported("transformer-post", "int8", "--languages", "en-it", "--license", "CC0"));
  assert.deepEqual([models.models[0].source, models.models[0].target], ["en", "it"]);
  assert.equal(models.manifest.models[0].license, "CC0");
  assert.ok(models.ram > 1e6 && models.ram < 2e7, `${models.ram}`);
  models.close();
});

test("sentences come in order and make up the text", async () => {
  const models = await load(exported("transformer-post", "f32"));
  const text = "1 2 3. 4 5!\n\n  7 8 9\n0";
  const sources = [];
  let whole = "";
  for await (const { source, text: part } of models.translate(text)) {
    sources.push(source);
    whole += part;
  }
  assert.deepEqual(sources.filter((source) => source), ["1 2 3.", "4 5!", "7 8 9", "0"]);
  assert.equal(whole, await models.translateText(text));
  assert.match(whole, /^\S.*\n\n {2}\S.*\n/);
  assert.equal(await models.translateText(""), "");
  models.close();
});

test("files keep their markup", async () => {
  const models = await load(exported("transformer-post", "f32"));
  const { text } = await models.translateFile("a.html", '<p class="x">1 2 <b>3</b></p><script>4 5</script>');
  assert.match(text, /^<p class="x">.*<\/p><script>4 5<\/script>$/);
  models.close();
});

test("a text of 40 kB is translated, or given up", async () => {
  const models = await load(exported("transformer-post", "int8"));
  const text = `${"1 2 3 4 5 6. ".repeat(40).trim()}\n`.repeat(80);
  assert.ok(text.length > 40_000);
  assert.equal((await models.translateText(text, { beam_width: 1 })).split("\n").length, 81);
  const stop = new AbortController();
  const stopped = models.translateText(text, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 50);
  await assert.rejects(stopped, /enough/);
  const late = [];
  for await (const sentence of models.translate(text)) {
    assert.ok(sentence.translation);
    break;
  }
  const last = models.number;
  models.worker.on("message", ({ number }) => number <= last && late.push(number));
  // Nothing of them is done any more, but for what was on its way.
  assert.ok((await models.translateText("1 2 3 4 5")).length > 0);
  const before = late.length;
  assert.ok((await models.translateText("1 2 3 4 5 6")).length > 0);
  assert.equal(late.length, before);
  assert.equal(models.requests.size, 0);
  models.close();
});

test("separators of lines in a text are kept", async () => {
  const models = await load(exported("transformer-post", "f32"));
  assert.match(await models.translateText("1 2 3 4 5.\u2028\u2029 1 2 3 4 5."), /1\u2028\u2029 1/);
  models.close();
});

test("a start can be given up", async () => {
  const stop = new AbortController();
  const site = exported("transformer-post", "f32");
  const loading = load(site, { signal: stop.signal, progress: () => stop.abort(new Error("enough")) });
  await assert.rejects(loading, /enough/);
  await assert.rejects(load(site, { signal: AbortSignal.abort(new Error("before")) }), /before/);
});

test("two models work side by side", async () => {
  const both = await Promise.all([load(exported("transformer-post", "f32")), load(exported("seq2seq-luong", "f32"))]);
  const found = await Promise.all(both.map((models) => models.translateText("1 2 3 4")));
  assert.ok(found.every((text) => text.length > 0));
  both.forEach((models) => models.close());
});

test("the other tasks", async () => {
  const own = (name, ...command) => run(...command.map((part) => part.replace("RUN", join(runs, name, "run")))).trim().split("\n").map((line) => JSON.parse(line));
  const generates = await load(exported("decoder-only", "int8"));
  const [generated] = own("decoder-only", "generate", "RUN", "--prompt", "the", "--greedy", "--max-new-tokens", "20", "--json", "--precision", "int8");
  const found = await answer(generates, "/api/generate", { prompt: "the", temperature: 0, max_new_tokens: 20 });
  assert.deepEqual(found.tokens, generated.tokens);
  generates.close();
  for (const [name, path, command] of [["classifier", "classify", "texts"], ["tagger", "tag", "src"]]) {
    const models = await load(exported(name, "int8"));
    const expected = own(name, path, "RUN", join(runs, name, command), "--json", "--precision", "int8");
    const { results } = await answer(models, `/api/${path}`, { text: lines(name, command) });
    assert.deepEqual(results.map(({ label, tags }) => label ?? tags), expected.map(({ label, tags }) => label ?? tags));
    models.close();
  }
  const fills = await load(exported("encoder-only", "f32"));
  const [{ gaps: guesses }] = own("encoder-only", "fill", "RUN", "<mask>", "--json");
  const { gaps } = await answer(fills, "/api/fill", { text: "<mask>", count: 1 });
  assert.deepEqual([gaps.length, gaps[0][0].token], [guesses.length, guesses[0][0].token]);
  fills.close();
  const embeds = await load(exported("encoder-only", "int8"));
  const vectors = own("encoder-only", "embed", "RUN", join(runs, "encoder-only", "lines"), "--precision", "int8");
  const { results } = await answer(embeds, "/api/embed", { text: lines("encoder-only", "lines") });
  assert.deepEqual(results.map(({ vector }) => vector), vectors.map(({ vector }) => vector));
  embeds.close();
});

// Of the usual width, since other code works on large matrices.
for (const [family, task, field, ...settings] of [
  ["transformer", "translate", "text", "model.decoder_mixing=ssru", "model.n_encoder_layers=6"],
  ["transformer", "translate", "text"],
  ["seq2seq", "translate", "text", "model.recurrent.d_hidden=256"],
  ["decoder_only", "generate", "prompt", "data.units=stream"],
  ["encoder_only", "fill", "text"],
  ["tagger", "tag", "text", "model.encoder=transformer", "tokenizer.kind=word", "tokenizer.vocabulary=separate"],
  ["classifier", "classify", "text"],
]) {
  test(`a large ${[family, ...settings].join(", ")}: what it does, and an explanation`, async () => {
    const [model, site] = [mkdtempSync(join(folder, "large-")), mkdtempSync(join(folder, "site-"))].map((path) => join(path, "run"));
    writeFileSync(`${model}.toml`, LARGE);
    const all = [`model.family=${family}`, ...settings].flatMap((setting) => ["--set", setting]);
    run("train", `${model}.toml`, "--output", model, ...all);
    run("export", model, "--to", "web", "--engine", engine, "--output", site);
    const models = await load(pathToFileURL(site));
    const text = `${"the old dog does not see a small house ".repeat(10)}${family === "encoder_only" ? "<mask>" : "."}`;
    const body = { [field]: text, ...(task === "generate" && { max_new_tokens: 10, temperature: 0 }) };
    await answer(models, `/api/${task}`, body);
    const explained = await answer(models, "/api/explain", { text });
    assert.ok(explained.src.length + explained.tgt.length > 80);
    models.close();
  });
}

test("errors say what is wrong", async () => {
  const models = await load(exported("transformer-post", "f32"));
  await assert.rejects(models.translateText("1", { beam: 3 }), /unknown field `beam`/);
  await assert.rejects(models.translateText("1", { beam_width: 1000 }), /beam/);
  assert.equal((await models.fetch("/api/nothing")).status, 404);
  models.close();
  await assert.rejects(models.fetch("/api/models"), /closed/);

  await assert.rejects(load(pathToFileURL(join(folder, "nowhere"))), /nowhere/);
  const site = exported("transformer-post", "f32");
  await assert.rejects(load(site, { name: "other" }), /no model “other”.*“run”/);
  const manifest = JSON.parse(readFileSync(new URL(`${site}/manifest.json`), "utf8"));
  const damaged = manifest.models[0].files.find(({ path }) => path.endsWith("packed.safetensors")).path;
  const path = new URL(`${site}/${damaged}`);
  const content = readFileSync(path);
  content[content.length - 1] ^= 1;
  writeFileSync(path, content);
  await assert.rejects(load(site), /packed\.safetensors is damaged/);
});

test("an export needs the engine of the same version, and useful options", () => {
  const fails = (code, ...command) => {
    const { status, stderr } = spawnSync(program, ["export", join(runs, "transformer-post", "run"), ...command], { encoding: "utf8" });
    assert.equal(status, code, stderr);
    return stderr;
  };
  const out = join(folder, "refused");
  assert.match(fails(1, "--to", "web", "--engine", folder, "--output", out), /package\.json/);
  writeFileSync(join(folder, "package.json"), '{"version": "0.0.1"}');
  assert.match(fails(2, "--to", "web", "--engine", folder, "--output", out), /of version 0\.0\.1/);
  assert.match(fails(2, "--to", "hf", "--license", "CC0", "--output", out), /`--license` has no effect/);
});
