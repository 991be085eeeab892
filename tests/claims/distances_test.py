# SPDX-License-Identifier: Apache-2.0
"""Tests `script/claims take 07-distances` with made-up evaluations."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from claims_test import Copy, run  # noqa: E402  (this import makes the modules below importable)
from runs_test import write_sweep  # noqa: E402

import library  # noqa: E402
import runs as results  # noqa: E402


PROGRAM = ("--commit", "abcdef0", "--cpu", "AMD EPYC, family 25, model 1, avx2")


def provenance(model):
    """Returns the provenance of a model that was trained for 06-eit and published."""
    name, seed = model.rsplit("-", 1)
    return {"recipe": f"eit-cifar10 --set bf16=true --set model={name} --set seed={seed} --set epochs=6", "epochs": 6.0, "seed": seed}


def write_evaluation(folder, model, diversity, images=2000, means=None, **told):
    """Writes the files of an --out folder of `vitrine eval --attention-distance`. `told` replaces fields of summary.json: split, digest,
    weights, provenance."""
    (folder / model).mkdir(parents=True, exist_ok=True)
    (folder / model / "attention_distance.json").write_text(json.dumps(
        {"model": model, "pictures": images, "failed": 0, "head_mean_pixels": means or [10.0, 8.0 - diversity],
         "head_deviation_pixels": [1.0, 2.0, diversity], "diversity_pixels": diversity}))
    (folder / model / "summary.json").write_text(json.dumps(
        {"model": {"model": model, "weights_sha256": told.get("weights", model), "provenance": told.get("provenance", provenance(model))},
         "data": {"split": told.get("split", "test"), "digest": told.get("digest", "d7")}, "run": {"busy_seconds": 30.0}}))


class Distances(Copy):
    def setUp(self):
        super().setUp()
        self.experiments = library.read(self.folder).experiments
        self.work = self.folder.parent / "07"
        axis = self.experiments["06-eit"].axes[0]
        self.models = [f"{value}-{seed}" for value in axis["values"] for seed in (1, 2, 3)]
        for number, model in enumerate(self.models):
            write_evaluation(self.work, model, 1 + number / 10)

    def take_models(self):
        """Takes results of 06-eit. Later models have a higher accuracy."""
        labels = results.labels(self.experiments["06-eit"].axes[0])
        write_sweep(self.folder.parent / "06", self.experiments["06-eit"], epochs="6",
                    score=lambda cell, seed: 0.5 + labels.index(cell[0]) / 100 + seed / 1000)
        self.claims("06-eit", self.folder.parent / "06")

    def claims(self, name, work):
        return run("--folder", self.folder, "take", name, work, *(PROGRAM if name == "07-distances" else ()))

    def test_distances_and_accuracies_decide_the_rules(self):
        self.take_models()
        ran = self.claims("07-distances", self.work)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("24 of 24 runs, 0 of them failed: complete", ran.stdout)
        found = library.read(self.folder)
        self.assertEqual(found.runs["07-distances"].rows[1],
                         {"model": "ViT", "seed": "2", "run": "vit-mini-cifar10-2", "seconds": "30.0", "diversity": "1.1",
                          "mean distance": repr((10.0 + 6.9) / 2), "last layer less the others": repr(1.1 - 1.5), "test/top1": "0.502"})
        words = {shown.claim.id: [verdict.word for verdict in shown.verdicts.values()] for shown in found.claims["001"]}
        self.assertEqual((words["E20"], words["E22"]), (["holds here"], ["holds here"]))
        origin = found.runs["07-distances"].origin
        self.assertEqual((origin.program, origin.cpu, origin.threads, origin.hours, origin.data_digest, origin.revision),
                         ("abcdef0", "AMD EPYC, family 25, model 1, avx2", 2, 0.2, "d7", ""))
        self.assertIn(f"--executors {origin.threads} ", origin.command)
        self.assertEqual(run("--folder", self.folder, "build").returncode, 0)
        self.assertIn("0.2 hours on two cores, on AMD EPYC, family 25, model 1, avx2 with 2 threads a run, commit abcdef0, data d7",
                      (self.folder / "experiments.md").read_text())
        self.assertFalse([text for text in self.complaints() if "07-distances" in text])

    def test_refuses_other_evaluations(self):
        self.assertIn("take its results first", self.claims("07-distances", self.work).stderr)
        self.take_models()
        write_evaluation(self.work, self.models[3], 1.0, images=50)
        self.assertIn("has 50 images of lsra-mini-cifar10-1 and 0 failed", self.claims("07-distances", self.work).stderr)
        self.assertIn("no folder MODEL-SEED", self.claims("07-distances", self.folder).stderr)

    def test_refuses_evaluations_of_other_data_or_trainings(self):
        self.take_models()
        model = self.models[3]
        cases = (({"split": "train"}, f"evaluated the train split with {model}; 07-distances needs the test split"),
                 ({"digest": "d8"}, f"{model} and {self.work / self.models[0]} evaluated other data"),
                 ({"weights": self.models[0]}, f"{model} and {self.work / self.models[0]} evaluated the same weights"),
                 ({"provenance": provenance(model) | {"seed": "9", "epochs": 5.0}}, "was trained with epochs 5.0 instead of 6, seed 9 instead of 1"),
                 ({"provenance": provenance(self.models[0])}, "was trained with model vit-mini-cifar10 instead of lsra-mini-cifar10"),
                 ({"provenance": provenance(model) | {"recipe": f"eit-cifar10 --set model={model[:-2]}"}}, "was trained with bf16 None instead of true"),
                 ({"means": [None, 8.0]}, f"{model} has a layer without any attention distance"))
        for told, said in cases:
            write_evaluation(self.work, model, 1.0, **told)
            ran = self.claims("07-distances", self.work)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertIn(said, ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)
        write_evaluation(self.work, model, 1.0, provenance=None)
        self.assertEqual(self.claims("07-distances", self.work).returncode, 0)

    def test_the_program_of_the_evaluation_must_be_given(self):
        for name, more in (("07-distances", PROGRAM[:2]), ("06-eit", PROGRAM)):
            ran = run("--folder", self.folder, "take", name, self.work, *more)
            self.assertEqual(ran.returncode, 2)
            self.assertIn("07-distances needs --commit and --cpu, and no other experiment may have them", ran.stderr)


if __name__ == "__main__":
    unittest.main()
