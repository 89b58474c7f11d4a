// The module and what it is asked. It works on the thread that calls it; see worker.js for one of its own.

import { Files } from "./files.js";

const [HEAD, BODY, END] = [0, 1, 2]; // 3 is an early end.

// What the module refuses; after any other error, its state is unknown.
export class Refused extends Error {}

export class Engine {
  // `module` is compiled; `files` is a map from paths to bytes, which is emptied; `models` lists { name, dir, direction }.
  static async start(module, files, models, tell = console.error) {
    const system = new Files(files, tell);
    const { exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system.imports() });
    system.memory = exports.memory;
    const engine = new Engine(exports);
    exports._initialize();
    engine.check(exports.start(...engine.given(JSON.stringify({ models }))));
    system.clear();
    return engine;
  }

  constructor(exports) {
    this.exports = exports;
  }

  // The address and the length of bytes that the module takes over.
  given(content) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const at = this.exports.allocate(bytes.length) >>> 0;
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  }

  // A copy of the output.
  output(length) {
    return new Uint8Array(this.exports.memory.buffer, this.exports.output() >>> 0, length).slice();
  }

  check(length) {
    if (length) {
      throw new Refused(new TextDecoder().decode(this.output(length)));
    }
  }

  send(number, { method, path, headers, body }) {
    this.check(this.exports.send(number, ...this.given(JSON.stringify({ method, path, headers })), ...this.given(body)));
  }

  cancel(number) {
    this.exports.cancel(number);
  }

  get isIdle() {
    return Boolean(this.exports.is_idle());
  }

  // The bytes of RAM that the module has taken.
  get memory() {
    return this.exports.memory.buffer.byteLength;
  }

  // Does some work, and returns the events: { number, head: { status, headers } }, { number, data } or { number, end }, where `end` tells
  // whether the response is complete.
  step() {
    const bytes = this.output(this.exports.step());
    const view = new DataView(bytes.buffer);
    const events = [];
    for (let at = 0; at < bytes.length; ) {
      const [number, kind, length] = [0, 4, 8].map((offset) => view.getUint32(at + offset, true));
      const data = bytes.slice(at + 12, at + 12 + length);
      at += 12 + length;
      if (kind === HEAD) {
        const [status, headers] = JSON.parse(new TextDecoder().decode(data));
        events.push({ number, head: { status, headers } });
      } else {
        events.push(kind === BODY ? { number, data } : { number, end: kind === END });
      }
    }
    return events;
  }
}
