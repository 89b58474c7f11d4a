// The sentence; the selected token shades the tokens that it attends to, and lines lead to them.

const FAINTEST = 0.08; // Smaller shares of the largest weight have no line.
const CROWD = 1000; // More weights have lines for the selected token only.
const TALLEST = 60; // Tokens of a column.

function buildSentence(view) {
  const { parts } = view;
  const site = chosenSite(view);
  parts.queriesTitle.textContent = site.queries;
  parts.keysTitle.textContent = site.keys;
  parts.queries.replaceChildren(...site.rows.map((label, row) => chip(label, () => mark(view, row, null))));
  parts.keys.replaceChildren(...site.columns.map((label, column) => chip(label, () => mark(view, null, column))));
  rove(parts.queries, { ...ROW, ...COLUMN });
  rove(parts.keys, { ...ROW, ...COLUMN });
}

// Puts the tokens into two rows, or into two columns if the rows do not fit side by side. Lines between rows that wrap would
// cross tokens: for texts that are too long for columns, only the lines of the selected token are drawn.
function arrange(view) {
  const { pair, queries, keys } = view.parts;
  const wraps = ({ firstChild, lastChild }) => firstChild && lastChild.offsetTop > firstChild.offsetTop;
  const most = Math.max(queries.children.length, keys.children.length);
  pair.classList.remove("upright", "spread");
  view.wraps = wraps(queries) || wraps(keys);
  view.upright = view.wraps && most <= TALLEST;
  pair.classList.toggle("upright", view.upright);
  pair.classList.toggle("spread", !view.wraps);
  pair.style.setProperty("--tokens", most);
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
  const { parts, matrix, state, upright } = view;
  const { from, to } = ends(parts, upright);
  const [few, many] = [state.row, state.column].map((at) => at !== null);
  const paths = [];
  const crowded = matrix.rows * matrix.columns > CROWD || (view.wraps && !upright);
  if (!few && !many && crowded) {
    parts.lines.replaceChildren();
    return;
  }
  const colored = state.head === COLORED;
  for (const [head, { weights, most }] of (colored ? headsOf(view) : [matrix]).entries()) {
    for (let row = 0; row < matrix.rows; row++) {
      for (let column = 0; column < matrix.columns; column++) {
        const share = weights[row * matrix.columns + column] / (most || 1);
        const wanted = (!few || row === state.row) && (!many || column === state.column);
        if (wanted && share >= FAINTEST && from[row] && to[column]) {
          const path = line(parts.lines, curve(from[row], to[column], upright), share);
          path.style.stroke = colored ? `rgb(${hue(head)})` : "";
          paths.push(path);
        }
      }
    }
  }
  parts.lines.replaceChildren(...paths);
}

// The points where lines leave the queries and reach the keys.
function ends({ pair, queries, keys }, upright) {
  const box = pair.getBoundingClientRect();
  const places = (group, edge) =>
    [...group.children].map((node) => {
      const own = node.getBoundingClientRect();
      const [x, y] = [own.left + own.width / 2 - box.left, own.top + own.height / 2 - box.top];
      return upright ? [own[edge] - box.left, y] : [x, own[edge] - box.top];
    });
  const [last, first] = upright ? ["right", "left"] : ["bottom", "top"];
  return { from: places(queries, last), to: places(keys, first) };
}

// A curve with straight ends.
function curve([x1, y1], [x2, y2], upright) {
  const [right, down] = upright ? [(x2 - x1) / 2, 0] : [0, (y2 - y1) / 2];
  return `M${x1} ${y1}C${x1 + right} ${y1 + down} ${x2 - right} ${y2 - down} ${x2} ${y2}`;
}

function line(lines, curve, share) {
  const path = document.createElementNS(lines.namespaceURI, "path");
  path.setAttribute("d", curve);
  path.setAttribute("stroke-width", (0.5 + 3.5 * share).toFixed(2));
  path.setAttribute("stroke-opacity", (0.15 + 0.75 * share).toFixed(2));
  return path;
}
