"""The console of a server in Chromium, driven by `chromedriver` (Debian: `chromium-driver`)."""

import json
import re
import shutil
import subprocess
import threading
import time
import urllib.request

from serving import Failure

OPTIONS = ["--headless=new", "--no-sandbox", "--window-size=1400,1000"]
TRANSLATED = "return !!document.querySelector('.result .sentence') && !document.querySelector('[aria-busy]')"
PUT = """
    const field = document.getElementById('text');
    field.value = arguments[0];
    field.dispatchEvent(new Event('input'));
"""
SHOWN = "return document.querySelector('.result .text').textContent"


class Browser:
    """A browser; see the WebDriver standard (W3C) for its commands."""

    def __init__(self):
        if not shutil.which("chromedriver"):
            raise Failure("there is no `chromedriver` on the path (Debian: `chromium-driver`)")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                break
        else:
            raise Failure("chromedriver does not start")
        # Whatever else it says must be read, or it stops.
        threading.Thread(target=self.driver.stdout.read, daemon=True).start()
        self.address = f"http://127.0.0.1:{found[1]}/session"
        wanted = {"alwaysMatch": {"goog:chromeOptions": {"args": OPTIONS}}}
        try:
            self.address += "/" + self.command("", {"capabilities": wanted})["sessionId"]
        except OSError as error:
            self.driver.kill()
            raise Failure(f"the browser does not start: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *error):
        urllib.request.urlopen(urllib.request.Request(self.address, method="DELETE")).close()
        self.driver.terminate()
        self.driver.wait()

    def command(self, path, body):
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            return json.load(response)["value"]

    def run(self, script, *arguments):
        """What JavaScript returns."""
        return self.command("/execute/sync", {"script": script, "args": arguments})

    def translation(self, url, text, patience=60):
        """What the page shows as the translation of `text`, with its blanks."""
        self.command("/url", {"url": url})
        # What was typed before outlasts reloading the page.
        self.run("sessionStorage.clear()")
        self.command("/refresh", {})
        end = time.monotonic() + patience
        while not self.run("return document.getElementById('model')?.value"):
            if time.monotonic() > end:
                raise Failure("the page shows no model")
            time.sleep(0.05)
        self.run(PUT, text)
        time.sleep(0.5)
        while not self.run(TRANSLATED):
            if time.monotonic() > end:
                raise Failure("the page does not come to an end")
            time.sleep(0.05)
        return self.run(SHOWN)
