// The sentence; the selected token shades the tokens that it attends to, and lines lead to them.

const FAINTEST = 0.08; // Smaller shares of the largest weight have no line.
const CROWD = 1000; // More weights have lines for the selected token only.

function buildSentence(view) {
  const { parts } = view;
  const site = chosenSite(view);
  parts.queriesTitle.textContent = site.queries;
  parts.keysTitle.textContent = site.keys;
  parts.queries.replaceChildren(...site.rows.map((label, row) => chip(label, () => mark(view, row, null))));
  parts.keys.replaceChildren(...site.columns.map((label, column) => chip(label, () => mark(view, null, column))));
  rove(parts.queries, "ArrowLeft", "ArrowRight");
  rove(parts.keys, "ArrowLeft", "ArrowRight");
}

// Shades the keys of the selected query, or the queries of the selected key.
function shadeSentence(view) {
  const { row, column } = view.state;
  const most = top(view, view.matrix);
  [...view.parts.queries.children].forEach((node, i) => {
    node.classList.toggle("chosen", i === row);
    paint(node, row === null && column !== null ? weight(view, i, column) / most : null);
  });
  [...view.parts.keys.children].forEach((node, i) => {
    node.classList.toggle("chosen", i === column);
    paint(node, row === null ? null : weight(view, row, i) / most);
  });
}

// Lines from each query, or the selected one, to the keys, or the selected one; the wider, the larger the weight.
function drawLines(view) {
  const { parts, matrix, state } = view;
  const box = parts.pair.getBoundingClientRect();
  const places = (group, edge) =>
    [...group.children].map((node) => {
      const own = node.getBoundingClientRect();
      return [own.left + own.width / 2 - box.left, own[edge] - box.top];
    });
  const [from, to] = [places(parts.queries, "bottom"), places(parts.keys, "top")];
  const [few, many] = [state.row, state.column].map((at) => at !== null);
  const paths = [];
  if (!few && !many && matrix.rows * matrix.columns > CROWD) {
    parts.lines.replaceChildren();
    return;
  }
  for (let row = 0; row < matrix.rows; row++) {
    for (let column = 0; column < matrix.columns; column++) {
      const share = weight(view, row, column) / (matrix.most || 1);
      const wanted = (!few || row === state.row) && (!many || column === state.column);
      if (wanted && share >= FAINTEST && from[row] && to[column]) {
        paths.push(line(parts.lines, from[row], to[column], share));
      }
    }
  }
  parts.lines.replaceChildren(...paths);
}

function line(lines, [x1, y1], [x2, y2], share) {
  const path = document.createElementNS(lines.namespaceURI, "path");
  const bend = (y2 - y1) / 2;
  path.setAttribute("d", `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`);
  path.setAttribute("stroke-width", (0.5 + 3.5 * share).toFixed(2));
  path.setAttribute("stroke-opacity", (0.15 + 0.75 * share).toFixed(2));
  return path;
}
