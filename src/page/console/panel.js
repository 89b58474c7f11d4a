// What one model makes of the text.

// A panel for `model`. `begin(panel)` starts its task; it may be called at any time.
function panelOf(model) {
  const title = make("h2", { id: unique("panel") }, model.name);
  const facts = make("p", { class: "quiet" }, factsOf(model));
  const status = make("p", { class: "status quiet", role: "status" });
  const problem = make("p", { class: "problem", role: "alert" });
  const warnings = make("ul", { class: "warnings", "aria-label": "Warnings" });
  const result = make("div", { class: "result", "aria-live": "polite" });
  const body = make("div");
  const attention = make("details", { class: "attention", hidden: true, open: settings.attention !== "" }, make("summary", {}, "Attention"));
  const root = make("section", { class: "panel", "aria-labelledby": title.id }, title, facts, problem, warnings, result, status, body, attention);
  const panel = { model, root, status, problem, warnings, result, body, attention, view: null, kept: null, explained: null, stop: new AbortController() };
  attention.ontoggle = () => {
    set("attention", attention.open ? "1" : "");
    showAttention(panel);
  };
  return panel;
}

function factsOf({ task, source, target, parameters, max_len }) {
  const does = { translate: "translates", generate: "continues text", fill: "fills gaps", tag: "tags tokens", classify: "classifies text" }[task];
  const pair = source && target ? ` ${source} → ${target}` : "";
  const size = parameters >= 1e6 ? `${(parameters / 1e6).toFixed(1)} million` : parameters.toLocaleString("en");
  return `${does}${pair} · ${size} parameters · reads up to ${max_len} tokens`;
}

const BEGIN = { translate: beginTranslation, generate: beginGeneration, fill: beginFilling, tag: beginTagging, classify: beginClassification };

// Runs the task of the panel's model, after ending what the panel was doing. `more` is for the task.
async function begin(panel, more) {
  panel.stop.abort();
  const stop = new AbortController();
  panel.stop = stop;
  panel.problem.textContent = "";
  panel.warnings.replaceChildren();
  if (!settings.text.trim() && panel.model.task !== "generate") {
    clear(panel);
    return;
  }
  panel.root.setAttribute("aria-busy", "true");
  try {
    await BEGIN[panel.model.task](panel, stop.signal, more);
    done(panel, stop);
  } catch (error) {
    if (stop.signal.aborted) {
      return;
    }
    clear(panel);
    panel.problem.textContent = error.message;
    done(panel, stop);
  }
}

function done(panel, stop) {
  if (panel.stop === stop) {
    panel.root.removeAttribute("aria-busy");
  }
}

function clear(panel) {
  panel.result.replaceChildren();
  panel.body.replaceChildren();
  panel.status.textContent = "";
  panel.root.removeAttribute("aria-busy");
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
