# SPDX-License-Identifier: Apache-2.0
"""Tests `vitrine-repo cache`, and `vitrine-server --model`, which runs that command. The models are in folders and on a fake
hub (hub.py).

Usage: cache_test.py BUILD [-v]
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from hashlib import sha256

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hub import COMMIT, Hub  # noqa: E402
from pull_test import ARCH, NAME, WEIGHTS, vit_tiny  # noqa: E402

BIN = pathlib.Path(sys.argv[1]).resolve() / "bin"
IMAGE = pathlib.Path(__file__).resolve().parents[3] / "samples/cifar/cat-chelsea.jpg"
KILLS = 6


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="vitrine-cache-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hub = Hub(NAME, WEIGHTS, ARCH)
        self.addCleanup(self.hub.close)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "xdg"), "HF_ENDPOINT": self.hub.address}
        for name in ("VITRINE_PULL_FROM", "HF_TOKEN", "HF_HUB_OFFLINE", "CACHE_DIRECTORY"):
            self.environment.pop(name, None)

    def model(self, name, config=None):
        """Returns a folder in the form that timm's save_for_hf(safe_serialization=True) writes."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(WEIGHTS)
        (folder / "config.json").write_bytes(json.dumps(config).encode() if config else self.hub.files["config.json"])
        return folder

    def cache(self, *models, cwd=None):
        return subprocess.run([BIN / "vitrine-repo", "cache", self.folder / "cache", *models], env=self.environment, text=True,
                              timeout=120, capture_output=True, cwd=cwd)

    def repository(self, *models):
        done = self.cache(*models)
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(done.stdout.strip())

    def refused(self, done, *words, code=1):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


def versions(repository):
    return sorted(f"{path.parent.name}/{path.name}" for path in repository.glob("*/[0-9]*"))


