"""Compares the engine for web pages in Chromium with the program, line by line, as scripts/web_lines.mjs does in node:

    scripts/web && cargo build --release && python3 scripts/web_lines.py MODEL SRC [LINES]

Needs chromedriver (Debian: chromium-driver).
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
TRANSLATE = """
    const [lines, beam] = arguments;
    return (async () => {
      const { load } = await import("./engine/attentive.js");
      const models = await load(".");
      const body = JSON.stringify({ text: lines, beam_width: beam, split_sentences: false, keep_placeables: false });
      const response = await models.fetch("/api/translate", { method: "POST", headers: { "content-type": "application/json" }, body });
      const { results } = await response.json();
      models.close();
      return results.map(({ translations: [best] }) => best);
    })();
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def run(*command):
    return subprocess.run([PROGRAM, *map(str, command)], check=True, capture_output=True, text=True).stdout


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
                run("export", model, "--to", "web", "--precision", precision, "--output", pathlib.Path(folder, precision))
                browser.command("/url", {"url": f"http://127.0.0.1:{server.server_port}/{precision}/"})
                for beam in 1, 5:
                    own = run("translate", model, text, "--json", "--precision", precision, "--beam-width", beam).splitlines()
                    own = [json.loads(line)["translations"][0] for line in own]
                    compare(f"{precision}, beam {beam}", own, browser.run(TRANSLATE, lines, beam))


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
