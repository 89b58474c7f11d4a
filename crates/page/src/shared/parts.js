// The elements of a view of attention.

function viewParts() {
  const parts = { ...controlParts(), ...sentenceParts(), ...mapParts() };
  parts.readout = make("p", { class: "readout", role: "status", id: unique("readout") });
  parts.map.setAttribute("aria-describedby", parts.readout.id);
  const maps = make("div", { class: "maps" }, parts.mapSection, parts.every);
  parts.root = make("div", { class: "view" }, parts.controls, make("div", { class: "look" }, parts.sentence, parts.readout, maps));
  return parts;
}

function controlParts() {
  const [site, layer, head, scale] = [make("select"), make("select"), make("select"), make("select")];
  scale.append(new Option("from 0 to 1", "whole"), new Option("from 0 to the map's largest weight", "largest"));
  const most = make("span");
  const legend = make("span", { class: "legend", "aria-hidden": "true" }, make("span", {}, "0"), make("span", { class: "ramp" }), most);
  const label = (text, select) => make("label", {}, `${text} `, select);
  const labels = [label("Attention", site), label("Layer", layer), label("Head", head), label("Colors", scale)];
  return { site, layer, head, scale, most, controls: make("form", { class: "controls" }, ...labels, legend) };
}

function sentenceParts() {
  const title = make("h3", { id: unique("sentence") }, "By sentence");
  const hint = make("p", { class: "quiet" }, "Point at a token, or move to it with the Tab and arrow keys, to see what it attends to or what attends to it.");
  const [queriesTitle, keysTitle] = [make("h4"), make("h4")];
  const [queries, keys] = [make("div", { class: "tokens" }), make("div", { class: "tokens" })];
  const drawing = make("template", { innerHTML: "<svg aria-hidden=true></svg>" });
  const lines = drawing.content.firstChild;
  const pair = make("div", { class: "pair" }, lines, queriesTitle, queries, keys, keysTitle);
  const sentence = make("section", { "aria-labelledby": title.id }, title, hint, pair);
  return { queriesTitle, queries, keysTitle, keys, lines, pair, sentence };
}

const ALL_HINT = "Select a head to enlarge it. Until you do, it is the one that tells most: whose rows are sharp and differ from each other.";

function mapParts() {
  const mapTitle = make("h3", { id: unique("map") });
  const map = make("canvas", { tabIndex: 0, role: "application", "aria-labelledby": mapTitle.id });
  const hint = make("p", { class: "quiet" }, "Each row is an attending token, each column an attended one. Point at a cell, or move with the arrow keys.");
  const masked = make("p", { class: "quiet" }, "Striped cells are hidden by the mask: a token sees only itself and the tokens before it.");
  const hues = make("p", { class: "hues" });
  const mapFrame = make("div", { class: "map-frame" }, map);
  const mapSection = make("section", { "aria-labelledby": mapTitle.id }, mapTitle, hint, masked, hues, mapFrame);
  const allTitle = make("h3", { id: unique("heads") }, "All heads");
  const all = make("div", { class: "all" });
  const every = make("section", { "aria-labelledby": allTitle.id }, allTitle, make("p", { class: "quiet" }, ALL_HINT), all);
  return { mapTitle, map, masked, hues, mapFrame, mapSection, all, every };
}
