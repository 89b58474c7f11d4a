// The page of a trace: operations folded by the parts of the model.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);

const facts = ({ shape, mean, norm, largest }) => `${shape.join(" × ")}   mean ${short(mean)}   norm ${short(norm)}   largest ${short(largest)}`;

// What an operation shows once it is unfolded.
function fill(body, operation) {
  const value = make("p", { class: "value" });
  const shown = (text) => (value.textContent = text);
  const matrices = matricesOf(operation);
  const most = operation.values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const room = Math.max(240, (body.clientWidth - 24) / Math.min(matrices.length, 3));
  const figures = matrices.map((matrix, head) => {
    const what = matrices.length > 1 ? `head ${head + 1}` : "";
    const label = `${operation.name}${what && `, ${what}`}: ${facts(operation)}`;
    const map = heatMap(matrix, operation.row_tokens, operation.column_tokens, () => most, room, shown);
    map.setAttribute("role", "img");
    map.setAttribute("aria-label", label);
    return make("figure", {}, make("figcaption", {}, what), map);
  });
  body.replaceChildren(make("p", { class: "formula" }, operation.formula), make("div", { class: "maps" }, ...figures), value);
}

function leaf(name, operation) {
  const body = make("div");
  const node = make("details", { class: "leaf" });
  node.dataset.name = operation.name;
  node.append(make("summary", {}, make("strong", {}, name), make("span", { class: "facts" }, facts(operation))), body);
  const show = () => node.open && fill(body, operation);
  node.addEventListener("toggle", show);
  node.redraw = show;
  return node;
}

// The parts of the path of an operation; positions of the target come first where they are computed one after the other.
function pathOf({ name, position }) {
  const parts = name.replace(/\.(\d+)(?=\.)/g, " $1").split(".");
  return position === null ? parts : [`position ${position}: ${data.tgt[position]}`, ...parts];
}

// Neighbors with the same part of the path are folded together.
function tree(operations, depth) {
  const nodes = [];
  for (let first = 0; first < operations.length; ) {
    const path = pathOf(operations[first]);
    if (path.length - 1 <= depth) {
      nodes.push(leaf(path.slice(depth).join("."), operations[first]));
      first += 1;
      continue;
    }
    let end = first;
    while (end < operations.length && pathOf(operations[end]).length - 1 > depth && pathOf(operations[end])[depth] === path[depth]) {
      end += 1;
    }
    const count = end - first;
    const node = make("details", { open: depth === 0 });
    node.append(make("summary", {}, path[depth], make("span", { class: "facts" }, `${count} ${count === 1 ? "operation" : "operations"}`)));
    node.append(...tree(operations.slice(first, end), depth + 1));
    nodes.push(node);
    first = end;
  }
  return nodes;
}

// The lengths of the gradients of the layers' outputs, by position.
function gradients({ loss, outputs }) {
  const body = make("div");
  const value = make("p", { class: "value" });
  const shown = (text) => (value.textContent = text);
  const isSource = ({ name }) => name === "src" || name.startsWith("encoder.");
  const sides = [outputs.filter(isSource), outputs.filter((output) => !isSource(output))];
  for (const side of sides.filter((side) => side.length)) {
    const matrix = { rows: side.length, columns: side[0].norms.length, values: side.flatMap(({ norms }) => norms) };
    const most = (row) => Math.max(...side[row].norms);
    const names = side.map(({ name }) => name);
    const map = heatMap(matrix, names, side[0].tokens, most, Math.max(240, innerWidth - 80), shown);
    map.setAttribute("role", "img");
    map.setAttribute("aria-label", side.map(({ name, norms }) => `${name}: ${norms.map((x) => short(x)).join(", ")}`).join("; "));
    body.append(make("figure", {}, map));
  }
  const about = "How much the loss changes with the output of each layer at each position: the lengths of its gradients. ";
  const node = make("details", { open: true });
  node.append(make("summary", {}, make("strong", {}, "gradients"), make("span", { class: "facts" }, `loss ${short(loss)}`)));
  node.append(make("p", { class: "formula" }, about, "Each row has colors of its own."), body, value);
  return node;
}

function start() {
  readTints();
  document.title = `Trace – ${data.title}`;
  element("title").textContent = data.title;
  element("read").textContent = [data.src, data.tgt].filter((tokens) => tokens.length).map((tokens) => tokens.join(" ")).join(" → ");
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
  element("main").append(...(data.gradients ? [gradients(data.gradients)] : []), ...tree(data.operations, 0));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readTints();
    document.querySelectorAll(".leaf").forEach((node) => node.redraw());
  });
}

start();
