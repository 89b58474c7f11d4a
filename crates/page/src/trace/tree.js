// Operations, folded by the parts of the model.

let traced = { tgt: [] }; // The trace whose operations are shown.

const facts = ({ shape, mean, norm, largest }) => `${shape.join(" × ")}   mean ${short(mean)}   norm ${short(norm)}   largest |x| ${short(largest)}`;

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
    const map = heatMap(matrix, distinct(operation.row_tokens), distinct(operation.column_tokens), () => most, room, shown);
    map.setAttribute("role", "img");
    map.setAttribute("aria-label", label);
    return make("figure", {}, make("figcaption", {}, what), map);
  });
  body.replaceChildren(make("p", { class: "formula" }, operation.formula), make("div", { class: "matrices" }, ...figures), value);
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
  const parts = name.replace(/layers\.(\d+)(?=\.)/g, "layer $1").split(".");
  return position === null ? parts : [`position ${position}: ${traced.tgt[position]}`, ...parts];
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

