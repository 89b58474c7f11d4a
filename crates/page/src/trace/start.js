// The page of a trace: operations folded by the parts of the model.

const data = JSON.parse(document.getElementById("data").textContent);
traced = data;
const element = (id) => document.getElementById(id);

// The lengths of the gradients of the layers' outputs, by position.
function gradients({ loss, position, outputs }) {
  const body = make("div");
  const value = make("p", { class: "value" });
  const shown = (text) => (value.textContent = text);
  const sides = ["src", "tgt"].map((side) => outputs.filter((output) => output.side === side));
  for (const side of sides.filter((side) => side.length)) {
    const matrix = { rows: side.length, columns: side[0].norms.length, values: side.flatMap(({ norms }) => norms) };
    const most = (row) => Math.max(...side[row].norms);
    const names = side.map(({ name }) => name);
    const map = heatMap(matrix, names, distinct(side[0].tokens), most, Math.max(240, innerWidth - 80), shown);
    map.setAttribute("role", "img");
    map.setAttribute("aria-label", side.map(({ name, norms }) => `${name}: ${norms.map((x) => short(x)).join(", ")}`).join("; "));
    body.append(make("figure", {}, map));
  }
  const of = position === null ? "of all predictions" : `of predicting ${data.next[position]} after ${data.tgt[position]}`;
  const about = "How much the loss changes with the output of each layer at each position: the lengths of its gradients; of recurrent layers, also through later states. ";
  const node = make("details", { open: true });
  node.append(make("summary", {}, make("strong", {}, "gradients"), make("span", { class: "facts" }, `loss ${short(loss)} ${of}`)));
  node.append(make("p", { class: "formula" }, about, "Each row has colors of its own."), body, value);
  return node;
}

function start() {
  readTints();
  document.title = `Trace – ${data.title}`;
  element("title").textContent = data.title;
  const read = { source: data.src, target: data.tgt, predicts: data.next };
  const said = Object.entries(read).filter(([, tokens]) => tokens.length).map(([what, tokens]) => `${what}: ${tokens.join(" ")}`);
  element("read").replaceChildren(...said.map((text) => make("span", {}, text)));
  element("warnings").replaceChildren(...data.warnings.map((text) => make("li", {}, text)));
  const every = () => [...document.querySelectorAll("details")];
  const find = make("input", { type: "search", placeholder: "scores, layers.0, mask …", "aria-label": "Show operations whose name contains" });
  find.oninput = () => {
    const has = (node) => node.dataset.name.includes(find.value.trim());
    document.querySelectorAll(".leaf").forEach((node) => (node.hidden = !has(node)));
    document.querySelectorAll("#main details:not(.leaf)").forEach((node) => {
      const leaves = [...node.querySelectorAll(".leaf")];
      node.hidden = leaves.length > 0 && leaves.every((leaf) => leaf.hidden);
      node.open = node.open || Boolean(find.value.trim());
    });
  };
  const parts = () => every().filter((node) => !node.matches(".leaf"));
  const unfold = button("Unfold parts", () => parts().forEach((node) => (node.open = true)));
  const fold = button("Fold all", () => every().forEach((node) => (node.open = false)));
  element("controls").append(find, unfold, fold);
  element("main").append(...tree(data.operations, 0), ...(data.gradients ? [gradients(data.gradients)] : []));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readTints();
    document.querySelectorAll(".leaf").forEach((node) => node.redraw());
  });
}

start();
