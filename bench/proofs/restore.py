# SPDX-License-Identifier: Apache-2.0
"""Tests the commands of docs/operations/backup.md repeatedly: a second server serves a copy of a repository in use.

The repository is copied while a server serves it and versions are published into it. The second server must give the
same answers.
"""
import re
import shutil
import subprocess
import threading
import time

import vitrine

from driver import workers
from driver.report import Row
from driver.service import Server
from driver.setup import ROOT
from proofs import samples, versions

ROUNDS = 20
MODEL = "kv-pos-mnist"
PAUSE = 0.3  # seconds between two publications
PAGE = ROOT / "docs/operations/backup.md"
PLACES = {"/srv/models": "served", "mkdir models": "mkdir restored", "--directory models": "--directory restored",
          "verify models": "verify restored"}


def page_command(begin, setup):
    """Finds the command that starts with `begin` in docs/operations/backup.md. Returns it with this machine's folders
    and programs."""
    line = re.search(rf"^{begin}.*$", PAGE.read_text(), re.MULTILINE).group()
    for there, here in PLACES.items():
        line = line.replace(there, here)
    return line.replace("vitrine-repo", setup.program("vitrine-repo"))


class Publisher:
    """Context manager: publishes versions of MODEL."""

    def __init__(self, setup, repository):
        self.source, self.repository = setup.models()[MODEL], repository
        self.over, self.published = threading.Event(), 0
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _run(self):
        while not self.over.wait(PAUSE):
            self.published += 1
            versions.place(self.source, self.repository, MODEL, int(self.source.name) + self.published)


def answers(server, pictures, models):
    """Returns the predictions of each model for each image."""
    with vitrine.Client(server.address, token="") as client:
        return [[(one.index, one.probability) for one in client.classify(picture, model).predictions]
                for model in models for picture in pictures]


def drill(setup, expected, ask):
    """Returns (True if the copy fails its check, True if its answers differ, seconds from the copy to all answers)."""
    copy = setup.scratch / "restored"
    shutil.rmtree(copy, ignore_errors=True)

    def run(begin):
        return subprocess.run(["bash", "-c", page_command(begin, setup)], cwd=setup.scratch, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode

    if run("tar --create") != 0:
        raise RuntimeError("tar failed")
    began = time.monotonic()
    failed = run("mkdir models") != 0 or run("vitrine-repo verify models") != 0
    with Server(setup, copy, setup.both()) as server:
        differ = ask(server) != expected
    return failed, differ, time.monotonic() - began


def measure(setup):
    shutil.copytree(setup.repository, setup.scratch / "served")
    pictures = [samples.digit(), *(path.read_bytes() for path in sorted((ROOT / "samples" / "cifar").iterdir()))]
    times = setup.rounds(ROUNDS)
    with Server(setup, setup.scratch / "served", setup.both()) as server:
        def ask(of):
            return answers(of, pictures, setup.models())

        expected = ask(server)
        with Publisher(setup, setup.scratch / "served") as publisher:
            drills = [drill(setup, expected, ask) for _ in range(times)]
    failed, differ, seconds = zip(*drills)
    return [
        Row(f"copies of a repository in use, {times} times, that do not verify", "copies", (sum(failed),) * 3, 0,
            at_least=False, note=f"{publisher.published} versions published meanwhile"),
        Row("restored servers with other answers", "servers", (sum(differ),) * 3, 0, at_least=False,
            note=f"{len(pictures)} images and {len(setup.models())} models each"),
        Row("from the copy to all answers of the restored server", "s", workers.spread(seconds), note="verify included"),
    ]
