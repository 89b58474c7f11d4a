// Opening text files, copying texts, and saving texts.

const LARGEST = 2 ** 21; // Bytes of a file.
let fileName = ""; // Of the file that the text came from.

async function openFile(file) {
  const problem = element("file-problem");
  problem.textContent = "";
  try {
    writeText(await readText(file));
    fileName = file.name;
    showCount();
    changed();
  } catch (error) {
    problem.textContent = error.message;
  }
}

async function readText(file) {
  if (file.size > LARGEST) {
    throw new Error(`“${file.name}” is too large: this page takes up to ${LARGEST >> 20} MB. Use “attentive translate” for larger files.`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  let text = "\0";
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    // Refused below, like files with zero bytes.
  }
  if (text.includes("\0")) {
    throw new Error(`“${file.name}” is not a text file in UTF-8. Save it as plain text first.`);
  }
  return text.replace(/\r\n?/g, "\n");
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

// The file name for a translation by `model`: the name of the opened file, with the language.
function fileNameFor({ name, target }) {
  const [, stem, extension] = (fileName || "translation.txt").match(/^(.*?)(\.[^.]*)?$/);
  return `${stem}.${target ?? name}${extension ?? ".txt"}`;
}

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
