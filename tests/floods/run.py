#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Floods vitrine-server, and measures the latency of honest callers at the same time.

The server runs on core 0. Attackers (127.0.0.66, at nice 10) and honest callers (127.0.0.1) run on core 1. Each flood
has its own server. Honest callers run alone for a third of --seconds (the base), then together with the flood. Two of
them call Check, two call Classify with 28x28 images, and one opens a connection for each Check ("fresh").

  run.py build/bin/vitrine-server                         every flood, and the scenarios
  run.py build/bin/vitrine-server --only reset,ping --seconds 5 --out /tmp/floods
  run.py build/bin/vitrine-server -- --max-concurrent-streams 128      flags for the server
  run.py --command './server {port}' --tools build/bin    another gRPC server, without its metrics

Bounds of a flood: no failed call, p99 of Check and Classify at most base + 50 ms (goal 20 ms), memory growth at most
50 MB (goal 20 MB). Scenarios and their bounds:

proxy      1,000 users of a proxy call an overloaded server. Most of their calls, at least 1,000, are reset at their
           deadline. The server closes no connection.
unread     Clients have window 0. Memory is at most the budget of answers + 100 MB, and the gauge is exact to 2 %.
get-model  Three clients call GetModel with 64 sizes. p99 of Classify is at most twice the base.

Exit status: 0 if each row meets its bounds, otherwise 1. One run takes about 4 minutes."""
import argparse
import array
import json
import os
import random
import re
import resource
import shlex
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLOODS = ("reset provoked-reset continuation settings ping empty-data empty-headers binary-headers window-update "
          "priority hpack-bomb ignored slow-preface window-0 tls-handshakes connect-and-leave slow-bodies").split()
SCENARIOS = ["proxy", "unread", "get-model"]
CLASSES, ANSWER_BUDGET = 21843, 128 << 20
MEGA = 1e6


def varint(value):
    out = b""
    while value >= 128:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def size_message(height, width):
    return field(1, height) + field(2, width)


def noise_png(side):
    """Returns a grey image of random pixels."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + random.Random(side).randbytes(side) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_wide_model(path):
    """Writes random weights for timm's vit_tiny_patch16_224 with many classes, and writes the labels."""
    width, tensors, block = 192, {"cls_token": (1, 1, 192), "pos_embed": (1, 197, 192)}, {}
    tensors |= {"patch_embed.proj.weight": (width, 3, 16, 16), "patch_embed.proj.bias": (width,)}
    for name, out, into in (("attn.qkv", 3, 1), ("attn.proj", 1, 1), ("mlp.fc1", 4, 1), ("mlp.fc2", 1, 4)):
        block |= {name + ".weight": (out * width, into * width), name + ".bias": (out * width,)}
    block |= {f"norm{i}.{part}": (width,) for i in (1, 2) for part in ("weight", "bias")}
    tensors |= {f"blocks.{i}.{name}": shape for i in range(12) for name, shape in block.items()}
    tensors |= {"norm.weight": (width,), "norm.bias": (width,), "head.weight": (CLASSES, width)}
    tensors |= {"head.bias": (CLASSES,)}
    source = random.Random(1)
    some = array.array("f", (source.gauss(0, 0.02) for _ in range(99991))).tobytes()
    header, data, at = {}, [], 0
    for name, shape in tensors.items():
        size = 4
        for side in shape:
            size *= side
        data.append((some * (size // len(some) + 1))[:size])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data))
    with open(path + ".labels", "w") as file:
        file.writelines(f"n{i:08d} some species of thing {i}\n" for i in range(CLASSES))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server on core 0 with limited address space. `flags`: the server's flags."""

    def __init__(self, run, flags=(), repository=None):
        self.address, self.metrics_address = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.has_metrics = not run.options.command
        if run.options.command:
            command = shlex.split(run.options.command.replace("{port}", self.address.split(":")[1]))
        else:
            command = [run.options.server, "--repository", repository or run.options.repository, "--pin", "off",
                       "--listen", self.address, "--metrics", self.metrics_address, *flags, *run.options.flags]
        self.log = open(os.path.join(run.folder, "server.log"), "wb")
        self.process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=self.log, stderr=self.log)
        self.wait_until_ready()
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (run.options.address_space << 20,) * 2)
        self.most, self.over = 0, threading.Event()
        threading.Thread(target=self.sample, daemon=True).start()

    def wait_until_ready(self):
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"the server has ended with {self.process.returncode}: see {self.log.name}")
            try:
                if self.has_metrics:
                    return urllib.request.urlopen(f"http://{self.metrics_address}/readyz", timeout=5).close()
                return socket.create_connection(self.address.split(":")).close()
            except OSError:
                time.sleep(0.1)
        sys.exit("the server does not become ready")

    def rss(self):
        try:
            with open(f"/proc/{self.process.pid}/status") as file:
                return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024
        except (OSError, TypeError):
            return 0

    def sample(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, self.rss())

    def metrics(self):
        """Returns the metrics' values by name with labels; an empty dict if the server has no metrics."""
        try:
            with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=10) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and line[0] != "#"}

    def closed(self):
        """Returns the number of closed connections by reason."""
        name = re.compile(r'vitrine_connections_closed_total\{.*reason="(\w+)"')
        found = {}
        for key, value in self.metrics().items():
            if match := name.match(key):
                found[match[1]] = found.get(match[1], 0) + int(value)
        return found

    def stop(self):
        """Stops the server. Returns its exit status if it had already ended, else None."""
        self.over.set()
        status = self.process.poll()
        if status is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        return status


