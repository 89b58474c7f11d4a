"""Compares the engine for web pages with the program, line by line, greedily and with beam 5, in f32 and int8, in node, Chromium and
Firefox, as far as they are there:

    scripts/web && cargo build --release && python3 scripts/web_lines.py MODEL SRC [LINES]

Prints how many texts are equal, the largest difference of scores, and every line that differs, with both scores.
"""

import functools
import http.server
import json
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "target" / "release" / "attentive"
MINUTES = 10
TRANSLATE = """async (load, address, lines, beam) => {
  const models = await load(address);
  const body = JSON.stringify({ text: lines, beam_width: beam, split_sentences: false, keep_placeables: false });
  const response = await models.fetch("/api/translate", { method: "POST", headers: { "content-type": "application/json" }, body });
  const { results } = await response.json();
  models.close();
  return results.map(({ translations: [best] }) => best);
}"""
IN_PAGE = f"""<!doctype html><script type="module">
import {{ load }} from "./engine/attentive.js";
const answer = (async () => ({TRANSLATE})(load, ".", ...(await (await fetch("task.json")).json())))();
const body = JSON.stringify(await answer.catch((error) => ({{ error: `${{error}}` }})));
await fetch("outcome", {{ method: "POST", body }});
</script>"""
IN_NODE = f"""import {{ readFileSync }} from "node:fs";
const {{ site, lines, beam }} = JSON.parse(readFileSync(0, "utf8"));
const {{ load }} = await import(`${{site}}/engine/attentive.js`);
console.log(JSON.stringify(await ({TRANSLATE})(load, `file://${{site}}`, lines, beam)));
"""
BROWSERS = {
    "Chromium": ["chromium", "--headless=new", "--no-sandbox", "--user-data-dir={profile}", "{page}"],
    "Firefox": ["firefox-esr", "--headless", "--no-remote", "--profile", "{profile}", "{page}"],
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """A folder, and what a page sends when it is done."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.server.outcomes.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()


def run(*command):
    return subprocess.run([PROGRAM, *map(str, command)], check=True, capture_output=True, text=True).stdout


def in_node(site, lines, beam):
    task = json.dumps({"site": str(site), "lines": lines, "beam": beam})
    command = ["node", "--input-type=module", "--eval", IN_NODE]
    return json.loads(subprocess.run(command, input=task, check=True, capture_output=True, text=True).stdout)


def in_browser(command, server, site, lines, beam):
    (site / "task.json").write_text(json.dumps([lines, beam]), encoding="utf-8")
    (site / "lines.html").write_text(IN_PAGE, encoding="utf-8")
    page = f"http://127.0.0.1:{server.server_port}/{site.name}/lines.html"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        arguments = [part.format(profile=profile, page=page) for part in command]
        browser = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            outcome = server.outcomes.get(timeout=60 * MINUTES)
        finally:
            browser.terminate()
            browser.wait()
    if "error" in outcome:
        raise SystemExit(f"{command[0]}: {outcome['error']}")
    return outcome


def main():
    model, source = map(pathlib.Path, sys.argv[1:3])
    lines = source.read_text(encoding="utf-8").split("\n")[: int(sys.argv[3]) if len(sys.argv) > 3 else 500]
    browsers = {name: command for name, command in BROWSERS.items() if shutil.which(command[0])}
    for name in BROWSERS:
        if name not in browsers:
            print(f"there is no {name} (`{BROWSERS[name][0]}`)")
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "lines")
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
        server.outcomes = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for precision in "f32", "int8":
            site = pathlib.Path(folder, precision)
            run("export", model, "--to", "web", "--precision", precision, "--output", site)
            for beam in 1, 5:
                own = run("translate", model, text, "--json", "--precision", precision, "--beam-width", beam).splitlines()
                own = [json.loads(line)["translations"][0] for line in own]
                compare(f"node, {precision}, beam {beam}", own, in_node(site, lines, beam))
                for name, command in browsers.items():
                    compare(f"{name}, {precision}, beam {beam}", own, in_browser(command, server, site, lines, beam))


def compare(what, own, found):
    pairs = list(zip(own, found, strict=True))
    same = [(one, other) for one, other in pairs if one["text"] == other["text"]]
    bits = sum(one["token_log_probs"] == other["token_log_probs"] for one, other in pairs)
    most = max((abs(one["score"] - other["score"]) for one, other in same), default=0)
    print(f"{what}: {len(same)} of {len(pairs)} texts equal, {bits} with equal bits; scores differ by at most {most}", flush=True)
    for number, (one, other) in enumerate(pairs, 1):
        if one["text"] != other["text"]:
            print(f"  line {number}: {one['score']} {one['text']!r}, {other['score']} {other['text']!r}", flush=True)


if __name__ == "__main__":
    main()