class Folders(Test):
    def test_a_folder_is_imported_again_only_after_a_change(self):
        folder = self.model("plants")
        repository = self.repository(folder)
        self.assertEqual(versions(self.repository(folder)), ["plants/1"])
        config = json.loads((folder / "config.json").read_text())
        config["pretrained_cfg"]["crop_pct"] = 0.5
        (folder / "config.json").write_text(json.dumps(config))
        self.assertEqual(self.repository(folder), repository)
        self.assertEqual(versions(repository), ["plants/1", "plants/2"])
        self.assertIn("crop: 0.5", (repository / "plants/2/manifest.textproto").read_text())

    def test_new_licence_damage_or_importer_imports_again(self):
        folder = self.model("plants")
        version = self.repository(folder) / "plants"
        (folder / "README.md").write_text("---\nlicense: mit\n---\n")
        self.repository(folder)
        self.assertIn('licence: "mit"', (version / "2/manifest.textproto").read_text())
        with (version / "2/weights.safetensors").open("r+b") as file:
            file.truncate(1000)
        self.assertIn("damaged", self.cache(folder).stderr)
        self.assertEqual(versions(version.parent), ["plants/1", "plants/2", "plants/3"])
        for source in (self.folder / "cache").glob("*/*/3/source.txt"):  # simulates the file of an older importer
            written = source.read_bytes()
            manifest = source.parent / "manifest.textproto"
            source.write_bytes(re.sub(rb"importer \d+", b"importer 0", written))
            manifest.write_text(manifest.read_text().replace(sha256(written).hexdigest(), sha256(source.read_bytes()).hexdigest()))
        self.repository(folder)
        self.assertEqual(versions(version.parent)[-1], "plants/4")

    def test_a_folder_of_transformers_is_recognized_by_its_sizes(self):
        sizes = {"model_type": "vit", "hidden_size": 192, "num_hidden_layers": 12, "patch_size": 16, "image_size": [224, 224]}
        done = self.cache(self.model("unknown", {"model_type": "vit", "hidden_size": 193}))
        self.refused(done, "hidden_size 193, num_hidden_layers 12, patch_size 16, image_size 224x224", "`vitrine-repo import --help`")
        done = self.cache(self.model("named", sizes))  # tensors with the names of timm
        self.refused(done, "vit.embeddings.cls_token")

    def test_labels_come_from_the_config(self):
        config = {**json.loads(self.hub.files["config.json"]), "label_names": [f"plant {i}" for i in range(1000)]}
        repository = self.repository(self.model("plants", config))
        self.assertTrue((repository / "plants/1/labels.txt").read_text().startswith("plant 0\n"))

    def test_damaged_labels_are_not_replaced_by_those_of_imagenet(self):
        config = {**json.loads(self.hub.files["config.json"]), "label_names": ["plant"] * 999 + [None]}
        self.refused(self.cache(self.model("plants", config)), "config.json")

    def test_a_head_without_labels_is_refused_with_a_remedy(self):
        folder = self.model("plants")
        (folder / "model.safetensors").write_bytes(vit_tiny(classes=5))
        self.refused(self.cache(folder), "add label_names", "`vitrine-repo import`", "--repository")

    def test_the_name_comes_from_the_folder_or_the_hub_cache(self):
        snapshot = self.model("models--timm--vit_tiny.a/snapshots/" + "f" * 40)
        repository = self.repository(self.model("models:a/at@x"), snapshot)
        self.assertEqual(versions(repository), ["at_x/1", "vit_tiny.a/1"])
        self.refused(self.cache(snapshot.parents[1]), f"give {snapshot.parent}/")

    def test_a_pipe_is_refused_without_waiting(self):
        for file in ("model.safetensors", "config.json", "preprocessor_config.json"):
            folder = self.model(file)
            (folder / file).unlink(missing_ok=True)
            os.mkfifo(folder / file)
            self.refused(self.cache(folder), file)

    def test_a_pickle_is_refused_with_a_remedy(self):
        folder = self.model("plants")
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        self.refused(self.cache(folder), "safe_serialization=True")

    def test_each_set_of_models_has_its_own_repository(self):
        one, two = self.model("one"), self.model("two")
        self.assertEqual(versions(self.repository(one, f"second={two}")), ["one/1", "second/1"])
        self.assertEqual(versions(self.repository(two)), ["two/1"])

    def test_two_processes_import_once(self):
        folder = self.model("plants")
        command = [BIN / "vitrine-repo", "cache", self.folder / "cache", folder]
        both = [subprocess.Popen(command, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                for _ in range(2)]
        printed = {process.communicate()[0].strip() for process in both}
        self.assertEqual(len(printed), 1)
        self.assertEqual(versions(pathlib.Path(printed.pop())), ["plants/1"])

    def test_folders_without_a_model_are_refused(self):
        (self.folder / "empty").mkdir()
        self.refused(self.cache(self.folder / "empty"), "no config.json", "--from --arch")
        self.refused(self.cache(self.folder / "absent"), "is no folder", "a path with a comma", code=2)
        for model in ("timm/deit_tiny", "https://huggingface.co/timm/deit_tiny"):
            self.refused(self.cache(model), "give hf:timm/deit_tiny", code=2)
        self.model("key=value")
        self.refused(self.cache("key=value", cwd=self.folder), "give ./key=value", code=2)
        folder = self.model("plants")
        self.refused(self.cache(folder / "model.safetensors"), "give the folder that has config.json", code=2)
        repository = self.repository(folder)
        self.refused(self.cache(repository), f"--repository {repository}")
        self.refused(self.cache(repository.parent), "a cache of imported models", f"--repository {repository}")
        shutil.copytree(folder, self.folder / "deep/plants")
        self.refused(self.cache(folder, self.folder / "deep/plants"), "two models are named plants", "OTHER=")


class FromHub(Test):
    MODEL = f"hf:{NAME}"
    SERVED = NAME.split("/")[1]

    def test_a_model_is_downloaded_once_and_used_without_the_hub(self):
        repository = self.repository(self.MODEL)
        self.assertEqual(versions(repository), [f"{self.SERVED}/1"])
        self.assertEqual(self.repository(self.MODEL), repository)
        self.assertEqual(versions(repository), [f"{self.SERVED}/1"])
        self.assertEqual(self.hub.ranges_asked(), [None])
        self.environment["HF_HUB_OFFLINE"] = "1"
        asked = len(self.hub.asked)
        self.assertEqual(self.repository(self.MODEL), repository)
        self.assertEqual(len(self.hub.asked), asked)
        del self.environment["HF_HUB_OFFLINE"]
        self.hub.close()
        done = self.cache(self.MODEL)
        self.assertEqual((done.returncode, done.stdout), (0, f"{repository}\n"), done.stderr)
        self.assertIn("the last import is used", done.stderr)

    def test_a_new_commit_is_imported_and_a_missing_one_refused(self):
        repository = self.repository(self.MODEL)
        self.hub.commit = "f" * 40
        self.assertEqual(self.repository(self.MODEL), repository)
        self.assertEqual(versions(repository), [f"{self.SERVED}/1", f"{self.SERVED}/2"])
        self.assertEqual(self.hub.ranges_asked(), [None])  # the second import does not download the unchanged weights
        self.refused(self.cache(f"{self.MODEL}@gone"), "no such revision")

    def test_an_imported_commit_needs_no_hub(self):
        model = f"{self.MODEL}@{COMMIT}"
        repository, asked = self.repository(model), len(self.hub.asked)
        self.assertEqual(self.repository(model), repository)
        self.assertEqual(len(self.hub.asked), asked)

    def test_a_hub_without_commits_is_compared_by_its_files(self):
        self.hub.states_commit = False
        repository = self.repository(self.MODEL)
        self.repository(self.MODEL)
        self.hub.weights = self.hub.sent = WEIGHTS[:-1] + bytes([WEIGHTS[-1] ^ 1])
        self.hub.told_digest = sha256(self.hub.weights).hexdigest()
        self.repository(self.MODEL)
        self.hub.files["README.md"] = b"---\nlicense: mit\n---\n"
        self.repository(self.MODEL)
        self.assertEqual(versions(repository), [f"{self.SERVED}/{version}" for version in (1, 2, 3)])

    def test_the_last_import_is_used_after_any_hub_error(self):
        repository = self.repository(self.MODEL)
        page = b"<html>log in</html>"
        for status in (200, 302, 401, 403, 404, 429, 500):
            self.hub.instead = lambda handler: handler.reply(status, [("Location", "https://portal.invalid/")], page)
            done = self.cache(self.MODEL)
            self.assertEqual((done.returncode, done.stdout), (0, f"{repository}\n"), done.stderr)
            self.assertIn("the last import is used", done.stderr)
        self.hub.instead = lambda handler: handler.reply(200, [], page)
        shutil.rmtree(self.folder / "cache")
        self.refused(self.cache(self.MODEL), "login page")

    def test_a_hanging_hub_times_out(self):
        repository = self.repository(self.MODEL)
        self.hub.instead = lambda handler: time.sleep(60)
        begin = time.monotonic()
        self.assertEqual(self.repository(self.MODEL), repository)
        self.assertLess(time.monotonic() - begin, 30)

    def test_imports_are_found_from_the_versions_alone(self):
        repository = self.repository(self.MODEL)
        for path in (self.folder / "cache").rglob(".*"):
            path.unlink()
        self.environment["HF_HUB_OFFLINE"] = "1"
        self.assertEqual(self.repository(self.MODEL), repository)

    def test_an_import_serves_every_set_and_name(self):
        folder = self.model("plants")
        repositories = {self.repository(self.MODEL)}
        self.hub.close()
        self.environment["HF_HUB_OFFLINE"] = "1"
        for models in ([f"x={self.MODEL}"], [f"{self.MODEL}@main", folder], [self.MODEL, f"y={folder}"]):
            repositories.add(self.repository(*models))
        weights = [file for repository in repositories for file in repository.glob("*/1/weights.safetensors")]
        self.assertEqual(len(weights), 6)
        self.assertEqual(len({file.stat().st_ino for file in weights}), 2)
        verified = [subprocess.run([BIN / "vitrine-repo", "verify", repository], capture_output=True) for repository in repositories]
        self.assertEqual([done.returncode for done in verified], [0] * 4)

    def test_a_model_never_imported_needs_the_hub(self):
        self.hub.close()
        self.refused(self.cache(self.MODEL), self.MODEL)
        self.environment["HF_HUB_OFFLINE"] = "1"
        self.refused(self.cache(self.MODEL), f"{self.MODEL}: the model was never imported here; HF_HUB_OFFLINE")

    def test_the_token_goes_to_the_hub_and_not_to_its_storage(self):
        self.environment["HF_TOKEN"] = "secret"
        self.repository(self.MODEL)
        tokens = dict(self.hub.tokens)
        self.assertEqual(tokens[f"/{NAME}/resolve/main/model.safetensors"], "Bearer secret")
        self.assertEqual({token for path, token in tokens.items() if path.startswith("/objects/")}, {None})
        self.hub.gated = True
        self.environment["HF_ENDPOINT"] = self.hub.address.replace("127.0.0.1", "127.1")  # looks like another host
        shutil.rmtree(self.folder / "cache")
        self.refused(self.cache(self.MODEL), "HF_TOKEN is sent only to an https:// address")

    def test_a_killed_import_leaves_no_partial_version(self):
        self.hub.pause = lambda: time.sleep(0.001)
        draw = random.Random(7)
        for kill in range(KILLS):
            if kill % 3 == 2:  # every third kill comes near the publication, when source-*/model appears
                shutil.rmtree(self.folder / "cache", ignore_errors=True)
            process = subprocess.Popen([BIN / "vitrine-repo", "cache", self.folder / "cache", self.MODEL], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while kill % 3 == 2 and process.poll() is None and not list((self.folder / "cache").glob("source-*/model")):
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.05 if kill % 3 == 2 else 1.2))
            process.kill()
            process.wait()
        repository = self.repository(self.MODEL)
        verified = subprocess.run([BIN / "vitrine-repo", "verify", repository], capture_output=True, text=True)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)


