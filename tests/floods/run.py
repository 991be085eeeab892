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

Bounds of a flood: no failed call, p99 of Check, Classify and fresh callers at most base + 50 ms (goal 20 ms), memory growth at most
50 MB (goal 20 MB). A fresh caller makes about 20 calls a second, so its p99 is about its longest call. A flood that sent too few
frames, connections or calls has MISSED (least_sent in judgement.py). slow-preface, window-0 and slow-bodies run for at least 45 s,
because the server ends slow connections and calls only after 20 or 30 s; they have MISSED if the server ended too few.
Scenarios and their bounds:

proxy      1,000 users of a proxy call an overloaded server. Most of their calls, at least 1,000, are reset at their
           deadline. The server closes no connection.
unread     Clients have window 0. Memory grows by at most the budget of answers + 100 MB, and the gauge is exact to 2 % in each
           sample at which the number of waiting answers is steady. The growth is judged, not RSS itself: RSS includes the weights
           of the model with 21,843 classes and of xcit-n12, about 60 MB, which are no answers.
get-model  Three clients call GetModel with 64 sizes. p99 of Classify is at most twice the base (goal 1.2): the median of
           three rounds, each with its own base.

Exit status: 0 if each row meets its bounds, otherwise 1. One run takes about 7 minutes."""
import argparse
import datetime
import json
import os
import re
import resource
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

from driver import command, report  # noqa: E402

from inputs import CLASSES, field, noise_png, size_message, write_wide_model  # noqa: E402
from judgement import (ANSWER_BUDGET, EXPLANATION, FLOODS, MEGA, SCENARIOS, SLOW, UNREAD_CONNECTIONS, judge_flood,  # noqa: E402
                       judge_get_model, judge_unread, slow_seconds, table)

GET_MODEL_ROUNDS = 3


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
            program = shlex.split(run.options.command.replace("{port}", self.address.split(":")[1]))
        else:
            program = [run.options.server, "--repository", repository or run.options.repository, "--pin", "off",
                       "--listen", self.address, "--metrics", self.metrics_address, *flags, *run.options.flags]
        self.log = open(os.path.join(run.folder, "server.log"), "wb")
        self.process = subprocess.Popen(["taskset", "-c", "0", *program], stdout=self.log, stderr=self.log)
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
        """Returns the number of closed connections of the listeners for clients, by reason."""
        name = re.compile(r'vitrine_connections_closed_total\{listener="(?:grpc|http)",reason="(\w+)"')
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

    def attack(self, server, name, *flags, seconds, honest_flags=()):
        """Runs one flood for `seconds`. Returns its row of results, which has the latencies of honest callers alone ("base") and together
        with the flood ("beside")."""
        base = read(self.honest(server, max(2, self.options.seconds / 3), flags=honest_flags))
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
        seconds = slow_seconds(self.options.seconds) if name in SLOW else self.options.seconds
        row = self.attack(server, name, "--connections", str(self.options.connections), "--message", self.path("small"),
                          seconds=seconds, honest_flags=honest_flags)
        row["exit"] = server.stop()
        return judge_flood(row, seconds, self.options.connections)

    def run_proxy(self):
        server = Server(self)
        row = self.attack(server, "proxy", "--connections", "4", "--in-flight", "250", "--rate", "12000",
                          "--deadline", "0.02", "--message", self.path("slow"), seconds=self.options.seconds)
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
        flood = self.flood(server, "window-0", max(15, self.options.seconds), "--connections", str(UNREAD_CONNECTIONS),
                           "--message", self.path("wide"), "--once", "--progress")
        samples, sent = [], {}
        for line in flood.stdout:
            sent = json.loads(line)
            if "waiting" in sent:
                gauge = sum(value for key, value in server.metrics().items() if key.startswith("vitrine_answer_bytes"))
                samples.append((sent["waiting"], gauge))
        row = {"flood": "unread", "sent": sent, "rss_before": before, "rss_most": server.most, "samples": samples,
               "growth_mb": (server.most - before) / MEGA, "exit": server.stop()}
        return judge_unread(row, size)

    def run_get_model(self):
        server = Server(self, repository=self.wide_repository())
        rounds = [self.attack(server, "calls", "--connections", "3", "--in-flight", "16", "--path",
                              "/vitrine.v1.Registry/GetModel", "--message", self.path("sizes"), seconds=self.options.seconds)
                  for _ in range(GET_MODEL_ROUNDS)]
        status = server.stop()
        return judge_get_model([each | {"exit": status} for each in rounds], self.options.seconds)


def read(process):
    """Waits for the end of a tool. Returns its last line, parsed as JSON."""
    text = process.communicate()[0]
    if process.returncode != 0 or not text:
        sys.exit(f"{process.args} has ended with {process.returncode}")
    return json.loads(text.splitlines()[-1])


def write(options, facts, rows):
    """Writes OUT.json, and OUT.md in the form of a page of docs/research/results."""
    text = EXPLANATION.format(seconds=options.seconds, slow_seconds=slow_seconds(options.seconds), connections=options.connections)
    text += "\n\n" + table(rows)
    origin = f"`tests/floods/run.py {shlex.join(sys.argv[1:])}`, {datetime.date.today()}"
    with open(options.out + ".md", "w") as file:
        file.write(command.page("Floods", origin, facts, text))
    with open(options.out + ".json", "w") as file:
        json.dump({"server": options.server or options.command, "seconds": options.seconds, "facts": facts,
                   "connections": options.connections, "rows": rows}, file, indent=1)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", nargs="?", default="", help="vitrine-server; vitrine-repo in the same folder makes a model")
    parser.add_argument("--command", default="", help="command of another gRPC server, without TLS and scenarios; {port} is "
                        "its port")
    parser.add_argument("--tools", default="", help="folder of flood and honest; default: the server's")
    parser.add_argument("--repository", default=os.path.join(ROOT, "models", "bundled"),
                        help="models of the server; default models/bundled")
    parser.add_argument("--seconds", type=float, default=10, help="seconds of each flood, but at least 45 of the "
                        "slow ones; the base takes a third; default 10")
    parser.add_argument("--connections", type=int, default=3, help="connections of each flood; default 3")
    parser.add_argument("--only", default=",".join(FLOODS | SCENARIOS),
                        help="names of floods and scenarios, with commas; default all: " + ", ".join(FLOODS | SCENARIOS))
    parser.add_argument("--address-space", type=int, default=6000, help="limit of the server's address space in MB; default 6000")
    parser.add_argument("--out", default="", help="writes OUT.json, and OUT.md: a page with date, processor, revision and rows")
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:at])
    options.flags = arguments[at + 1:]
    if bool(options.server) == bool(options.command) or (options.command and not options.tools):
        parser.error("one of SERVER and --command with --tools is needed")
    unknown = [name for name in options.only.split(",") if name not in FLOODS | SCENARIOS]
    if unknown:
        parser.error(f"no such flood: {', '.join(unknown)}")
    return options


def main():
    options, rows = parsed(), []
    facts = report.machine() + [f"revision: {report.revision()}"]
    os.sched_setaffinity(0, {1})
    with tempfile.TemporaryDirectory(prefix="floods-") as folder:
        run = Run(options, folder)
        for name in options.only.split(","):
            if options.command and name in ["tls-handshakes", *SCENARIOS]:
                continue
            scenario = {"proxy": run.run_proxy, "unread": run.run_unread, "get-model": run.run_get_model}.get(name)
            rows.append(scenario() if scenario else run.run_flood(name))
            print(table(rows) if len(rows) == 1 else table(rows[-1:]).splitlines()[-1], flush=True)
            if options.out:  # writes after each row, because a run may be interrupted
                write(options, facts, rows)
    return any(row["verdict"] == "MISSED" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
