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


def write_evaluation(folder, model, diversity, images=2000):
    """Writes the files of an --out folder of `vitrine eval --attention-distance`."""
    (folder / model).mkdir(parents=True, exist_ok=True)
    (folder / model / "attention_distance.json").write_text(json.dumps(
        {"model": model, "pictures": images, "failed": 0, "head_mean_pixels": [10.0, 8.0 - diversity],
         "head_deviation_pixels": [1.0, 2.0, diversity], "diversity_pixels": diversity}))
    (folder / model / "summary.json").write_text(json.dumps({"run": {"busy_seconds": 30.0}}))


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
        return run("--folder", self.folder, "take", name, work)

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
        self.assertEqual(found.runs["07-distances"].origin.program, found.runs["06-eit"].origin.program)
        self.assertFalse([text for text in self.complaints() if "07-distances" in text])

    def test_refuses_other_evaluations(self):
        self.assertIn("take its results first", self.claims("07-distances", self.work).stderr)
        self.take_models()
        write_evaluation(self.work, self.models[3], 1.0, images=50)
        self.assertIn("has 50 images of lsra-mini-cifar10-1 and 0 failed", self.claims("07-distances", self.work).stderr)
        self.assertIn("no folder MODEL-SEED", self.claims("07-distances", self.folder).stderr)


if __name__ == "__main__":
    unittest.main()
