// A thread with an engine of its own, in a browser or in node.

import { Engine, Refused } from "./engine.js";

const SLICE = 20; // Milliseconds of work before messages are read again.

const isBrowser = typeof WorkerGlobalScope !== "undefined";
const port = isBrowser ? globalThis : (await import("node:worker_threads")).parentPort;
const tell = (message, moved = []) => port.postMessage(message, moved);
const listen = (handler) => (isBrowser ? (port.onmessage = ({ data }) => handler(data)) : port.on("message", handler));

let engine = null;
const said = []; // What the module has written, such as why it stopped.
let isRunning = false;

// Waits until messages that have arrived were read.
const { port1, port2 } = new MessageChannel();
const pause = () => new Promise((resolve) => {
  port1.onmessage = resolve;
  port2.postMessage(0);
});

async function work() {
  if (isRunning) {
    return;
  }
  isRunning = true;
  // After an error, nothing works any more.
  while (!engine.isIdle) {
    const end = performance.now() + SLICE;
    do {
      engine.step().forEach((event) => tell(event, event.data ? [event.data.buffer] : []));
    } while (!engine.isIdle && performance.now() < end);
    await pause();
  }
  isRunning = false;
}

const HANDLERS = {
  async start({ module, files, models }) {
    engine = await Engine.start(module, files, models, (line) => {
      said.push(line);
      tell({ line });
    });
    tell({ started: true, memory: engine.memory });
  },
  async send({ number, request }) {
    engine.send(number, request);
    await work();
  },
  cancel({ number }) {
    engine.cancel(number);
  },
};

listen(async ({ name, ...message }) => {
  try {
    await HANDLERS[name](message);
  } catch (error) {
    const isLost = !(error instanceof Refused);
    const failed = isLost ? `The engine has stopped: ${[...said, error.message].join("\n")}` : error.message;
    tell({ failed, number: message.number, isLost });
  }
});
