"""The package for Debian and its relatives. It installs a service, which is started by who enables its socket."""

import gzip
import os
import subprocess
import tempfile
from email.utils import formatdate
from pathlib import Path

from program import ROOT

FILES = Path(__file__).parent / "files"
PLACES = {
    "attentive.service": "usr/lib/systemd/system/attentive.service",
    "attentive.socket": "usr/lib/systemd/system/attentive.socket",
    "sysusers.conf": "usr/lib/sysusers.d/attentive.conf",
    "serve.toml": "etc/attentive/serve.toml",
}


def build(program, output):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        put(root / "usr/bin/attentive", program.binary.read_bytes(), 0o755)
        for path, content in program.documents():
            put(root / "usr/share" / path, content, 0o644)
        documents = root / "usr/share/doc/attentive"
        put(documents / "copyright", (FILES / "copyright").read_bytes() + (ROOT / "LICENSE-MIT").read_bytes(), 0o644)
        changes = (FILES / "changelog").read_text().format(version=program.version, date=formatdate(program.epoch))
        put(documents / "changelog.gz", gzip.compress(changes.encode(), mtime=0), 0o644)
        for name, place in PLACES.items():
            put(root / place, (FILES / name).read_bytes(), 0o644)
        size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024
        control = (FILES / "control").read_text().format(
            version=program.version, size=size, architecture=program.target.debian
        )
        put(root / "DEBIAN/control", control.encode(), 0o644)
        put(root / "DEBIAN/conffiles", b"/etc/attentive/serve.toml\n", 0o644)
        for script in ["postinst", "prerm"]:
            put(root / "DEBIAN" / script, (FILES / script).read_bytes(), 0o755)
        file = output / f"attentive_{program.version}_{program.target.debian}.deb"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(program.epoch)}
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, file]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return file


def put(file, content, mode):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(mode)