class Run:
    def __init__(self, options, folder):
        self.options, self.folder, self.tools = options, folder, options.tools or os.path.dirname(options.server)
        small = field(1, "kv-pos-mnist") + field(3, noise_png(28))
        wide = field(1, "wide") + field(3, noise_png(16)) + field(5, CLASSES) + field(6, size_message(16, 16))
        sizes = field(1, "imagenet") + b"".join(field(3, size_message(224 + 16 * i, 64 + 16 * j)) for i in range(8)
                                                for j in range(8))
        slow = field(1, "eit-mini-cifar10") + field(3, noise_png(32))
        for name, message in (("small", small), ("slow", slow), ("wide", wide), ("sizes", sizes)):
            with open(self.path(name), "wb") as file:
                file.write(message)
        self.certificate = self.path("certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.path("key.pem"),
                        "-out", self.certificate], check=True, stderr=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def honest(self, server, seconds, message="small", flags=()):
        command = [os.path.join(self.tools, "honest"), server.address, "--seconds", str(seconds),
                   "--message", self.path(message), *flags]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def flood(self, server, name, seconds, *flags):
        command = ["nice", "-n", "10", os.path.join(self.tools, "flood"), server.address, name, "--seconds",
                   str(seconds), "--source", "127.0.0.66", *flags]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def attack(self, server, name, *flags, honest_flags=()):
        """Runs one flood. Returns its row of results, which has the latencies of honest callers alone ("base") and together
        with the flood ("beside")."""
        seconds = self.options.seconds
        base = read(self.honest(server, max(2, seconds / 3), flags=honest_flags))
        before, closed = server.rss(), server.closed()
        server.most = before
        flood = self.flood(server, name, seconds, *flags)
        beside = read(self.honest(server, seconds, flags=honest_flags))
        sent = read(flood)
        after = server.closed()
        reasons = {reason: count - closed.get(reason, 0) for reason, count in after.items()}
        return {"flood": name, "base": base, "beside": beside, "sent": sent, "rss_before": before,
                "rss_most": server.most, "load": os.getloadavg()[0],
                "closed": {reason: count for reason, count in reasons.items() if count}}

    def run_flood(self, name):
        flags, honest_flags = [], []
        if name == "tls-handshakes":
            flags = ["--tls-cert", self.certificate, "--tls-key", self.path("key.pem")]
            honest_flags = ["--authority", self.certificate]
        server = Server(self, flags)
        row = self.attack(server, name, "--connections", str(self.options.connections), "--message", self.path("small"),
                          honest_flags=honest_flags)
        row["exit"] = server.stop()
        failed = {kind: calls["failed"] for kind, calls in row["beside"].items()}
        later = max(row["beside"][kind]["p99_ms"] - row["base"][kind]["p99_ms"] for kind in ("check", "classify"))
        growth = (row["rss_most"] - row["rss_before"]) / MEGA
        row |= {"failures": sum(failed.values()), "later_ms": later, "growth_mb": growth}
        is_up = row["exit"] is None and not row["failures"]
        row["verdict"] = ("goal" if is_up and later <= 20 and growth <= 20 else
                          "must" if is_up and later <= 50 and growth <= 50 else "MISSED")
        if not is_up:
            row["why"] = row["exit"] and f"exit {row['exit']}" or next(
                f"{kind}: {calls['first_failure']}" for kind, calls in row["beside"].items() if calls["failed"])
        return row

    def run_proxy(self):
        server = Server(self)
        row = self.attack(server, "proxy", "--connections", "4", "--in-flight", "250", "--rate", "12000",
                          "--deadline", "0.02", "--message", self.path("slow"))
        row["exit"], sent = server.stop(), row["sent"]
        is_let = not sent["cut_off"] and not sent["goaways"] and row["exit"] is None
        is_overloaded = sent["given_up"] >= max(1000, sent["begun"] / 2)
        row["verdict"] = "must" if is_let and is_overloaded else "MISSED"
        row["why"] = (f"{sent['begun']} calls, {sent['answered']} answered, {sent['ended']} refused, "
                      f"{sent['given_up']} given up, {sent['resets']} reset by the server, {sent['cut_off']} cut off")
        return row

    def wide_repository(self):
        folder = self.path("repository")
        if not os.path.exists(folder):
            shutil.copytree(self.options.repository, folder)
            write_wide_model(self.path("wide.safetensors"))
            tool = os.path.join(os.path.dirname(self.options.server), "vitrine-repo")
            subprocess.run([tool, "create", folder, "imagenet", "--variant", "xcit-n12"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([tool, "import", folder, "wide", self.path("wide.safetensors"), "--from", "timm", "--arch",
                            "vit_tiny_patch16_224", "--labels", self.path("wide.safetensors.labels"), "--native",
                            "1-196"], check=True, stdout=subprocess.DEVNULL)
        return folder

    def run_unread(self):
        server = Server(self, ["--max-answer-bytes", str(ANSWER_BUDGET)], self.wide_repository())
        one = read(self.honest(server, 1, "wide", ["--classify", "1"]))["classify"]
        before, size = server.rss(), one["answer_bytes"]
        server.most = before
        flood = self.flood(server, "window-0", max(15, self.options.seconds), "--connections", "60", "--message",
                           self.path("wide"), "--once", "--progress")
        samples, sent = [], {}
        for line in flood.stdout:
            sent = json.loads(line)
            if "waiting" in sent:
                gauge = sum(value for key, value in server.metrics().items() if key.startswith("vitrine_answer_bytes"))
                samples.append((sent["waiting"], gauge))
        # A sample is exact only if the same number of responses wait before and after it. Otherwise a response was
        # added or sent between the two measurements.
        off = [(gauge / (waiting * (size + 5)) - 1, past[0] == waiting == then[0]) for (waiting, gauge), past, then in
               zip(samples[3:], samples, samples[4:]) if waiting]
        is_steady = any(steady for _, steady in off)
        off = [share for share, steady in off if steady or not is_steady] or [-1]
        most_waiting, most_gauge = (max(values, default=0) for values in list(zip(*samples)) or [(), ()])
        growth, status = (server.most - before) / MEGA, server.stop()
        is_right = is_steady and abs(statistics.median(off)) <= 0.02 and status is None
        why = (f"at most {most_waiting} answers of {size} bytes wait, {most_waiting * size / MEGA:.0f} MB; gauge "
               f"at most {most_gauge / MEGA:.0f} MB, off by {100 * statistics.median(off):+.1f} % ("
               f"{100 * min(off):+.1f} to {100 * max(off):+.1f})"
               + ("" if is_steady else " while it computes: never steady"))
        return {"flood": "unread", "sent": sent, "rss_before": before, "rss_most": server.most, "exit": status,
                "why": why, "growth_mb": growth, "samples": samples,
                "verdict": "must" if is_right and growth <= ANSWER_BUDGET / MEGA + 100 else "MISSED"}

    def run_get_model(self):
        server = Server(self, repository=self.wide_repository())
        row = self.attack(server, "calls", "--connections", "3", "--in-flight", "16", "--path",
                          "/vitrine.v1.Registry/GetModel", "--message", self.path("sizes"))
        row |= {"flood": "get-model", "exit": server.stop()}
        times = row["beside"]["classify"]["p99_ms"] / row["base"]["classify"]["p99_ms"]
        is_up = row["exit"] is None and not row["beside"]["classify"]["failed"] and row["sent"]["answered"]
        row["verdict"] = "goal" if is_up and times <= 1.2 else "must" if is_up and times <= 2 else "MISSED"
        row["why"] = f"p99 of Classify {times:.1f} times that of alone; {row['sent']['answered']} answers of GetModel"
        return row


def read(process):
    """Waits for the end of a tool. Returns its last line, parsed as JSON."""
    text = process.communicate()[0]
    if process.returncode != 0 or not text:
        sys.exit(f"{process.args} has ended with {process.returncode}")
    return json.loads(text.splitlines()[-1])


def as_markdown(rows):
    head = ["flood", "verdict", "failed of calls", "Check p99 ms", "Classify p99 ms", "fresh p99 ms", "RSS MB",
            "sent MB", "frames", "connections", "cut off", "reasons", "note"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        kinds, sent = ("check", "classify", "fresh"), row["sent"]
        calls = row.get("beside", {})
        p99 = [f"{row['base'][kind]['p99_ms']:.1f} -> {calls[kind]['p99_ms']:.1f}" if calls else "" for kind in kinds]
        failed, total = (sum(calls[kind][key] for kind in kinds if calls) for key in ("failed", "calls"))
        lines.append("| " + " | ".join(str(cell) for cell in [
            row["flood"], row["verdict"], f"{failed} of {total}" if calls else "", *p99,
            f"{row['rss_before'] / MEGA:.0f} -> {row['rss_most'] / MEGA:.0f}", f"{sent['bytes'] / MEGA:.1f}",
            sent["frames"], sent["connections"], sent["cut_off"],
            " ".join(f"{key} {value}" for key, value in row.get("closed", {}).items()), row.get("why", "")]) + " |")
    return "\n".join(lines) + "\n"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", nargs="?", default="", help="vitrine-server; vitrine-repo beside it makes a model")
    parser.add_argument("--command", default="", help="another server in its place; {port} is its port")
    parser.add_argument("--tools", default="", help="folder of flood and honest; default: the server's")
    parser.add_argument("--repository", default=os.path.join(ROOT, "models", "bundled"))
    parser.add_argument("--seconds", type=float, default=10, help="of each flood; default 10")
    parser.add_argument("--connections", type=int, default=3, help="of each flood; default 3")
    parser.add_argument("--only", default=",".join(FLOODS + SCENARIOS), help="floods and scenarios, with commas")
    parser.add_argument("--address-space", type=int, default=6000, help="of the server, MB; default 6000")
    parser.add_argument("--out", default="", help="writes OUT.json and OUT.md")
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:at])
    options.flags = arguments[at + 1:]
    if bool(options.server) == bool(options.command) or (options.command and not options.tools):
        parser.error("one of SERVER and --command with --tools is needed")
    unknown = [name for name in options.only.split(",") if name not in FLOODS + SCENARIOS]
    if unknown:
        parser.error(f"no such flood: {', '.join(unknown)}")
    return options


def main():
    options, rows = parsed(), []
    os.sched_setaffinity(0, {1})
    with tempfile.TemporaryDirectory(prefix="floods-") as folder:
        run = Run(options, folder)
        for name in options.only.split(","):
            if options.command and name in ["tls-handshakes", *SCENARIOS]:
                continue
            scenario = {"proxy": run.run_proxy, "unread": run.run_unread, "get-model": run.run_get_model}.get(name)
            rows.append(scenario() if scenario else run.run_flood(name))
            print(as_markdown(rows) if len(rows) == 1 else as_markdown(rows[-1:]).splitlines()[-1], flush=True)
            if options.out:  # writes after each row, because a run may be interrupted
                with open(options.out + ".md", "w") as file:
                    file.write(as_markdown(rows))
                with open(options.out + ".json", "w") as file:
                    json.dump({"server": options.server or options.command, "seconds": options.seconds,
                               "connections": options.connections, "rows": rows}, file, indent=1)
    return any(row["verdict"] == "MISSED" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
