// Translates with Bergamot's engine in WebAssembly (the npm package @browsermt/bergamot-translator), whose folder is the first
// argument: node bergamot.mjs PACKAGE TASK, where TASK is a JSON object with the files of the model, the lines, and how many of
// them are given to the engine at once. Prints the translations and the times as JSON.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRequire } from "node:module";

import { measured } from "./measured.mjs";

const [folder, task] = process.argv.slice(2);
const { model, shortlist, vocabularies, lines, batch } = JSON.parse(readFileSync(task, "utf8"));
const FALLBACKS = {
  int8_prepare_a: "int8PrepareAFallback",
  int8_prepare_b: "int8PrepareBFallback",
  int8_prepare_b_from_transposed: "int8PrepareBFromTransposedFallback",
  int8_prepare_b_from_quantized_transposed: "int8PrepareBFromQuantizedTransposedFallback",
  int8_prepare_bias: "int8PrepareBiasFallback",
  int8_multiply_and_add_bias: "int8MultiplyAndAddBiasFallback",
  int8_select_columns_of_b: "int8SelectColumnsOfBFallback",
};
// As the package configures its engine.
const CONFIG = `beam-size: 1
normalize: 1.0
word-penalty: 0
cpu-threads: 0
gemm-precision: int8shiftAlphaAll
skip-cost: true
alignment: soft
quiet: true
quiet-translation: true
max-length-break: 128
mini-batch-words: 1024
workspace: 128
max-length-factor: 2.0
`;

await measured(lines, batch, async () => {
  const Module = {};
  globalThis.Module = Module;
  globalThis.self = globalThis;
  globalThis.require = createRequire(import.meta.url);
  globalThis.importScripts = () => {};
  globalThis.location ??= new URL(`file://${folder}/`);
  const ready = new Promise((resolve, reject) => {
    Module.instantiateWasm = (imports, accept) => {
      const calls = Object.entries(FALLBACKS).map(([name, own]) => [name, (...all) => Module.asm[own](...all)]);
      const wasm = readFileSync(join(folder, "worker", "bergamot-translator-worker.wasm"));
      WebAssembly.instantiate(wasm, { ...imports, wasm_gemm: Object.fromEntries(calls) })
        .then(({ instance }) => accept(instance))
        .catch(reject);
      return {};
    };
    Module.onRuntimeInitialized = () => resolve();
  });
  (0, eval)(readFileSync(join(folder, "worker", "bergamot-translator-worker.js"), "utf8"));
  await ready;

  const memory = (path, alignment) => {
    const bytes = new Int8Array(readFileSync(path));
    const aligned = new Module.AlignedMemory(bytes.byteLength, alignment);
    aligned.getByteArrayView().set(bytes);
    return aligned;
  };
  const all = new Module.AlignedMemoryList();
  vocabularies.forEach((path) => all.push_back(memory(path, 64)));
  const service = new Module.BlockingService({ cacheSize: 0 });
  const loaded = new Module.TranslationModel(CONFIG, memory(model, 256), memory(shortlist, 64), all, null);
  return (texts) => {
    const input = new Module.VectorString();
    const options = new Module.VectorResponseOptions();
    for (const text of texts) {
      input.push_back(text);
      options.push_back({ alignment: false, html: false, qualityScores: false });
    }
    const responses = service.translate(loaded, input, options);
    const found = texts.map((_, number) => responses.get(number).getTranslatedText());
    [input, options, responses].forEach((one) => one.delete());
    return found;
  };
});
