// Overview of all heads, and the selected one.

const SMALL = 128; // Longer side of a small map, in pixels.

function buildAll() {
  const layers = mapsOf(state.site).map((map, layer) => {
    const line = document.createElement("div");
    line.className = "layer";
    const name = document.createElement("span");
    name.textContent = `layer ${layer + 1}`;
    const heads = map.heads.map((_, head) => small(map, layer, head));
    line.append(name, ...heads, ...(heads.length > 1 ? [small(map, layer, MEAN)] : []));
    return line;
  });
  element("all").replaceChildren(...layers);
  element("every").hidden = element("all").querySelectorAll("button").length < 2;
}

function small(map, layer, head) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.title = map.name;
  button.dataset.layer = layer;
  button.dataset.head = head;
  const canvas = draw(weightsOf(map, head));
  const size = SMALL / Math.max(map.rows, map.columns);
  canvas.style.width = `${map.columns * size}px`;
  canvas.style.height = `${map.rows * size}px`;
  button.append(canvas, head === MEAN ? "mean" : headName(head));
  button.setAttribute("aria-label", `layer ${layer + 1}, ${headName(head)}`);
  button.addEventListener("click", () => {
    Object.assign(state, { layer, head });
    fillControls();
    choose();
  });
  return button;
}

function mark(row, column) {
  Object.assign(state, { row, column });
  shadeSentence();
  drawMap();
  readOut();
}

function readOut() {
  const site = SITES[state.site];
  const { row, column } = state;
  const bold = (label) => {
    const node = document.createElement("b");
    node.textContent = visible(label.token);
    return node;
  };
  // The three largest of `count` weights, with their tokens.
  const largest = (count, of, labels) => {
    const order = [...Array(count).keys()].sort((a, b) => of(b) - of(a)).slice(0, 3);
    return order.flatMap((at, place) => [place ? ", " : " ", bold(labels[at]), ` ${of(at).toFixed(3)}`]);
  };
  let words = ["Point at a token or a cell to see its weights."];
  if (row !== null && column !== null) {
    words = [bold(site.rows[row]), " attends to ", bold(site.columns[column]), ` with weight ${weight(row, column).toFixed(3)}`];
  } else if (row !== null) {
    words = [bold(site.rows[row]), " attends most to", ...largest(matrix.columns, (at) => weight(row, at), site.columns)];
  } else if (column !== null) {
    words = [bold(site.columns[column]), " is attended to most by", ...largest(matrix.rows, (at) => weight(at, column), site.rows)];
  }
  element("readout").replaceChildren(...words);
}

function fillSelect(id, options, value) {
  const nodes = options.map(([value, text]) => new Option(text, value));
  element(id).replaceChildren(...nodes);
  element(id).value = value;
}

function fillControls() {
  const sites = Object.keys(SITES).filter((site) => mapsOf(site).length);
  fillSelect("site", sites.map((site) => [site, SITES[site].name]), state.site);
  fillSelect("layer", mapsOf(state.site).map((_, layer) => [layer, `${layer + 1}`]), state.layer);
  const heads = chosenMap().heads.map((_, head) => [head, `${head + 1}`]);
  fillSelect("head", [...(heads.length > 1 ? [[MEAN, "mean"]] : []), ...heads], state.head);
}

// Draws everything that depends on the layer and the head.
function choose() {
  matrix = weightsOf(chosenMap(), state.head);
  picture = draw(matrix);
  const name = `${SITES[state.site].name}, layer ${state.layer + 1}, ${headName(state.head)}`;
  element("map-title").textContent = name;
  element("most").textContent = top(matrix).toFixed(top(matrix) < 1 ? 2 : 0);
  for (const button of element("all").querySelectorAll("button")) {
    const { layer, head } = button.dataset;
    button.setAttribute("aria-pressed", `${+layer === state.layer && +head === state.head}`);
  }
  measure();
  mark(state.row, state.column);
}

function chooseSite(site) {
  const heads = mapsOf(site)[0].heads.length;
  // The top layer has the most direct influence on the output.
  Object.assign(state, { site, layer: mapsOf(site).length - 1, head: heads > 1 ? MEAN : 0, row: null, column: null });
  fillControls();
  buildSentence();
  buildAll();
  choose();
}

function redraw() {
  readColours();
  buildAll();
  choose();
}

function listen() {
  element("site").addEventListener("change", (event) => chooseSite(event.target.value));
  for (const id of ["layer", "head"]) {
    element(id).addEventListener("change", (event) => {
      state[id] = +event.target.value;
      choose();
    });
  }
  element("scale").addEventListener("change", redraw);
  const map = element("map");
  map.addEventListener("mousemove", (event) => {
    const cell = cellAt(event);
    if (cell) {
      mark(...cell);
    }
  });
  map.addEventListener("keydown", moveCell);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      mark(null, null);
    }
  });
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("resize", choose);
}

// A model without attention: only the sentence.
function showPlain() {
  if (data.labels.length) {
    element("sentence-hint").textContent = "This model has no attention.";
    element("queries-title").textContent = "Text";
    element("queries").replaceChildren(...tokens(data.src).map((label) => chip(label)));
    return;
  }
  element("sentence-hint").textContent = "This model has no attention: its decoder sees the source only through the encoder's final state.";
  element("queries-title").textContent = SITES.cross.queries;
  element("keys-title").textContent = "Source";
  element("queries").replaceChildren(...SITES.cross.rows.map((label) => chip(label)));
  element("keys").replaceChildren(...SITES.cross.columns.map((label) => chip(label)));
}

function start() {
  document.title = `Attention – ${data.title}`;
  element("title").textContent = data.title;
  element("warnings").replaceChildren(...data.warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
  element("labels").textContent = data.labels.map(named).join(", ");
  if (!data.maps.length) {
    return showPlain();
  }
  element("controls").hidden = element("maps").hidden = false;
  element("sentence-hint").textContent = "Point at a token, or focus it with the tab key, to see what it attends to, or what attends to it.";
  readColours();
  listen();
  chooseSite(["cross", "decoder_self", "encoder_self"].find((site) => mapsOf(site).length));
}

start();
