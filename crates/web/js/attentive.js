// Sequence models in web pages and node: `load` fetches what `attentive export --to web` wrote, and starts it on a thread of
// its own.

const PART = 4000; // Characters that are translated together, unless a line is longer.
const FORMAT = 1; // That of manifest.json.
const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);

// Loads the models of a folder, with its `manifest.json`. `progress` is called with the loaded and the total number of bytes.
export async function load(url, { name, progress = () => {}, signal } = {}) {
  const base = new URL(`${url}`.endsWith("/") ? url : `${url}/`, await here());
  const manifest = JSON.parse(new TextDecoder().decode(await fetched(new URL("manifest.json", base), () => {}, signal)));
  if (manifest.format !== FORMAT) {
    throw new Error(`${base} has the format ${manifest.format}, but this engine reads ${FORMAT}: use that of ${manifest.program}.`);
  }
  const chosen = manifest.models.filter((model) => name === undefined || model.name === name);
  if (!chosen.length) {
    const names = manifest.models.map((model) => `“${model.name}”`).join(", ");
    throw new Error(`There is no model “${name}” in ${base}; there is ${names}.`);
  }
  const needed = chosen.flatMap((model) => model.files);
  const total = needed.reduce((sum, { bytes }) => sum + bytes, 0);
  let received = 0;
  const grow = (bytes) => progress((received += bytes), total);
  const [module, ...contents] = await Promise.all([
    fetched(new URL("attentive.wasm", import.meta.url), () => {}, signal).then((bytes) => WebAssembly.compile(bytes)),
    ...needed.map((file) => checked(new URL(file.path, base), file, grow, signal)),
  ]);
  const files = new Map(needed.map(({ path }, index) => [path, contents[index]]));
  const models = chosen.map(({ name, dir, source, target }) => ({ name, dir, direction: source && target ? [source, target] : null }));
  signal?.throwIfAborted();
  const loaded = await Models.start(module, files, models, manifest);
  if (signal?.aborted) {
    loaded.close();
    throw signal.reason;
  }
  return loaded;
}

// Where relative addresses begin: the page, or in node the current folder.
async function here() {
  if (!isNode) {
    return globalThis.document?.baseURI ?? globalThis.location.href;
  }
  const { pathToFileURL } = await import("node:url");
  return pathToFileURL(`${process.cwd()}/`);
}

// The bytes of a file whose size and checksum are known. Browsers compute checksums for secure pages only; the module has those of
// the weights, too.
async function checked(url, { bytes, sha256 }, grow, signal) {
  const content = await fetched(url, grow, signal);
  let found = sha256;
  if (globalThis.crypto?.subtle) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
    found = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  if (content.length !== bytes || found !== sha256) {
    throw new Error(`${url} is damaged: it has ${content.length} bytes and the checksum ${found}, but ${bytes} and ${sha256} are expected.`);
  }
  return content;
}

async function fetched(url, grow, signal) {
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    signal?.throwIfAborted();
    const content = new Uint8Array(await readFile(url));
    grow(content.length);
    return content;
  }
  const response = await fetch(url, { signal });
  if (!response.ok) {
    throw new Error(`${url} cannot be loaded: status ${response.status}.`);
  }
  const parts = [];
  let size = 0;
  const reader = response.body.getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    parts.push(value);
    size += value.length;
    grow(value.length);
  }
  const content = new Uint8Array(size);
  parts.reduce((at, part) => (content.set(part, at), at + part.length), 0);
  return content;
}

async function newWorker() {
  if (!isNode) {
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  }
  const { Worker: Thread } = await import("node:worker_threads");
  // Options of the main program, such as --eval, are not for a thread.
  const thread = new Thread(new URL("./worker.js", import.meta.url), { execArgv: [] });
  thread.unref(); // A thread that waits does not keep the program alive; see `hold`.
  return thread;
}

// Models on a thread of their own.
class Models {
  static async start(module, files, models, manifest) {
    const worker = await newWorker();
    const loaded = new Models(worker, manifest);
    const moved = [...files.values()].map(({ buffer }) => buffer);
    try {
      await new Promise((resolve, reject) => {
        loaded.starting = { resolve, reject };
        loaded.hold();
        worker.postMessage({ name: "start", module, files, models }, moved);
      });
    } catch (error) {
      loaded.close();
      throw error;
    }
    loaded.release();
    const response = await loaded.fetch("/api/models");
    Object.assign(loaded, await response.json());
    return loaded;
  }

  constructor(worker, manifest) {
    Object.assign(this, { worker, manifest, number: 0, requests: new Map(), starting: null, lost: null, ram: 0 });
    const hear = (message) => this.hear(message);
    const fail = ({ message }) => this.fail(new Error(`The thread of the models has ended: ${message ?? "worker.js cannot be loaded"}`));
    if (isNode) {
      worker.on("message", hear).on("error", fail);
    } else {
      worker.onmessage = ({ data }) => hear(data);
      worker.onerror = fail;
    }
  }

  // Keeps node alive while something is expected of the thread.
  hold() {
    this.worker.ref?.();
  }

