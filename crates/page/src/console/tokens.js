// Tokens shaded by their probabilities, and their alternatives.

const END = "</s>";

// A list of tokens `{ token, probability, alternatives? }` with `label`. The first `given` of them were chosen by the user.
// `choose(place, token)` is called for a chosen alternative.
function tokenList(label, tokens, given, choose) {
  const menu = make("div", { class: "alternatives", hidden: true });
  const list = make("div", { class: "tokens", role: "group", "aria-label": label });
  const buttons = tokens.map((token, place) => tokenButton(token, place < given));
  buttons.forEach((button, place) => {
    button.onclick = () => openAlternatives(menu, button, tokens[place], (token) => choose(place, token));
  });
  list.append(...buttons, menu);
  rove(list, ROW);
  return make("div", { class: "token-list" }, list);
}

function tokenButton({ token, probability, alternatives }, given) {
  const spoken = `${visible(token)}, ${percent(probability)}${given ? ", chosen" : ""}`;
  const button = make("button", { type: "button", class: given ? "token given" : "token", "aria-label": spoken, disabled: !alternatives });
  button.append(make("bdi", {}, visible(token)), make("small", {}, percent(probability)));
  if (alternatives) {
    button.setAttribute("aria-expanded", "false");
  }
  // The lower the probability, the stronger the shade.
  button.style.setProperty("--doubt", `${Math.round(60 * (1 - (probability ?? 0)))}%`);
  return button;
}

function closeAlternatives(menu) {
  menu.hidden = true;
  menu.replaceChildren();
  for (const open of menu.parentElement.querySelectorAll("[aria-expanded=true]")) {
    open.setAttribute("aria-expanded", "false");
  }
}

function openAlternatives(menu, button, written, choose) {
  const wasOpen = button.getAttribute("aria-expanded") === "true";
  closeAlternatives(menu);
  if (wasOpen) {
    return;
  }
  button.setAttribute("aria-expanded", "true");
  const all = [written, ...written.alternatives].sort((a, b) => b.probability - a.probability);
  const rows = all.map((one) => alternative(one, one === written, choose));
  const list = make("div", { role: "group", "aria-label": `Alternatives to ${visible(written.token)}` }, ...rows);
  menu.replaceChildren(make("div", {}, make("p", { class: "quiet" }, "Choose another token; the rest is generated again."), list));
  menu.hidden = false;
  // Below the row of the token.
  const row = [...menu.parentElement.querySelectorAll(":scope > button")].filter((one) => one.offsetTop === button.offsetTop);
  row.at(-1).after(menu);
  rove(list, COLUMN);
  menu.onkeydown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      closeAlternatives(menu);
      button.focus();
    }
  };
  list.querySelector("button:not([disabled])")?.focus();
}

// A probability as a bar and in figures.
function share(probability) {
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
  bar.firstChild.style.width = `${100 * probability}%`;
  return [bar, make("span", { class: "number" }, percent(probability))];
}

// Focuses the last token that the user has chosen, unless the user has gone elsewhere.
function focusChoice(panel) {
  if (document.activeElement === document.body) {
    [...panel.body.querySelectorAll(".token.given")].at(-1)?.focus();
  }
}

function alternative({ token, probability }, isWritten, choose) {
  const note = isWritten ? "written" : token === END ? "end" : "";
  const row = make("button", { type: "button", class: "alternative", disabled: note !== "" }, make("bdi", {}, visible(token)));
  row.append(make("small", {}, note), ...share(probability));
  row.onclick = () => choose(token);
  return row;
}

// The tokens of a translation, before their alternatives are known.
const scoredTokens = ({ tokens, token_log_probs: logs }) => tokens.map((token, at) => ({ token, probability: Math.exp(logs[at]) }));

const withoutEnd = (tokens) => (tokens.at(-1) === END ? tokens.slice(0, -1) : tokens);
