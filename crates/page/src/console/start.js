// The page: the input, and a panel for each chosen model.

const DELAY = 250; // Milliseconds after the last key.
const element = (id) => document.getElementById(id);
let models = [];
let limits = { characters: 100_000, texts: 64 };
let panels = [];
let waiting = 0;

// Label and hint of the text, the heading of its results, and the name of the task in the list of models.
const LABELS = {
  translate: ["Text to translate", "", "Translation", "Translation"],
  generate: ["Text to continue", "Press Ctrl+Enter to continue it.", "Continuation", "Continuing text"],
  fill: ["Text with gaps", `${MASK} stands for a missing token.`, "Filled gaps", "Filling gaps"],
  tag: ["Tokens to tag", "Separate tokens with spaces.", "Tags", "Tagging"],
  classify: ["Text to classify", "It is classified while you type.", "Label", "Classification"],
  embed: ["Texts to compare", "One text per line.", "Similarities", "Comparing texts"],
};

const tasks = () => new Set(panels.map(({ model }) => model.task));

// Starts every panel but language models, which wait for a command.
function changed() {
  clearTimeout(waiting);
  waiting = setTimeout(() => start((task) => task !== "generate"), DELAY);
}

function start(wanted = () => true) {
  showCommand();
  for (const panel of panels.filter(({ model }) => wanted(model.task))) {
    begin(panel);
  }
}

// Puts `text` into the field.
function writeText(text) {
  element("text").value = text;
  set("text", text);
  showSource();
  showCount();
}

function setText(text) {
  writeText(text);
  changed();
}

function showCount() {
  const words = settings.text.match(/\S+/gu)?.length ?? 0;
  const count = words ? `${words.toLocaleString("en")} ${words === 1 ? "word" : "words"}` : "";
  element("count").textContent = [settings.file, count].filter((part) => part).join(" · ");
  element("clear").disabled = settings.text === "";
}

function actions() {
  const all = [];
  if (tasks().has("generate")) {
    all.push(button("Continue the text", () => start()));
    all.push(button("Another continuation", another));
    all.push(button("Stop", () => panels.forEach(halt)));
  }
  if (tasks().has("fill")) {
    all.push(button("Mask the selection", maskSelection));
  }
  return all;
}

function another() {
  set("seed", `${Number(settings.seed) + 1}`);
  showOptions();
  start();
}

function maskSelection() {
  const field = element("text");
  const { selectionStart, selectionEnd } = field;
  field.setRangeText(MASK, selectionStart, selectionEnd, "end");
  setText(field.value);
  field.focus();
}

// Translations have their attention in the microscope.
function showOptions() {
  const others = panels.filter(({ model }) => model.task !== "translate");
  element("options").replaceChildren(...optionFields(others.map(({ model }) => model), changed));
}

// Makes the panels of the chosen models.
function showPanels() {
  panels.forEach(halt);
  const chosen = [settings.model, settings.other].map((name) => models.find((model) => model.name === name));
  panels = chosen.filter((model) => model).map(panelOf);
  const [{ task }] = chosen;
  const translates = task === "translate";
  document.body.classList.toggle("translating", translates);
  const roots = panels.map(({ root }) => root);
  element("desk").replaceChildren(element("source"), ...(translates ? roots : []));
  element("panels").replaceChildren(...(translates ? [] : roots));
  element("microscopes").replaceChildren(...panels.flatMap(({ microscope }) => (microscope ? [microscope.root] : [])));
  for (const id of ["desk", "panels", "microscopes"]) {
    element(id).classList.toggle("two", panels.length > 1);
  }
  panels.forEach(({ microscope, model }) => microscope && (microscope.name.textContent = panels.length > 1 ? model.name : ""));
  element("terms-box").hidden = !translates;
  const [label, hint] = LABELS[task];
  element("text-label").textContent = label;
  element("text-hint").textContent = hint;
  element("text").placeholder = translates ? "Type or paste text, or drop a file here: text, HTML, Markdown, subtitles, PO, JSON, XLIFF." : "";
  element("text").lang = chosen[0].source ?? "";
  showLanguages(chosen[0]);
  showOptions();
  showSource();
  element("actions").replaceChildren(...actions());
  start((task) => task !== "generate");
}

