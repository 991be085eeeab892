# SPDX-License-Identifier: Apache-2.0
"""Tests script/get-data: a file that has its final name must equal the original, even after signals and after faults
of servers and disks."""
import gzip
import io
import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
import unittest

from mirror import Mirror, Server, sha256

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "script/get-data"
RANDOM = random.Random(7)
PICTURES = RANDOM.randbytes(1 << 20)
LABELS = RANDOM.randbytes(3000)
IDX = {"pictures.gz": gzip.compress(PICTURES, mtime=0), "labels.gz": gzip.compress(LABELS, mtime=0)}
RECORDS = {f"batches/{name}.bin": RANDOM.randbytes(400_000) for name in ("first", "second", "test")}


def packed():
    """Packs an archive like the original. Adds an extra file, and a file whose name leads out of the folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in (RECORDS | {"batches/readme.html": b"read me", "../outside.bin": b"no"}).items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


ARCHIVE = {"records.tar.gz": packed()}


def row(name, content, **more):
    return {"name": name, "bytes": len(content), "sha256": sha256(content)} | more


def entry(files, mirrors):
    return {"what": "stand-ins", "origin": "this test", "licence": "none needed", "mirrors": mirrors, "files": files}


class GetData(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = self.scratch / "sets"

    def serve(self, **mirrors):
        server = Server(**mirrors)
        self.addCleanup(server.close)
        return server

    def command(self, urls, *words):
        idx = [row(name, IDX[name], content_sha256=sha256(content))
               for name, content in (("pictures.gz", PICTURES), ("labels.gz", LABELS))]
        members = [row(name, content) for name, content in RECORDS.items()]
        table = {"idx": entry(idx, urls), "strict": entry([row(name, IDX[name]) for name in IDX], urls),
                 "records": entry([row("records.tar.gz", ARCHIVE["records.tar.gz"], members=members)], urls),
                 "misprint": entry([row("records.tar.gz", ARCHIVE["records.tar.gz"], members=[row("batches/first.bin", b"")])],
                                   urls),
                 "huge": entry([row("pictures.gz", b"") | {"bytes": 1 << 60}], urls)}
        (self.scratch / "table.json").write_text(json.dumps(table))
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        environment |= {"VITRINE_DATA_TABLE": str(self.scratch / "table.json")}
        return {"args": [PROGRAM, *words, "--into", self.folder], "env": environment}

    def run_it(self, urls, *words):
        return subprocess.run(**self.command(urls, *words), capture_output=True, text=True, timeout=120)

    def killed(self, command, when):
        """Runs the command, kills it once `when` is true, and returns its exit status."""
        process = subprocess.Popen(**command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not when() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        process.kill()
        return process.wait()

    def names(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def assert_complete(self, ran, files=IDX):
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertEqual(self.names(), sorted(files))
        for name, content in files.items():
            self.assertEqual((self.folder / name).read_bytes(), content, name)

    def assert_fails(self, ran, *words):
        self.assertEqual(ran.returncode, 1, ran.stdout)
        for word in words:
            self.assertIn(word, ran.stderr)
        self.assertNotIn("Traceback", ran.stderr)


class Fetching(GetData):
    def test_a_fresh_download_is_verified(self):
        good = Mirror(IDX)
        server = self.serve(good=good)
        ran = self.run_it([server.url("good")], "idx")
        self.assert_complete(ran)
        for word in ("origin   this test", "licence  none needed", "size     1.1 MB in 2 files", f"into     {self.folder}"):
            self.assertIn(word, ran.stdout)
        self.assertLess(ran.stdout.index("licence"), ran.stdout.index("is right"))
        self.assertIn(f"--data idx:{self.folder}", ran.stdout)
        self.assertNotIn("\r", ran.stdout)
        self.assertEqual(good.sent, sum(map(len, IDX.values())))

    def test_an_archive_is_unpacked_and_removed(self):
        server = self.serve(good=Mirror(ARCHIVE))
        self.assert_complete(self.run_it([server.url("good")], "records"), RECORDS)
        self.assertFalse((self.scratch / "outside.bin").exists())

    def test_continues_after_a_kill(self):
        held = Mirror(IDX, hold=1 << 19)
        server = self.serve(held=held)
        part = self.folder / "pictures.gz.part"
        status = self.killed(self.command([server.url("held")], "idx"),
                             lambda: part.exists() and part.stat().st_size >= 1 << 19)
        self.assertEqual(status, -signal.SIGKILL)
        self.assertEqual(self.names(), ["pictures.gz.part"])
        kept = part.stat().st_size
        good = server.server.mirrors["held"] = Mirror(IDX)
        held.go_on.set()
        ran = self.run_it([server.url("held")], "idx")
        self.assert_complete(ran)
        self.assertEqual(good.asked, [("pictures.gz", f"bytes={kept}-"), ("labels.gz", None)])
        self.assertEqual(good.sent, sum(map(len, IDX.values())) - kept)
        self.assertIn("pictures.gz: continued after 524.3 kB", ran.stdout)

    def test_a_server_without_ranges_restarts_the_download(self):
        server = self.serve(plain=Mirror(IDX, ranges=False), lengthless=Mirror(IDX, lengths=False))
        for mirror in ("plain", "lengthless"):
            self.folder.mkdir()
            (self.folder / "pictures.gz.part").write_bytes(IDX["pictures.gz"][:5000])
            self.assert_complete(self.run_it([server.url(mirror)], "idx"))
            shutil.rmtree(self.folder)

    def test_a_kill_while_unpacking_is_recovered(self):
        (self.folder / "batches").mkdir(parents=True)
        (self.folder / "records.tar.gz").write_bytes(ARCHIVE["records.tar.gz"])
        (self.folder / "batches/first.bin").write_bytes(RECORDS["batches/first.bin"])
        (self.folder / "batches/second.bin.part").write_bytes(b"begun")
        good = Mirror(ARCHIVE)
        server = self.serve(good=good)
        self.assert_complete(self.run_it([server.url("good")], "records"), RECORDS)
        (self.folder / "records.tar.gz").write_bytes(ARCHIVE["records.tar.gz"])  # left by a run that was killed
        self.assert_complete(self.run_it([server.url("good")], "records"), RECORDS)
        self.assertEqual(good.asked, [])

    def test_a_kill_before_the_rename_is_recovered(self):
        self.folder.mkdir()
        for name, content in IDX.items():
            (self.folder / f"{name}.part").write_bytes(content)
        good = Mirror(IDX)
        self.assert_complete(self.run_it([self.serve(good=good).url("good")], "idx"))
        self.assertEqual(good.asked, [])

    def test_progress_rewrites_one_line_on_a_terminal(self):
        server = self.serve(good=Mirror(IDX))
        ours, theirs = pty.openpty()
        with open(ours, "rb", buffering=0) as screen:
            ran = subprocess.run(**self.command([server.url("good")], "idx"), stdout=theirs, stderr=theirs, timeout=60)
            os.close(theirs)
            shown = b""
            try:
                while block := screen.read(1 << 16):
                    shown += block
            except OSError:  # Linux reports the end of a terminal as an error
                pass
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(shown.decode(), r"\rpictures\.gz: 1\.0 MB of 1\.0 MB, 100 %, [0-9.]+ [kMG]B/s")


class Refusing(GetData):
    def test_a_wrong_digest_is_refused(self):
        wrong = RANDOM.randbytes(len(IDX["pictures.gz"]))
        server = self.serve(wrong=Mirror(IDX | {"pictures.gz": wrong}))
        for name in ("idx", "strict"):
            self.assert_fails(self.run_it([server.url("wrong")], name), sha256(wrong), sha256(IDX["pictures.gz"]), "--from URL")
            self.assertEqual(self.names(), [])

    def test_a_wrong_archive_member_is_refused(self):
        server = self.serve(good=Mirror(ARCHIVE))
        self.assert_fails(self.run_it([server.url("good")], "misprint"), sha256(RECORDS["batches/first.bin"]), sha256(b""))
        self.assertEqual(self.names(), ["records.tar.gz"])

    def test_a_partial_file_of_another_download_is_discarded(self):
        server = self.serve(good=Mirror(IDX))
        for length in (5000, len(IDX["pictures.gz"]), len(IDX["pictures.gz"]) + 5):
            self.folder.mkdir()
            (self.folder / "pictures.gz.part").write_bytes(bytes(length))
            self.assert_complete(self.run_it([server.url("good")], "idx"))
            shutil.rmtree(self.folder)

    def test_repacked_archive_is_accepted_only_with_known_content(self):
        server = self.serve(anew=Mirror({"pictures.gz": gzip.compress(PICTURES, 1), "labels.gz": gzip.compress(LABELS, 1)}))
        self.assertEqual(self.run_it([server.url("anew")], "idx").returncode, 0)
        again = self.run_it([server.url("anew")], "idx")
        self.assertIn("pictures.gz is there and right, though packed anew: kept", again.stdout)
        shutil.rmtree(self.folder)
        self.assert_fails(self.run_it([server.url("anew")], "strict"), sha256(IDX["pictures.gz"]))

    def test_a_truncated_body_is_refused(self):
        cut = Mirror(IDX, cut=300_000)
        server = self.serve(cut=cut, stubborn=Mirror(IDX, cut=300_000, ranges=False))
        ran = self.run_it([server.url("stubborn")], "idx")
        self.assert_fails(ran, f"ended after 300000 of {len(IDX['pictures.gz'])} bytes", "will be continued")
        self.assertEqual(self.names(), ["pictures.gz.part"])
        self.assert_complete(self.run_it([server.url("cut")], "idx"))
        self.assertEqual([asked for name, asked in cut.asked if name == "pictures.gz"],
                         ["bytes=300000-", "bytes=600000-", "bytes=900000-"])

    def test_the_second_mirror_is_tried(self):
        server = self.serve(gone=Mirror(IDX, status=404), good=Mirror(IDX))
        ran = self.run_it([server.url("gone"), server.url("good")], "idx")
        self.assert_complete(ran)
        self.assertIn(f"{server.url('gone')}/pictures.gz answered 404 Not Found", ran.stdout)

    def test_a_custom_address_replaces_the_mirrors(self):
        never, good = Mirror(IDX), Mirror(IDX)
        server = self.serve(never=never, good=good)
        self.assert_complete(self.run_it([server.url("never")], "idx", "--from", server.url("good") + "/"))
        self.assertEqual(never.asked, [])

    def test_a_missing_network_is_reported(self):
        with socket.socket() as bound:  # bound but not listening, so connections are refused
            bound.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            ran = self.run_it([url, "http://[nonsense"], "idx")
        self.assert_fails(ran, f"{url}/pictures.gz could not be reached", "Connection refused", "Check the network", "--from URL")
        self.assertEqual(self.names(), [])

    def test_a_full_disk_is_reported(self):
        self.folder.mkdir()
        (self.folder / "pictures.gz.part").symlink_to("/dev/full")
        server = self.serve(good=Mirror(IDX))
        self.assert_fails(self.run_it([server.url("good")], "idx"), f"the disk of {self.folder} is full", "--into")
        self.assertFalse((self.folder / "pictures.gz").exists())

    def test_too_little_free_space_is_reported(self):
        good = Mirror(IDX)
        self.assert_fails(self.run_it([self.serve(good=good).url("good")], "huge"), "are needed: make room")
        self.assertEqual(good.asked, [])

    def test_a_concurrent_download_is_refused(self):
        held = Mirror(IDX, hold=1 << 18)
        command = self.command([self.serve(held=held).url("held")], "idx")
        with subprocess.Popen(**command, stdout=subprocess.DEVNULL) as first:
            while not held.asked:
                time.sleep(0.01)
            self.assert_fails(self.run_it([], "idx"), "another get-data works in")
            held.go_on.set()
            self.assertEqual(first.wait(60), 0)

    def test_usage_errors_are_reported(self):
        for words in (["imagenet"], [], ["idx", "--from", "ftp://x"]):
            ran = self.run_it([], *words)
            self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("choose from 'huge', 'idx', 'misprint'", self.run_it([], "imagenet").stderr)


class Kept(GetData):
    def test_correct_files_are_not_changed(self):
        good = Mirror(IDX | ARCHIVE)
        server = self.serve(good=good)
        for name in ("idx", "records"):
            self.assertEqual(self.run_it([server.url("good")], name).returncode, 0)
            before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in self.folder.rglob("*") if path.is_file()}
            good.asked.clear()
            ran = self.run_it([server.url("good")], name)
            self.assertEqual((ran.returncode, good.asked), (0, []), ran.stderr)
            self.assertEqual({path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in before}, before)
            self.assertEqual(len(re.findall("is there and right: kept", ran.stdout)), len(before))
            shutil.rmtree(self.folder)

    def test_files_unpacked_by_hand_are_accepted(self):
        self.folder.mkdir()
        (self.folder / "pictures").write_bytes(PICTURES)
        (self.folder / "labels").write_bytes(LABELS)
        self.assertEqual(self.run_it([], "idx").returncode, 0)
        self.assertEqual(self.names(), ["labels", "pictures"])
        self.assert_fails(self.run_it([], "strict"), "its digest is not known", "move it away")

    def test_files_of_another_data_set_are_kept(self):
        server = self.serve(good=Mirror(IDX | ARCHIVE))
        for name, path in (("idx", "pictures.gz"), ("idx", "labels"), ("records", "batches/test.bin"),
                           ("records", "records.tar.gz")):
            (self.folder / path).parent.mkdir(parents=True)
            (self.folder / path).write_bytes(b"mine")
            self.assert_fails(self.run_it([server.url("good")], name), sha256(b"mine"), "move it away", "--into")
            self.assertEqual((self.names(), (self.folder / path).read_bytes()), ([path], b"mine"))
            shutil.rmtree(self.folder)


class Originals(unittest.TestCase):
    """Tests script/get-data with its own table of files. The other tests use a table of substitute files."""

    def test_existing_files_are_accepted(self):
        data = pathlib.Path(os.environ.get("VITRINE_DATA") or "/nonexistent")
        if not (data / "mnist").is_dir():
            self.skipTest("VITRINE_DATA is not set, or has no mnist/")
        # Uses a copy, so that a fault of the program cannot damage the data. No server listens at the address, so a download
        # would fail.
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(data / "mnist", folder, dirs_exist_ok=True, copy_function=shutil.copyfile)
            ran = subprocess.run([PROGRAM, "mnist", "--into", folder, "--from", "http://127.0.0.1:9"], capture_output=True,
                                 text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertEqual(ran.stdout.count("is there and right"), 4)


if __name__ == "__main__":
    unittest.main()
