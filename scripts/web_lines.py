"""Compares the engine for web pages with the program, line by line, greedily and with beam 5, in f32 and int8, in node and Chromium:

    scripts/web && cargo build --release && python3 scripts/web_lines.py MODEL SRC [LINES]

Prints how many texts are equal, the largest difference of scores, and every line that differs, with both scores. Needs node and
chromedriver (Debian: nodejs, chromium-driver).
"""

import functools
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

from browser import Browser

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
IN_CHROMIUM = f"""const all = arguments;
return import("./engine/attentive.js").then(({{ load }}) => ({TRANSLATE})(load, ".", ...all));
"""
IN_NODE = f"""import {{ readFileSync }} from "node:fs";
const {{ site, lines, beam }} = JSON.parse(readFileSync(0, "utf8"));
const {{ load }} = await import(`${{site}}/engine/attentive.js`);
console.log(JSON.stringify(await ({TRANSLATE})(load, `file://${{site}}`, lines, beam)));
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def run(*command):
    return subprocess.run([PROGRAM, *map(str, command)], check=True, capture_output=True, text=True).stdout


def in_node(site, lines, beam):
    task = json.dumps({"site": str(site), "lines": lines, "beam": beam})
    command = ["node", "--input-type=module", "--eval", IN_NODE]
    return json.loads(subprocess.run(command, input=task, check=True, capture_output=True, text=True).stdout)


def main():
    model, source = map(pathlib.Path, sys.argv[1:3])
    lines = source.read_text(encoding="utf-8").split("\n")[: int(sys.argv[3]) if len(sys.argv) > 3 else 500]
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "lines")
        text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        handler = functools.partial(Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Browser() as browser:
            browser.command("/timeouts", {"script": 60_000 * MINUTES})
            for precision in "f32", "int8":
                site = pathlib.Path(folder, precision)
                run("export", model, "--to", "web", "--precision", precision, "--output", site)
                browser.command("/url", {"url": f"http://127.0.0.1:{server.server_port}/{precision}/"})
                for beam in 1, 5:
                    own = run("translate", model, text, "--json", "--precision", precision, "--beam-width", beam).splitlines()
                    own = [json.loads(line)["translations"][0] for line in own]
                    compare(f"node, {precision}, beam {beam}", own, in_node(site, lines, beam))
                    compare(f"Chromium, {precision}, beam {beam}", own, browser.run(IN_CHROMIUM, lines, beam))


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
