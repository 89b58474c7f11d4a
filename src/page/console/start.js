// The page: the input, and a panel for each chosen model.

const DELAY = 250; // Milliseconds after the last key.
const element = (id) => document.getElementById(id);
let models = [];
let panels = [];
let waiting = 0;

const LABELS = {
  translate: ["Text to translate", "It is translated while you type."],
  generate: ["Text to continue", "Press Control and Enter to continue it."],
  fill: ["Text with gaps", `${MASK} stands for a missing token.`],
  tag: ["Tokens to tag", "Tokens are separated by blanks."],
  classify: ["Text to classify", "It is classified while you type."],
};

const tasks = () => new Set(panels.map(({ model }) => model.task));

// Starts every panel but language models, which wait for a command.
function changed() {
  clearTimeout(waiting);
  waiting = setTimeout(() => start((task) => task !== "generate"), DELAY);
}

function start(wanted = () => true) {
  for (const panel of panels.filter(({ model }) => wanted(model.task))) {
    begin(panel);
  }
}

function setText(text) {
  element("text").value = text;
  set("text", text);
  changed();
}

function button(text, pressed) {
  const node = make("button", { type: "button" }, text);
  node.onclick = pressed;
  return node;
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

function halt(panel) {
  panel.stop.abort();
  panel.root.removeAttribute("aria-busy");
}

function maskSelection() {
  const field = element("text");
  const { selectionStart, selectionEnd } = field;
  field.setRangeText(MASK, selectionStart, selectionEnd, "end");
  setText(field.value);
  field.focus();
}

function showOptions() {
  element("options").replaceChildren(...optionFields(panels.map(({ model }) => model), changed));
}

// Makes the panels of the chosen models.
function showPanels() {
  panels.forEach(halt);
  const chosen = [settings.model, settings.other].map((name) => models.find((model) => model.name === name));
  panels = chosen.filter((model) => model).map(panelOf);
  element("panels").replaceChildren(...panels.map(({ root }) => root));
  element("panels").classList.toggle("two", panels.length > 1);
  const [label, hint] = LABELS[chosen[0].task];
  element("text-label").textContent = label;
  element("text-hint").textContent = hint;
  showOptions();
  element("actions").replaceChildren(...actions());
  start((task) => task !== "generate");
}

function fillModels() {
  const known = (name) => models.some((model) => model.name === name);
  const first = known(settings.model) ? settings.model : models[0].name;
  settings.model = first;
  settings.other = known(settings.other) ? settings.other : "";
  const names = models.map(({ name }) => [name, name]);
  fillSelect(element("model"), names, settings.model);
  fillSelect(element("other"), [["", "no other model"], ...names], settings.other);
  element("text").value = settings.text;
}

function listenToInput() {
  element("input").onsubmit = (event) => event.preventDefault();
  element("text").oninput = () => {
    set("text", element("text").value);
    changed();
  };
  element("text").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  };
  for (const name of ["model", "other"]) {
    element(name).onchange = () => {
      set(name, element(name).value);
      showPanels();
    };
  }
  element("key-form").onsubmit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, element("key").value);
    element("key-form").hidden = true;
    open();
  };
}

function askForKey() {
  element("key-form").hidden = false;
  element("key").focus();
}

// Asks for the models and shows them.
async function open() {
  element("problem").textContent = "";
  try {
    ({ models } = await ask("api/models"));
    readSettings();
    if (!models.length) {
      throw new Error("The server has no models.");
    }
    element("input").hidden = false;
    fillModels();
    showPanels();
  } catch (error) {
    element("input").hidden = true;
    element("problem").textContent = error.message;
    // It may still be loading its models.
    if (error.status === 503) {
      setTimeout(open, 1000);
    }
  }
}

addEventListener("hashchange", open);
listenToInput();
listenToTheme(() => panels.forEach(({ view }) => view && redraw(view)));
element("main").hidden = false;
open();
