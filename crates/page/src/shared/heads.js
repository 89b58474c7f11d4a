// Overview of all heads, and the weights of the selection in words.

const SMALL = 128; // Longer side of a small map, in pixels.

function buildAll(view) {
  const layers = mapsOf(view, view.state.site).map((map, layer) => {
    const heads = map.heads.map((_, head) => small(view, map, layer, head));
    const mean = heads.length > 1 ? [small(view, map, layer, MEAN)] : [];
    return make("div", { class: "layer" }, make("span", {}, `layer ${layer + 1}`), ...heads, ...mean);
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
  const button = make("button", { type: "button", class: "small", title: map.name, "aria-label": label }, canvas, head === MEAN ? "average" : headName(head));
  Object.assign(button.dataset, { layer, head });
  button.onclick = () => {
    Object.assign(view.state, { layer, head });
    fillControls(view);
    choose(view);
  };
  return button;
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
  if (row !== null && column !== null) {
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
