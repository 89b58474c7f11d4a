// The sentence of a model without attention.

function plain(data) {
  const chips = (labels) => make("div", { class: "tokens" }, ...labels.map((label) => chip(label)));
  const hint = (text) => make("p", { class: "quiet" }, text);
  const { rows, columns, queries } = sitesOf(data).cross;
  if (data.labels.length) {
    return make("div", {}, hint("This model has no attention."), make("h4", {}, "Text"), chips(columns));
  }
  const why = "This model has no attention: its decoder sees the source only through the encoder's final state.";
  return make("div", {}, hint(why), make("h4", {}, queries), chips(rows), make("h4", {}, "Source"), chips(columns));
}
