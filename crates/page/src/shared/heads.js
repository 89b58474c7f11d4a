// Overview of all heads, and the weights of the selection in words.

const SMALL = 128; // Longer side of a small map, in pixels.

// How much the attending token tells about what it attends to, in bits: the mutual information of a row, all being equally likely,
// and a column drawn by the weights of the row. It is high where rows are sharp and differ, and 0 where all rows are the same.
function information({ rows, columns, weights }) {
  const mean = new Float64Array(columns);
  let within = 0; // The entropy of a row, on average.
  weights.forEach((weight, i) => {
    mean[i % columns] += weight / rows;
    within += entropy(weight) / rows;
  });
  return Math.max(mean.reduce((sum, share) => sum + entropy(share), 0) - within, 0);
}

const entropy = (share) => (share > 0 ? -share * Math.log2(share) : 0);

// The layer and head with the most information. Among equals, the last layer, which is nearest to the output.
function mostTelling(view, site) {
  let best = { layer: 0, head: 0, bits: -1 };
  mapsOf(view, site).forEach((map, layer) =>
    map.heads.forEach((_, head) => {
      const bits = information(weightsOf(view, map, head));
      best = bits > best.bits || (bits === best.bits && layer > best.layer) ? { layer, head, bits } : best;
    }),
  );
  return { layer: best.layer, head: best.head };
}

function buildAll(view) {
  const maps = mapsOf(view, view.state.site);
  const layers = maps.map((map, layer) => {
    const heads = map.heads.map((_, head) => small(view, map, layer, head));
    const mean = heads.length > 1 ? [small(view, map, layer, MEAN)] : [];
    const name = maps.length > 1 ? [make("span", {}, `layer ${layer + 1}`)] : [];
    return make("div", { class: "layer" }, ...name, ...heads, ...mean);
  });
  view.parts.all.replaceChildren(...layers);
  view.parts.every.hidden = view.parts.all.querySelectorAll("button").length < 2;
}

function small(view, map, layer, head) {
  const of = weightsOf(view, map, head);
  const canvas = draw(of, top(view, of));
  const size = SMALL / Math.max(map.rows, map.columns);
  canvas.style.width = `${map.columns * size}px`;
  canvas.style.height = `${map.rows * size}px`;
  const label = `layer ${layer + 1}, ${headName(head)}`;
  const button = make("button", { type: "button", class: "small", title: `${map.name}: ${information(of).toFixed(2)} bits of information`, "aria-label": label }, canvas, head === MEAN ? "average" : headName(head));
  Object.assign(button.dataset, { layer, head });
  button.onclick = () => {
    Object.assign(view.state, { layer, head, isChosen: true });
    fillControls(view);
    choose(view);
  };
  return button;
}

// The weights of each head of the chosen map, by themselves.
function headsOf(view) {
  const map = chosenMap(view);
  return map.heads.map((_, head) => weightsOf(view, map, head));
}

// The picture of all heads, each in its color.
function drawColored(view) {
  const all = headsOf(view);
  const most = Math.max(...all.map((of) => top(view, of)));
  const { rows, columns } = view.matrix;
  return drawMixed({ rows, columns, heads: all.map(({ weights }) => weights) }, most);
}

// Says which color is which head, where they are drawn in colors.
function showHues(view) {
  const { hues } = view.parts;
  hues.hidden = view.state.head !== COLORED;
  const sample = (head) => make("span", { class: "hue", style: `--hue: rgb(${hue(head)})` }, headName(head));
  hues.replaceChildren(...(hues.hidden ? [] : chosenMap(view).heads.map((_, head) => sample(head))));
}

const bold = (token) => make("b", {}, visible(token));

function readOut(view) {
  const { matrix, state, parts } = view;
  const site = chosenSite(view);
  const { row, column } = state;
  // The three largest of `count` weights, with their tokens.
  const largest = (count, of, labels) => {
    const order = [...Array(count).keys()].sort((a, b) => of(b) - of(a)).slice(0, 3);
    return order.flatMap((at, place) => [place ? ", " : " ", bold(labels[at].token), ` ${of(at).toFixed(3)}`]);
  };
  let words = ["Point at a token or a cell to see its weights."];
  if (row !== null && column !== null && isHidden(view, row, column)) {
    words = ["The mask hides ", bold(site.columns[column].token), " from ", bold(site.rows[row].token), ", which sees only itself and what comes before"];
  } else if (row !== null && column !== null) {
    words = [bold(site.rows[row].token), " attends to ", bold(site.columns[column].token), ` with weight ${weight(view, row, column).toFixed(3)}`];
  } else if (row !== null) {
    words = [bold(site.rows[row].token), " attends most to", ...largest(matrix.columns, (at) => weight(view, row, at), site.columns)];
  } else if (column !== null) {
    words = [bold(site.columns[column].token), " is attended to most by", ...largest(matrix.rows, (at) => weight(view, at, column), site.rows)];
  }
  parts.readout.replaceChildren(...words, ...instead(site.rows[row]?.written));
}

// The alternatives to a token.
function instead(written) {
  if (!written?.alternatives.length) {
    return [];
  }
  const others = written.alternatives.map(({ token, probability }) => `${visible(token)} ${percent(probability)}`);
  return [make("span", { class: "instead" }, "In place of ", bold(written.token), ` (${percent(written.probability)}): ${others.join(" · ")}`)];
}
