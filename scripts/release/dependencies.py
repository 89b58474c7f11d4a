"""What a program consists of: its licenses and its software bill of materials.

    python3 scripts/release/dependencies.py MANIFEST TARGET     prints the licenses
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LICENSE_FILE = re.compile(r"^(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


@dataclass
class Dependencies:
    """The crates that a package is linked with, itself included."""

    root: dict
    crates: list

    @classmethod
    def of(cls, manifest, target):
        """The crates of the package of `manifest` for `target`, without those that only build or test it."""
        command = ["cargo", "metadata", "--format-version=1", "--locked", "--manifest-path", manifest]
        command += ["--filter-platform", target]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        metadata = json.loads(found.stdout)
        packages = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        root = metadata["resolve"]["root"]
        seen, rest = {root}, [root]
        while rest:
            for dependency in nodes[rest.pop()]["deps"]:
                linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
                if linked and dependency["pkg"] not in seen:
                    seen.add(dependency["pkg"])
                    rest.append(dependency["pkg"])
        crates = sorted((packages[id] for id in seen), key=lambda crate: (crate["name"], crate["version"]))
        return cls(packages[root], crates)

    @property
    def version(self):
        return self.root["version"]

    def foreign(self):
        """The crates that come from a registry."""
        return [crate for crate in self.crates if crate["source"]]

    def licenses(self):
        """The texts of all licenses, each once, with the crates that have it."""
        texts = {}
        for crate in self.foreign():
            folder = Path(crate["manifest_path"]).parent
            files = sorted(file for file in folder.iterdir() if LICENSE_FILE.match(file.name) and file.is_file())
            name = f"{crate['name']} {crate['version']} ({crate['license']})"
            if not files:
                texts.setdefault("(The crate contains no file with its license.)", []).append(name)
            for file in files:
                text = file.read_text(encoding="utf-8", errors="replace").strip()
                texts.setdefault(text, []).append(name)
        line = "=" * 79
        parts = [f"{line}\n{chr(10).join(names)}\n{line}\n\n{text}\n" for text, names in texts.items()]
        return "\n".join(parts)

    def sbom(self, name):
        """A bill of materials in the format CycloneDX 1.5."""
        def component(crate, kind):
            return {
                "type": kind,
                "name": crate["name"],
                "version": crate["version"],
                "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
                "licenses": [{"expression": crate["license"].replace("/", " OR ")}] if crate["license"] else [],
            }

        bill = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"component": {**component(self.root, "application"), "name": name}},
            "components": [component(crate, "library") for crate in self.foreign()],
        }
        return json.dumps(bill, indent=2) + "\n"


if __name__ == "__main__":
    print(Dependencies.of(*sys.argv[1:]).licenses(), end="")
