// The page of one sentence.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);

const operations = JSON.parse(document.getElementById("trace").textContent);

// What the model predicts for a mask.
function guessed({ position, guesses }) {
  const words = guesses.map(({ token, probability }) => `${visible(token)} ${percent(probability)}`);
  return make("li", {}, make("b", {}, visible(data.src[position])), ` at position ${position}: ${words.join(" · ")}`);
}

// The scores before the softmax, the masks, and the gates and states of recurrent cells.
function showOperations() {
  if (!operations) {
    return;
  }
  traced = operations;
  readTints();
  const has = (part) => operations.operations.some(({ name }) => name.endsWith(part));
  const hint = [];
  if (has(".scores")) {
    hint.push("Scores, from which the softmax makes weights.");
  }
  if (has(".mask")) {
    hint.push("Masks, which keep a position from looking at later ones.");
  }
  if (has(".h")) {
    hint.push("The gates and states of recurrent cells, a row for each position.");
  }
  hint.push("Blue is positive, red is negative. Unfold a part to see it; attentive trace shows all operations.");
  element("operations-hint").textContent = hint.join(" ");
  const nodes = tree(operations.operations, 0);
  nodes.forEach((node) => (node.open = false));
  element("operations").append(...nodes);
  element("operations").hidden = false;
}

function start() {
  document.title = `Attention – ${data.title}`;
  element("title").textContent = data.title;
  element("warnings").replaceChildren(...data.warnings.map((text) => make("li", {}, text)));
  element("labels").textContent = data.labels.map(named).join(", ");
  element("masks").replaceChildren(...data.masks.map(guessed));
  showOperations();
  if (!data.maps.length) {
    element("main").append(plain(data));
    return;
  }
  const view = attentionView(data);
  element("main").append(view.parts.root);
  showView(view);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      mark(view, null, null);
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    redraw(view);
    readTints();
    document.querySelectorAll(".leaf").forEach((node) => node.redraw());
  });
}

start();
