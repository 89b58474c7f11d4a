// The page of one sentence.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);

function start() {
  document.title = `Attention – ${data.title}`;
  element("title").textContent = data.title;
  element("warnings").replaceChildren(...data.warnings.map((text) => make("li", {}, text)));
  element("labels").textContent = data.labels.map(named).join(", ");
  if (!data.maps.length) {
    element("main").append(plain(data));
    return;
  }
  const view = attentionView(data);
  element("main").append(view.parts.root);
  showView(view);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      mark(view, null, null);
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw(view));
}

start();
