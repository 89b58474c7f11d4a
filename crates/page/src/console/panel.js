// A panel with the results of one model.

// A panel for `model`. `begin(panel)` starts its task; it may be called at any time.
function panelOf(model) {
  const translates = model.task === "translate";
  const title = make("h2", { id: unique("panel") }, LABELS[model.task][2]);
  const name = make("span", { class: "name", id: unique("name") }, model.name); // Shown where two are compared.
  const facts = make("p", { class: "quiet" }, factsOf(model));
  const status = make("p", { class: "status quiet", role: "status" });
  const problem = make("p", { class: "problem", role: "alert" });
  const warnings = make("ul", { class: "warnings", "aria-label": "Warnings" });
  const result = make("div", { class: "result", "aria-live": "polite" });
  const body = make("div");
  const attention = make("details", { class: "attention", hidden: true, open: translates || settings.attention !== "" }, make("summary", {}, "Attention"));
  const panel = { model, status, problem, warnings, result, body, attention, view: null, kept: null, explained: null, stop: new AbortController() };
  attention.ontoggle = () => {
    if (!translates) {
      set("attention", attention.open ? "1" : "");
    }
    showAttention(panel);
  };
  panel.root = make("section", { class: translates ? "pane panel" : "panel", "aria-labelledby": `${title.id} ${name.id}` });
  const head = make("div", { class: "head" }, title, name);
  if (translates) {
    translator(panel, head);
  } else {
    panel.root.append(head, facts, problem, warnings, result, status, body, attention);
  }
  return panel;
}

// Makes `panel` the pane of a translation, with a microscope.
function translator(panel, head) {
  Object.assign(panel, { file: null, parts: [], twins: new Map(), known: new Map(), knownWith: "", chosen: 0 });
  Object.assign(panel, { changed: new Set(), showing: 0, shown: 0, pace: 0 });
  const stop = button("Stop", () => stopTranslation(panel));
  const again = button("Go on", () => begin(panel));
  const copy = copyButton("Copy", () => wholeTranslation(panel));
  const save = button("Download", () => download(fileNameFor(panel.model), wholeTranslation(panel)));
  Object.assign(panel, { buttons: { stop, again, copy, save }, microscope: microscopeOf(panel) });
  const foot = make("div", { class: "foot row" }, copy, save, stop, again, panel.status);
  panel.language = make("p", { class: "language quiet", role: "status", hidden: true });
  panel.told = make("details", { class: "told" }, make("summary"), panel.warnings);
  panel.root.append(head, panel.language, panel.result, panel.problem, panel.told, foot);
  listenToSentences(panel.result, chooseSentence);
  showButtons(panel);
}

function stopTranslation(panel) {
  showNow(panel);
  halt(panel);
  panel.status.textContent = "Stopped.";
}

// Shows the buttons that have an effect.
function showButtons({ root, file, parts, buttons: { stop, again, copy, save } }) {
  const busy = root.hasAttribute("aria-busy");
  const missing = parts.some(({ blank, found }) => !blank && !found);
  stop.hidden = !busy;
  again.hidden = busy || !missing;
  copy.disabled = save.disabled = file === null && !parts.some(({ found }) => found);
}

function factsOf({ task, source, target, parameters, max_len }) {
  const does = { translate: "translates", generate: "continues text", fill: "fills gaps", tag: "tags tokens", classify: "classifies text", embed: "compares texts" }[task];
  const pair = source && target ? ` ${languageName(source)} to ${languageName(target)}` : "";
  const size = parameters >= 1e6 ? `${(parameters / 1e6).toFixed(1)} million` : parameters.toLocaleString("en");
  return `${does}${pair} · ${size} parameters · reads up to ${max_len} tokens`;
}

const BEGIN = { translate: beginTranslation, generate: beginGeneration, fill: beginFilling, tag: beginTagging, classify: beginClassification, embed: beginEmbedding };

// Runs the task of the panel's model, after canceling its previous run. `more` is for the task.
async function begin(panel, more) {
  panel.stop.abort();
  lookAway(panel);
  const stop = new AbortController();
  panel.stop = stop;
  panel.problem.textContent = "";
  panel.warnings.replaceChildren();
  if (!settings.text.trim() && panel.model.task !== "generate") {
    clear(panel);
    return;
  }
  busy(panel, true);
  try {
    await BEGIN[panel.model.task](panel, stop.signal, more);
  } catch (error) {
    if (stop.signal.aborted) {
      return;
    }
    fail(panel, error);
  }
  if (panel.stop === stop) {
    busy(panel, false);
  }
}

function busy(panel, is) {
  if (is) {
    panel.root.setAttribute("aria-busy", "true");
  } else {
    panel.root.removeAttribute("aria-busy");
  }
  if (panel.buttons) {
    showButtons(panel);
    tabStop(panel.result, document.activeElement);
  }
}

// Translations that exist already are kept.
function fail(panel, error) {
  if (panel.model.task === "translate") {
    showNow(panel);
    panel.status.textContent = "";
  } else {
    clear(panel);
  }
  panel.problem.textContent = isAboutKey(error) ? "" : error.message;
}

function halt(panel) {
  panel.stop.abort();
  lookAway(panel);
  busy(panel, false);
}

function clear(panel) {
  panel.result.replaceChildren();
  panel.body.replaceChildren();
  panel.status.textContent = "";
  if (panel.microscope) {
    panel.file = null;
    recognized(panel, null);
    layOut(panel);
    examine(panel);
  }
  busy(panel, false);
  explained(panel, null);
}

function warn(panel, warnings = []) {
  panel.warnings.append(...warnings.map((text) => make("li", {}, text)));
}

// Shows `data`, the JSON of an explanation, or nothing.
function explained(panel, data) {
  panel.explained = data;
  panel.kept = panel.view ? chosenIn(panel.view) : panel.kept;
  panel.view = null;
  panel.attention.hidden = !data?.maps.length;
  while (panel.attention.children.length > 1) {
    panel.attention.lastChild.remove();
  }
  showAttention(panel);
}

// Draws the attention if it is unfolded.
function showAttention(panel) {
  const { attention, explained, view } = panel;
  if (!attention.open || attention.hidden || view) {
    return;
  }
  panel.view = attentionView(explained);
  attention.append(panel.view.parts.root);
  showView(panel.view, panel.kept);
}
