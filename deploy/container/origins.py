# SPDX-License-Identifier: Apache-2.0
"""Origins of the files in a container image: Debian packages and Python wheels, with version, licence texts and digests."""
import dataclasses
import hashlib
import pathlib
import re
import subprocess
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Origin:
    """A package whose files are copied into a container image, or whose headers are compiled into a program."""

    kind: str  # "deb" or "pypi"
    name: str
    version: str
    purl: str  # https://github.com/package-url/purl-spec
    source: str = ""  # Debian's source package
    digest: str = ""  # SHA-256 of the wheel
    homepage: str = ""


def sha256(path: pathlib.Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def debian_fields(package: str, *fields: str) -> list[str]:
    form = "\\x1f".join(f"${{{field}}}" for field in fields).replace("\\x1f", "\x1f")
    return subprocess.run(["dpkg-query", "-W", "-f=" + form, package], check=True, capture_output=True,
                          text=True).stdout.split("\x1f")


def debian_purl(package: str, version: str, architecture: str) -> str:
    return f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}&distro=debian-12"


class Debian:
    """The dpkg database of this machine."""

    def __init__(self) -> None:
        self.origins: dict[str, Origin] = {}
        # Reads dpkg's file lists once; `dpkg -S` would read them again for every file.
        self.owners = {path: file.name.removesuffix(".list")
                       for file in pathlib.Path("/var/lib/dpkg/info").glob("*.list") for path in file.read_text().splitlines()}

    def owner(self, path: pathlib.Path) -> Optional[Origin]:
        """Returns the package that installed `path`, or None. /lib and /usr/lib are one folder since usrmerge."""
        text = str(path.resolve())
        name = self.owners.get(text) or self.owners.get(text.removeprefix("/usr"))
        return self.package(name) if name else None

    def package(self, name: str) -> Origin:
        if name not in self.origins:
            package, version, architecture, source, homepage = debian_fields(
                name, "Package", "Version", "Architecture", "source:Package", "Homepage")
            purl = debian_purl(package, version, architecture)
            self.origins[name] = Origin("deb", package, version, purl, source=source, homepage=homepage)
        return self.origins[name]

    @staticmethod
    def control(origin: Origin) -> str:
        """Returns the package's stanza in dpkg's status file, for scanners that read /var/lib/dpkg/status.d."""
        return subprocess.run(["dpkg-query", "-s", origin.name], check=True, capture_output=True, text=True).stdout

    @staticmethod
    def copyright(origin: Origin) -> Optional[pathlib.Path]:
        path = pathlib.Path("/usr/share/doc") / origin.name / "copyright"
        return path if path.exists() else None


def closure(binary: pathlib.Path) -> dict[str, pathlib.Path]:
    """Returns the paths of all shared libraries that `binary` needs, directly or indirectly. The keys are the libraries' sonames."""
    text = subprocess.run(["ldd", str(binary)], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    if missing:
        raise SystemExit(f"{binary} lacks {', '.join(missing)} on this machine")
    found = {name: pathlib.Path(path) for name, path in re.findall(r"^\s*(\S+) => (/\S+)", text, re.M)}
    for path in re.findall(r"^\s*(/\S*/ld-linux\S*)", text, re.M):
        found[pathlib.Path(path).name] = pathlib.Path(path)
    return found


def compiled_in(build: pathlib.Path, targets: list[str], debian: Debian, shared: set[str]) -> list[Origin]:
    """Returns the packages whose headers or fonts are compiled into the targets, except packages whose source package is in
    `shared`."""
    ninja = ["ninja", "-C", str(build), "-t"]
    objects = set(subprocess.run([*ninja, "inputs", *targets], check=True, capture_output=True, text=True).stdout.split())
    headers, wanted = {name for name in objects if name.startswith("/usr/share/fonts/")}, False
    for line in subprocess.run([*ninja, "deps"], check=True, capture_output=True, text=True).stdout.splitlines():
        if not line.startswith(" "):
            wanted = line.split(":")[0] in objects
        elif wanted and line.strip().startswith("/usr/include/"):
            headers.add(line.strip())
    origins = {debian.owner(pathlib.Path(header)) for header in headers} - {None}
    return sorted((o for o in origins if o.source not in shared), key=lambda o: o.name)


def pinned(requirements: list[pathlib.Path]) -> list[Origin]:
    """Returns the packages that files with lines NAME==VERSION --hash=sha256:DIGEST pin."""
    lines = [line for file in requirements for line in file.read_text().splitlines()]
    found = [re.match(r"([\w.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})", line) for line in lines]
    return [Origin("pypi", name, version, f"pkg:pypi/{name}@{version}", digest=digest)
            for name, version, digest in (match.groups() for match in found if match)]


class Wheels:
    """Wheels that are unpacked in a folder. The RECORD of a wheel lists its files."""

    def __init__(self, site: pathlib.Path, requirements: list[pathlib.Path]) -> None:
        self.site = site
        pins = {origin.name: origin for origin in pinned(requirements)}
        self.members: dict[str, Origin] = {}
        self.info: dict[str, pathlib.Path] = {}
        for info in sorted(site.glob("*.dist-info")):
            name, version = info.name.removesuffix(".dist-info").split("-", 1)
            name = name.lower().replace("_", "-")
            origin = pins.get(name, Origin("pypi", name, version, f"pkg:pypi/{name}@{version}"))
            if origin.version != version:
                raise SystemExit(f"{info} is version {version}, but {origin.version} is pinned")
            self.info[name] = info
            for line in (info / "RECORD").read_text().splitlines():
                self.members[line.rsplit(",", 2)[0].strip('"')] = origin

    def owner(self, path: pathlib.Path) -> Optional[Origin]:
        """Returns the wheel from which `path` was unpacked, or None."""
        try:
            return self.members.get(str(path.resolve().relative_to(self.site.resolve())))
        except ValueError:
            return None

    def licences(self, origin: Origin) -> list[pathlib.Path]:
        """Returns the licence texts of a wheel. If it has no licence texts, returns its metadata, which names the licence."""
        info = self.info[origin.name]
        texts = [p for p in sorted(info.rglob("*")) if p.is_file() and p.name.upper().startswith(("LICEN", "NOTICE", "COPYING"))]
        return texts or [info / "METADATA"]
