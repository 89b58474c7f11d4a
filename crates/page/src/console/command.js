// The current request as a shell command.

const LONGEST = 4000; // Characters of a text that stands in a command; longer ones are read from a file.

const requests = {
  translate: ({ name }, text) =>
    isFile()
      ? ["api/translate_file", { model: name, name: settings.file, text, ...withTerms(panels[0]) }]
      : ["api/translate", { model: name, text, ...beamOption(), ...withTerms(panels[0]) }],
  generate: ({ name }, text) => ["api/generate", { model: name, prompt: text, ...generateOptions() }],
  fill: ({ name }, text) => ["api/fill", { model: name, text, count: CANDIDATES }],
  tag: ({ name }, text) => ["api/tag", { model: name, text }],
  classify: ({ name }, text) => ["api/classify", { model: name, text, count: LABELS_SHOWN }],
  embed: ({ name }, text) => ["api/embed", { model: name, text }],
};

// Quotes for a POSIX shell, where they are needed.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

// A command that sends the same request to `model` as the page.
function commandFor(model) {
  const isLine = !["translate", "generate"].includes(model.task);
  const text = isLine ? inputLine() : settings.text;
  const [path, body] = requests[model.task](model, text);
  const key = sessionStorage.getItem(KEY) ? ' -H "Authorization: Bearer $KEY"' : "";
  const curl = `curl -s ${quoted(new URL(path, location.href).href)}${key} --json`;
  if (text.length <= LONGEST) {
    return `${curl} ${quoted(JSON.stringify(body))}`;
  }
  const field = model.task === "generate" ? "prompt" : "text";
  const { [field]: _, ...rest } = body;
  return `jq -Rs ${quoted(`${JSON.stringify(rest)} + {${field}: .}`)} ${quoted(settings.file || "text.txt")} | ${curl} @-`;
}

function showCommand() {
  const box = element("command-box");
  const model = panels[0]?.model;
  box.hidden = !(model?.task in requests);
  if (!box.open || box.hidden) {
    return;
  }
  element("command").textContent = commandFor(model);
  const hints = [];
  if (sessionStorage.getItem(KEY)) {
    hints.push("Put your API key into the variable KEY.");
  }
  element("command-hint").textContent = hints.join(" ");
}