  release() {
    if (!this.requests.size) {
      this.worker.unref?.();
    }
  }

  hear({ number, head, data, end, started, memory, failed, isLost, line }) {
    const request = this.requests.get(number);
    if (memory) {
      this.ram = memory;
    }
    if (line !== undefined) {
      console.error(line);
    } else if (started) {
      this.starting.resolve();
    } else if (failed !== undefined) {
      const error = new Error(failed);
      if (isLost || number === undefined) {
        this.fail(error);
      } else {
        request?.fail(error);
        this.forget(number);
      }
    } else if (head) {
      request?.begin(head);
    } else if (data) {
      request?.body.enqueue(data);
    } else if (end !== undefined) {
      if (end) {
        request?.body.close();
      } else {
        request?.fail(new Error("The models failed to answer."));
      }
      this.forget(number);
    }
  }

  // Nothing can be asked any more.
  fail(error) {
    this.lost = error;
    this.starting?.reject(error);
    this.requests.forEach((request, number) => {
      request.fail(error);
      this.forget(number);
    });
    this.worker.terminate();
  }

  forget(number) {
    this.requests.get(number)?.done();
    this.requests.delete(number);
    this.release();
  }

  // Asks the models as `fetch` would ask a server of `attentive serve`, for example with the path "/api/translate".
  async fetch(path, { method = "GET", headers = {}, body, signal } = {}) {
    signal?.throwIfAborted();
    if (this.lost) {
      throw this.lost;
    }
    const number = (this.number += 1);
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
    const all = { host: "localhost", "content-length": `${bytes.length}`, ...headers };
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.requests.get(number)?.fail(signal.reason);
        cancel();
      };
      const cancel = () => {
        if (this.requests.has(number)) {
          this.worker.postMessage({ name: "cancel", number });
          this.forget(number);
        }
      };
      const request = {
        body: null,
        begin: ({ status, headers }) => resolve(new Response(stream, { status, headers })),
        fail: (error) => {
          reject(error);
          request.body.error(error);
        },
        done: () => signal?.removeEventListener("abort", abort),
      };
      const stream = new ReadableStream({ start: (controller) => (request.body = controller), cancel });
      signal?.addEventListener("abort", abort);
      this.requests.set(number, request);
      this.hold();
      try {
        this.worker.postMessage({ name: "send", number, request: { method, path, headers: Object.entries(all), body: bytes } });
      } catch (error) {
        this.forget(number);
        reject(error);
      }
    });
  }

  // The answer to a request with a JSON object, or an error with what the server says.
  async ask(path, body, signal) {
    const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal };
    const response = await this.fetch(path, options);
    if (!response.ok) {
      const { error } = await response.json();
      throw new Error(error.hint ? `${error.message}. Hint: ${error.hint}` : error.message);
    }
    return response;
  }

  // Translates sentence by sentence. Yields { source, translation, probability, text } for each sentence in order: all `text`
  // together are the translated text, with what is between the sentences. The other options are the fields of
  // POST /api/translate, such as `beam_width`.
  async *translate(text, { signal, ...options } = {}) {
    for (const lines of parts(text)) {
      const response = await this.ask("/api/translate", { ...options, text: lines, stream: true }, signal);
      const done = [];
      let next = 0;
      for await (const { name, data } of events(response)) {
        if (name === "error") {
          throw new Error(data.error.message);
        }
        if (name === "result") {
          done[data.index] = data;
        }
        for (; done[next]; next += 1) {
          yield* sentencesOf(done[next]);
        }
      }
      if (next < lines.length) {
        throw new Error("The answer ended too early.");
      }
    }
  }

  // The whole translation of a text.
  async translateText(text, options) {
    let whole = "";
    for await (const sentence of this.translate(text, options)) {
      whole += sentence.text;
    }
    return whole;
  }

  // The translation of a file, whose name tells its format: "page.html", "subtitles.srt", "messages.po" and others.
  async translateFile(name, text, { signal, ...options } = {}) {
    const response = await this.ask("/api/translate_file", { ...options, name, text }, signal);
    return response.json();
  }

  // Ends the thread, and whatever it does.
  close() {
    this.fail(new Error("The models were closed."));
  }
}

// The lines of a text, as many together as are translated well at once.
function* parts(text) {
  let [part, size] = [[], 0];
  for (const line of text.split(/(?<=\n)/)) {
    if (part.length && size + line.length > PART) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push(line);
    size += line.length;
  }
  yield part;
}

function* sentencesOf({ sentences, after }) {
  const last = sentences.length - 1;
  for (const [index, { before, source, translation, probability }] of sentences.entries()) {
    yield { source, translation, probability, text: before + translation + (index === last ? after : "") };
  }
  if (last < 0 && after) {
    yield { source: "", translation: "", probability: 1, text: after };
  }
}

// The server-sent events of a response. Leaving the loop cancels it.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      const all = (rest + value).split("\n\n");
      rest = all.pop();
      for (const one of all) {
        const [, name, data] = one.match(/^event: (\w+)\ndata: (.*)$/s) ?? [];
        if (name) {
          yield { name, data: JSON.parse(data) };
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
