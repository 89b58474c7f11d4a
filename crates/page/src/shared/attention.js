// The attention of a model for one sentence: the current view, and its controls. A view is
// `{ data, sites, state, matrix, picture, layout, wraps, upright, parts }`.

const MEAN = -1; // Used as a head number for the mean of all heads,
const COLORED = -2; // and for all heads, each in its color.
const ORDER = ["cross", "decoder_self", "encoder_self"];

// A view of `data`, the JSON of an explanation, which has maps. Put `parts.root` on the page, then call `showView`.
function attentionView(data) {
  const view = {
    data,
    sites: sitesOf(data),
    state: { site: null, layer: 0, head: MEAN, isChosen: false, row: null, column: null }, // Chosen by the user, not by `mostTelling`.
    matrix: null, // The selected weights: { rows, columns, weights, most }.
    picture: null, // The same, one pixel per weight.
    layout: null, // Of the enlarged map.
    wraps: false, // Whether the tokens need more than one row.
    upright: false, // Whether they stand in columns.
    parts: viewParts(),
  };
  listen(view);
  return view;
}

// Begins with the selection `kept`, from `chosenIn`, of another sentence and the same model, if given.
function showView(view, kept) {
  readColors();
  chooseSite(view, [kept?.site, ...ORDER].find((site) => mapsOf(view, site).length));
  if (kept) {
    view.parts.scale.value = kept.scale;
    if (kept.isChosen) {
      Object.assign(view.state, { layer: kept.layer, head: kept.head, isChosen: true });
    }
    fillControls(view);
    redraw(view);
  }
  let width = view.parts.root.clientWidth;
  const resized = () => {
    if (view.parts.root.clientWidth !== width) {
      width = view.parts.root.clientWidth;
      choose(view);
    }
  };
  new ResizeObserver(resized).observe(view.parts.root);
}

// What is selected.
function chosenIn({ state: { site, layer, head, isChosen }, parts: { scale } }) {
  return { site, layer, head, isChosen, scale: scale.value };
}

// Draws again, after the theme has changed.
function redraw(view) {
  readColors();
  buildAll(view);
  choose(view);
}

// Meaning of the rows and columns of each kind of attention. A row of the decoder is a position that reads one token
// and writes the next: self-attention rows are labeled with the token read, cross-attention rows with the token
// written.
function sitesOf({ src, tgt, written, tags }) {
  const tokens = (list) => list.map((token) => ({ token }));
  const then = (next) => (next ? `→ ${visible(next.token)} ${percent(next.probability)}` : "");
  return {
    encoder_self: {
      name: "Encoder self-attention",
      queries: "Source token that attends",
      keys: "to source tokens",
      rows: src.map((token, i) => ({ token, note: tags[i] ? named(tags[i]) : "" })),
      columns: tokens(src),
    },
    decoder_self: {
      name: "Decoder self-attention",
      queries: "Token just read, with the next one below",
      keys: "attends to the tokens read so far",
      rows: tgt.map((token, i) => ({ token, note: then(written[i]), written: written[i] })),
      columns: tokens(tgt),
    },
    cross: {
      name: "Cross-attention",
      queries: "Token written, with its probability",
      keys: "attends to source tokens",
      rows: tgt.map((token, i) => (written[i] ? { token: written[i].token, note: percent(written[i].probability), written: written[i] } : { token })),
      columns: tokens(src),
    },
  };
}

const mapsOf = (view, site) => view.data.maps.filter((map) => map.site === site);
const chosenMap = (view) => mapsOf(view, view.state.site)[view.state.layer];
const chosenSite = (view) => view.sites[view.state.site];
const headName = (head) => ({ [MEAN]: "average of the heads", [COLORED]: "all heads, in colors" })[head] ?? `head ${head + 1}`;
// Whether the mask of a decoder hides the token of a column from that of a row.
const isHidden = ({ state }, row, column) => state.site === "decoder_self" && column > row;
const weight = ({ matrix }, row, column) => matrix.weights[row * matrix.columns + column];
const top = (view, of) => (view.parts.scale.value === "largest" ? of.most || 1 : 1);

function weightsOf(view, map, head) {
  const weights = new Float32Array(map.rows * map.columns);
  const heads = head < 0 ? map.heads : [map.heads[head]];
  for (const numbers of heads) {
    numbers.forEach((number, i) => (weights[i] += number / view.data.units / heads.length));
  }
  const most = weights.reduce((most, weight) => Math.max(most, weight), 0);
  return { rows: map.rows, columns: map.columns, weights, most };
}

function fillControls(view) {
  const { parts, state, sites } = view;
  const present = Object.keys(sites).filter((site) => mapsOf(view, site).length);
  fillSelect(parts.site, present.map((site) => [site, sites[site].name]), state.site);
  const layers = mapsOf(view, state.site).map((_, layer) => [layer, `${layer + 1}`]);
  fillSelect(parts.layer, layers, state.layer);
  const heads = chosenMap(view).heads.map((_, head) => [head, `${head + 1}`]);
  const together = [[MEAN, "average"], [COLORED, "all, in colors"]];
  fillSelect(parts.head, [...(heads.length > 1 ? together : []), ...heads], state.head);
  parts.layer.closest("label").hidden = layers.length < 2;
  parts.head.closest("label").hidden = heads.length < 2;
}

// The chosen map in words; layers and heads only where there are several.
function chosenName(view) {
  const { site, layer, head } = view.state;
  const layers = mapsOf(view, site).length > 1 ? [`layer ${layer + 1}`] : [];
  const heads = chosenMap(view).heads.length > 1 ? [headName(head)] : [];
  return [chosenSite(view).name, ...layers, ...heads].join(", ");
}

// Draws everything that depends on the layer and the head.
function choose(view) {
  const { parts, state } = view;
  view.matrix = weightsOf(view, chosenMap(view), state.head);
  const most = top(view, view.matrix);
  view.picture = state.head === COLORED ? drawColored(view) : draw(view.matrix, most);
  parts.mapTitle.textContent = chosenName(view);
  parts.masked.hidden = state.site !== "decoder_self";
  showHues(view);
  parts.most.textContent = most.toFixed(most < 1 ? 2 : 0);
  for (const button of parts.all.querySelectorAll("button")) {
    const { layer, head } = button.dataset;
    button.setAttribute("aria-pressed", `${+layer === state.layer && +head === state.head}`);
  }
  arrange(view);
  measure(view);
  mark(view, state.row, state.column);
}

function chooseSite(view, site) {
  Object.assign(view.state, { site, ...mostTelling(view, site), isChosen: false, row: null, column: null });
  fillControls(view);
  buildSentence(view);
  buildAll(view);
  choose(view);
}

// Selects a row, a column, both, or, with `null` for both, nothing.
function mark(view, row, column) {
  Object.assign(view.state, { row, column });
  shadeSentence(view);
  drawLines(view);
  drawMap(view);
  readOut(view);
}

function listen(view) {
  const { parts, state } = view;
  parts.site.onchange = () => chooseSite(view, parts.site.value);
  for (const name of ["layer", "head"]) {
    parts[name].onchange = () => {
      Object.assign(state, { [name]: +parts[name].value, isChosen: true });
      choose(view);
    };
  }
  parts.scale.onchange = () => redraw(view);
  parts.map.onmousemove = (event) => {
    const cell = cellAt(view, event);
    if (cell) {
      mark(view, ...cell);
    }
  };
  parts.map.onkeydown = (event) => moveCell(view, event);
  parts.root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      mark(view, null, null);
    }
  });
  parts.controls.onsubmit = (event) => event.preventDefault();
}