// Models of the same task can be compared, and those that translate only if they read the same language.
function comparable(model) {
  const reads = ({ source }) => !source || !model.source || source === model.source;
  return models.filter((one) => one !== model && one.task === model.task && reads(one));
}

function fillModels() {
  const first = models.find(({ name }) => name === settings.model) ?? models[0];
  settings.model = first.name;
  const others = comparable(first).map(({ name }) => name);
  settings.other = others.includes(settings.other) ? settings.other : "";
  const groups = [...new Set(models.map(({ task }) => task))].map((task) => {
    const own = models.filter((model) => model.task === task).map(({ name }) => new Option(name, name));
    return make("optgroup", { label: LABELS[task][3] }, ...own);
  });
  element("model").replaceChildren(...(groups.length > 1 ? groups : groups[0].children));
  element("model").value = first.name;
  showOnly(element("model"));
  fillSelect(element("other"), [["", "none"], ...others.map((name) => [name, name])], settings.other);
  element("comparison").hidden = others.length === 0;
}

function chooseModel({ name }) {
  set("model", name);
  fillModels();
  set("other", settings.other);
  showPanels();
}

// Keeps the window where it is when a long text is pasted: browsers scroll to its end.
function stayInPlace() {
  const [before, height] = [scrollY, element("text").scrollHeight];
  const isLong = () => element("text").scrollHeight - height > innerHeight / 2;
  const stay = () => isLong() && scrollTo(scrollX, before);
  requestAnimationFrame(() => requestAnimationFrame(stay));
}

function listenToInput() {
  const field = element("text");
  field.oninput = () => {
    if (isAnother(settings.text, field.value)) {
      set("file", "");
    }
    set("text", field.value);
    showSource();
    showCount();
    changed();
  };
  field.onpaste = stayInPlace;
  field.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  };
  element("clear").onclick = () => {
    set("file", "");
    setText("");
    field.focus();
  };
  element("model").onchange = () => chooseModel({ name: element("model").value });
  element("other").onchange = () => {
    set("other", element("other").value);
    showPanels();
  };
  element("terms").oninput = () => {
    set("terms", element("terms").value);
    showTerms();
    changed();
  };
  element("command-box").ontoggle = showCommand;
  element("reference-box").ontoggle = showReference;
  element("copy-command").replaceWith(copyButton("Copy the command", () => element("command").textContent));
}

function listenToKey() {
  element("key-form").onsubmit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, element("key").value);
    element("key-form").hidden = true;
    open();
  };
}

// Asks for a key; `problem` is the problem with the previous one.
function askForKey(problem) {
  sessionStorage.removeItem(KEY);
  element("key-problem").textContent = problem;
  element("key-form").hidden = false;
  element("key").select();
}

// Requests the list of models and shows them.
async function open() {
  element("problem").textContent = "";
  try {
    const known = await ask("api/models");
    ({ models } = known);
    element("key").value = "";
    limits = known.limits ?? limits;
    files = known.files ?? files;
    readSettings();
    if (!models.length) {
      throw new Error("The server has no models.");
    }
    element("input").hidden = false;
    element("text").value = settings.text;
    element("terms").value = settings.terms;
    fillModels();
    showTerms();
    showCount();
    showPanels();
  } catch (error) {
    element("input").hidden = true;
    element("problem").textContent = isAboutKey(error) ? "" : error.message;
    // The server may still be loading its models.
    if (error.status === 503) {
      setTimeout(open, 1000);
    }
  }
}

addEventListener("hashchange", open);
listenToInput();
listenToKey();
listenToLanguages();
listenToFiles();
listenToSource();
listenToTheme(() => panels.forEach(({ view }) => view && redraw(view)));
element("main").hidden = false;
open();