class Server(Test):
    def start(self, *flags, program=BIN / "vitrine-server", **more):
        return subprocess.Popen([program, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--port-file", self.folder / "ports",
                                 *flags], env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)

    def answer(self, process, model):
        """Returns the label that the started server gives the image, and ends the server."""
        try:
            while not (self.folder / "ports").exists():
                self.assertIsNone(process.poll(), process.stdout.read() if process.poll() is not None else "")
                time.sleep(0.05)
            ports = dict(line.split("=", 1) for line in (self.folder / "ports").read_text().split())
            end = time.monotonic() + 60
            while True:
                try:
                    request = urllib.request.Request(f"http://{ports['grpc']}/v1/models/{model}:classify", IMAGE.read_bytes())
                    with urllib.request.urlopen(request, timeout=10) as reply:
                        return json.load(reply)["predictions"][0]["label"]
                except urllib.error.HTTPError as error:  # the version is being loaded
                    self.assertLess(time.monotonic(), end, error.read())
                    time.sleep(0.1)
        finally:
            process.terminate()
            process.communicate()
            (self.folder / "ports").unlink(missing_ok=True)

    def test_a_hub_model_is_served_later_without_the_hub(self):
        first = self.answer(self.start("--model", f"tiny=hf:{NAME}"), "tiny")
        self.hub.close()
        self.assertEqual(self.answer(self.start("--model", f"tiny=hf:{NAME}"), "tiny"), first)

    def test_a_model_folder_is_not_modified(self):
        folder = self.model("plants")
        before = {path.name: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}
        self.assertTrue(self.answer(self.start("--model", folder), "plants"))
        self.assertEqual({path.name: path.stat().st_mtime_ns for path in [folder, *folder.iterdir()]}, before)

    def test_the_manual_page_does_not_depend_on_the_build_machine(self):
        pages = {subprocess.run([BIN / "vitrine-server", "--manual-page"], env={**self.environment, "HOME": home, "XDG_CACHE_HOME": home},
                                check=True, capture_output=True).stdout for home in ("/home/a", "/home/b")}
        self.assertEqual(len(pages), 1)

    def test_a_failed_import_ends_the_start_with_the_reason(self):
        process = self.start("--model", self.folder)
        self.assertIn("no config.json", process.communicate()[0])
        self.assertEqual(process.returncode, 1)
        process = self.start("--model", "--help")
        self.assertIn("is no folder", process.communicate()[0])
        self.assertEqual(process.returncode, 2)
        del self.environment["XDG_CACHE_HOME"]
        self.environment["HOME"] = ""
        process = self.start("--model", self.folder)
        self.assertIn("--model-cache", process.communicate()[0])
        self.assertEqual(process.returncode, 2)
        process = self.start("--model", self.model("plants"), "--poll-interval", "1us")
        self.assertNotIn("importing", process.communicate()[0])
        self.assertEqual(process.returncode, 2)

    def test_a_model_has_priority_over_the_repository_setting(self):
        (self.folder / "server.toml").write_text(f'repository = "{self.folder}"\n')
        self.environment["VITRINE_SERVER_MODEL"] = str(self.model("plants"))
        self.environment["CACHE_DIRECTORY"] = str(self.folder / "systemd")
        self.assertTrue(self.answer(self.start("--config", self.folder / "server.toml"), "plants"))
        self.assertTrue((self.folder / "systemd/models").is_dir())

    def test_a_missing_vitrine_repo_is_named(self):
        shutil.copy(BIN / "vitrine-server", self.folder / "vitrine-server")
        self.environment["PATH"] = "/nonexistent"
        process = self.start("--model", self.model("plants"), program=self.folder / "vitrine-server")
        self.assertIn("vitrine-repo beside vitrine-server", process.communicate()[0])
        other = self.folder / "vitrine-repo"
        other.write_text("#!/bin/sh\nexit 2\n")
        for mode, message in ((0o644, "Permission denied"), (0o755, "vitrine-repo is of another version")):
            other.chmod(mode)
            process = self.start("--model", self.folder / "plants", program=self.folder / "vitrine-server")
            self.assertIn(message, process.communicate()[0])

    def test_sigterm_ends_a_start_during_a_download(self):
        self.hub.pause = lambda: time.sleep(1)
        process = self.start("--model", f"hf:{NAME}")
        while not self.hub.ranges_asked():
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
