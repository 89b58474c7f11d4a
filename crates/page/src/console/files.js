// Opening text files, copying texts, and saving texts.

const LARGEST = 2 ** 21; // Bytes of a file.
let opened = { raw: "", shown: "" }; // The text of the opened file as it is, and in the field.

let files = { formats: [], others: [] }; // Extensions, as the server knows them.
const extension = (name) => name.split(".").pop().toLowerCase();

// Files that are more than lines: the server translates them as a whole, and keeps what is not text.
const isFile = () => settings.file.includes(".") && extension(settings.file) !== "txt" && files.formats.includes(extension(settings.file));
const fileText = () => (settings.text === opened.shown ? opened.raw : settings.text);

// The text of a file without its byte order mark, and with the line breaks of fields.
const shown = (raw) => raw.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");

async function openFile(file) {
  const problem = element("file-problem");
  problem.textContent = "";
  try {
    const raw = await readText(file);
    set("file", file.name);
    writeText(shown(raw));
    opened = { raw, shown: settings.text };
    showCount();
    changed();
  } catch (error) {
    problem.textContent = error.message;
  }
}

async function readText(file) {
  if (files.others.includes(extension(file.name))) {
    throw new Error(`“${file.name}” is of a format that is not supported. Save it as HTML, Markdown or plain text first.`);
  }
  if (file.size > LARGEST) {
    throw new Error(`“${file.name}” is too large: this page takes up to ${LARGEST >> 20} MB. Use “attentive translate” for larger files.`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  let text = "\0";
  try {
    text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Refused below, like files with zero bytes.
  }
  if (text.includes("\0")) {
    throw new Error(`“${file.name}” is not a text file in UTF-8. Save it as plain text first.`);
  }
  return text;
}

// Files may be dropped anywhere on the page.
function listenToFiles() {
  const hasFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
  const over = (is) => element("source").classList.toggle("dropping", is);
  element("file-button").onclick = () => element("file").click();
  element("file").onchange = ({ target }) => {
    if (target.files[0]) {
      openFile(target.files[0]);
    }
    target.value = "";
  };
  addEventListener("dragover", (event) => {
    if (hasFiles(event)) {
      event.preventDefault();
      over(true);
    }
  });
  addEventListener("dragleave", (event) => over(event.relatedTarget !== null && hasFiles(event)));
  addEventListener("drop", (event) => {
    over(false);
    if (!hasFiles(event)) {
      return;
    }
    event.preventDefault();
    const { files } = event.dataTransfer;
    if (files.length > 1) {
      element("file-problem").textContent = `Drop one file at a time, not ${files.length}.`;
    } else if (files.length) {
      openFile(files[0]);
    }
  });
}

// True if `text` has not even half of the lines that were there before, beside one that may have been edited, so that it comes from
// no file.
function isAnother(before, text) {
  const lines = before.split("\n");
  const kept = new Set(text.split("\n"));
  return !text || 2 * (lines.filter((line) => kept.has(line)).length + 1) < lines.length;
}

// Translates the opened file as a whole.
async function translateFile(panel, signal) {
  const started = performance.now();
  const name = settings.file;
  panel.status.textContent = `Translating ${name} …`;
  panel.parts = [];
  const { text, warnings } = await ask("api/translate_file", { model: panel.model.name, name, text: fileText(), ...withTerms(panel) }, signal);
  panel.file = text;
  panel.result.replaceChildren(make("div", { class: "text file", dir: "auto", lang: panel.model.target ?? "" }, shown(text)));
  if (isFirst(panel)) {
    showSource();
  }
  tellWarnings(panel, warnings);
  panel.status.textContent = `${name} in ${((performance.now() - started) / 1000).toFixed(2)} s`;
  examine(panel);
}

// The name of the file in which a translation by `model` is saved: that of the opened file.
const fileNameFor = ({ name, target }) => settings.file || `translation.${target ?? name}.txt`;

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A button that copies what `text()` returns, and confirms it.
function copyButton(label, text) {
  const node = button(label, async () => {
    const copied = await copyText(text());
    node.textContent = copied ? "Copied" : "Not copied: the browser does not allow it";
    setTimeout(() => (node.textContent = label), 1500);
  });
  return node;
}

// Pages of other machines without TLS have no clipboard, but they may copy a selection.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", { class: "aside", value: text, "aria-hidden": "true" });
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return copied;
  }
}
