// Highlights a sentence and its counterpart: under the mouse, with the focus, and at the caret.

let lit = null; // The place of the sentences that are lit.

// Highlights the sentences that overlap `place` of the source, or none.
function light(place) {
  if (place === lit) {
    return;
  }
  lit = place;
  for (const node of document.querySelectorAll(".sentence")) {
    const own = placeOf.get(node);
    node.classList.toggle("lit", Boolean(place && own && own.start < place.end && place.start < own.end));
  }
}

const sentenceOf = (target) => target.closest?.(".sentence") ?? null;

// Listens to the sentences of a translation: they are one tab stop, and `choose(number)` is called for a pressed one.
function listenToSentences(result, choose) {
  const all = () => [...result.querySelectorAll(".sentence")];
  const over = (event) => light(placeOf.get(sentenceOf(event.target)) ?? null);
  result.onmouseover = over;
  result.onmouseleave = () => light(placeOf.get(sentenceOf(document.activeElement)) ?? null);
  result.addEventListener("focusin", (event) => {
    over(event);
    tabStop(result, sentenceOf(event.target));
  });
  result.addEventListener("focusout", () => light(null));
  result.onclick = (event) => {
    const at = all().indexOf(sentenceOf(event.target));
    // A click at the end of a selection selects nothing.
    if (at >= 0 && getSelection().isCollapsed) {
      choose(at);
    }
  };
  result.onkeydown = (event) => {
    const sentences = all();
    const at = sentences.indexOf(event.target);
    if (at < 0) {
      return;
    }
    const to = moved(event, at, sentences.length, { ...ROW, ...COLUMN });
    if (to !== null) {
      sentences[to].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(at);
    }
  };
}

// Makes `chosen`, or the first sentence, the one that the tab key reaches.
function tabStop(result, chosen) {
  const all = [...result.querySelectorAll(".sentence")];
  all.forEach((node) => (node.tabIndex = -1));
  (all.includes(chosen) ? chosen : all[0])?.setAttribute("tabindex", "0");
}

// Listens to the field of the source, which lies in front of its sentences.
function listenToSource() {
  const field = element("text");
  const within = (node) => element("mirror").contains(node) && sentenceOf(node);
  field.onmousemove = ({ clientX, clientY }) => {
    const found = document.elementsFromPoint(clientX, clientY).find(within);
    light(found ? placeOf.get(found) : null);
  };
  field.onmouseleave = () => light(null);
  field.onblur = () => light(null);
  field.onclick = () => lightCaret(field);
  field.onkeyup = ({ key }) => /^(Arrow|Home|End|Page)/.test(key) && lightCaret(field);
}

function lightCaret({ selectionStart: at }) {
  const places = [...element("mirror").querySelectorAll(".sentence")].map((node) => placeOf.get(node));
  light(places.length > 1 ? (places.find(({ start, end }) => start <= at && at <= end) ?? null) : null);
}
