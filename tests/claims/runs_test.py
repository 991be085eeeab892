# SPDX-License-Identifier: Apache-2.0
"""Tests `script/claims take` and `rerun` with made-up sweeps in temporary folders."""
import contextlib
import csv
import hashlib
import json
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from claims_test import FOLDER, ROOT, Copy, run  # noqa: E402  (this import makes the modules below importable)

import library  # noqa: E402
import records  # noqa: E402
import rerun  # noqa: E402
import runs as results  # noqa: E402
import sweeps  # noqa: E402
import take  # noqa: E402

NAME = "01-digits-small"
CPU = "AMD EPYC, family 25, model 1"


def write_run(folder, name, row, cpu=CPU, program="a" * 64, epochs="2", flags=""):
    """Writes the folder of a run in the same format as a sweep. `row` has the scores; it is None if the run has no
    result."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiment.textproto").write_text(
        f'# data: d1\n# flags: {flags}\n# program: {program}\n# threads: 1\nname: "r"\nepochs: {epochs}\nseed: 1\n')
    if row:
        (folder / "result.json").write_text(json.dumps(
            {"finished": True, "cpu": cpu, "kernels": "avx2", "revision": "abc", "seconds": 36, "data_digest": name, "scores": row}))
        (folder / "steps.csv").write_text("step,loss,lr,gradient_norm\n1,2.5,0,1\n2,1.0,0.1,1\n3,0.25,0.1,1\n")


def write_report(work, axes, rows, grid):
    """Writes report/runs.csv and report/grid.textproto. Each row is (labels, seed, scores)."""
    (work / "report").mkdir(parents=True, exist_ok=True)
    (work / "report/grid.textproto").write_text(grid)
    with open(work / "report/runs.csv", "w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        scores = sorted({score for _, _, row in rows for score in row})
        lines.writerow([*axes, "seed", "run", "epochs", "seconds", *scores])
        for labels, seed, row in rows:
            lines.writerow([*labels, seed, "r", 2, 36, *(repr(row[score]) for score in scores)])


def write_sweep(work, experiment, finished=None, only=None, score=lambda labels, seed: 0.5 + seed / 1000, **options):
    """Makes the work folder of a sweep. The first `finished` runs have results. If `only` is given, the runs for which
    only(number) is true have results instead."""
    axes, rows = [axis["name"] for axis in experiment.axes], []
    for number, cell in enumerate(results.cells(experiment)):
        name = results.cell_name(experiment, cell)
        row = {experiment.metric: score(*cell), "test/other": 1 / 3}
        done = only(number) if only else finished is None or number < finished
        plain = re.sub("[^A-Za-z0-9._=,+-]", "_", name)
        write_run(work / "cells" / (plain if plain == name else f"{plain}-00000000"), name, row if done else None, **options)
        if done:
            rows.append((*cell, row))
    write_report(work, axes, rows, sweeps.grid(experiment))


def train(arguments):
    """Replaces `vitrine-train sweep` for one run. $TRAIN is JSON with the run's score, exit status and CPU."""
    said = json.loads(os.environ["TRAIN"])
    work = pathlib.Path(arguments[arguments.index("--work") + 1])
    grid = pathlib.Path(arguments[2]).read_text()
    axes = [(re.search(r'name: "(.*?)"', part)[1], (re.findall(r'labels: "(.*?)"', part) or re.findall(r'values: "(.*?)"', part)))
            for part in re.findall(r"axes \{.*?\n\}", grid, re.DOTALL)]
    (seed,) = re.findall(r"^seeds: (\d+)$", grid, re.MULTILINE)
    assert all(len(labels) == 1 for _, labels in axes), grid
    name = ",".join([f"{axis}={label}" for axis, (label,) in axes] + [f"seed={seed}"])
    row = {"test/accuracy": said["score"], "test/other": 1 / 3} if "score" in said else None
    write_run(work / "cells" / name, name, row, cpu=said.get("cpu", CPU))
    (work / "cells" / name / "log.txt").write_text("epoch 1\nvitrine-train: the run has diverged\n")
    write_report(work, [axis for axis, _ in axes], [([label for _, (label,) in axes], seed, row)] if row else [], grid)
    sys.exit(said.get("status", 0 if row else 1))


class Sweeps(Copy):
    """Base class of tests with a copy of the claims and a folder for a sweep."""

    def setUp(self):
        super().setUp()
        self.work = self.folder.parent / "work"
        self.experiment = library.read(self.folder).experiments[NAME]

    def claims(self, *arguments):
        return run("--folder", self.folder, *arguments)

    def take(self, *arguments):
        return self.claims("take", NAME, self.work, *arguments)

    def rows(self):
        """Returns the results that were taken."""
        return results.rows_of((self.folder / f"data/runs/{NAME}.csv").read_bytes())

    def assert_refuses(self, ran, pattern):
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertRegex(ran.stderr, pattern)
        self.assertFalse((self.folder / f"data/runs/{NAME}.csv").exists())


class Take(Sweeps):
    def test_writes_results_and_their_origin(self):
        write_sweep(self.work, self.experiment)
        ran = self.take()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("27 of 27 runs, 0 of them failed: complete", ran.stdout)
        report = results.rows_of((self.work / "report/runs.csv").read_bytes())
        self.assertEqual(self.rows(), [row | {"loss area": "1.25", "cpu": CPU, "kernels": "avx2"} for row in report])
        origin = results.read(self.folder, {NAME: self.experiment})[NAME].origin
        self.assertEqual((origin.program, origin.cpu, origin.threads, origin.hours, origin.data_digest),
                         ("a" * 64, f"{CPU}, avx2", 1, 0.135, ""))

    def test_joins_the_shards_of_a_grid(self):
        write_sweep(self.folder.parent / "whole", self.experiment)
        expected = results.rows_of((self.folder.parent / "whole/report/runs.csv").read_bytes())
        write_sweep(self.work, self.experiment, only=lambda number: number % 3 == 2)
        self.assertIn("9 of 27 runs, 0 of them failed: a piece", self.take().stdout)
        write_sweep(self.folder.parent / "second", self.experiment, only=lambda number: number % 3 != 2, cpu="Xeon")
        ran = self.claims("take", NAME, self.folder.parent / "second")
        self.assertIn("27 of 27 runs, 0 of them failed: complete", ran.stdout, ran.stderr)
        machines = [{"loss area": "1.25", "cpu": CPU if number % 3 == 2 else "Xeon", "kernels": "avx2"} for number in range(27)]
        self.assertEqual(self.rows(), [row | machine for row, machine in zip(expected, machines)])
        origin = results.read(self.folder, {NAME: self.experiment})[NAME].origin
        self.assertEqual((origin.cpu, origin.hours), (f"{CPU}, avx2; Xeon, avx2", 0.135))
        self.claims("build")
        self.assertEqual(self.complaints(), [])

    def test_each_row_has_its_cpu_if_the_origin_has_several(self):
        write_sweep(self.work, self.experiment)
        self.take()
        path = self.folder / f"data/runs/{NAME}.toml"
        path.write_text(path.read_text().replace(", avx2\"", ", avx2; Xeon, avx2\""))
        self.assertFalse([text for text in self.complaints() if "CPU" in text])
        content = (self.folder / f"data/runs/{NAME}.csv").read_text().replace(f'"{CPU}",avx2', ",", 1)
        path.with_suffix(".csv").write_text(content)
        path.write_text(re.sub("sha256 = .*", f'sha256 = "{hashlib.sha256(content.encode()).hexdigest()}"', path.read_text()))
        self.assertIn(f"{NAME}: a row has no CPU, but the origin has several", self.complaints())

    def test_adds_columns_to_results_that_were_taken_without_them(self):
        write_sweep(self.work, self.experiment, only=lambda number: number < 9)
        self.take()
        path = self.folder / f"data/runs/{NAME}.csv"
        content = re.sub(",loss area.*|,1.25,.*", "", path.read_text())
        path.write_text(content)
        origin = path.with_suffix(".toml")
        origin.write_text(re.sub("sha256 = .*", f'sha256 = "{hashlib.sha256(content.encode()).hexdigest()}"', origin.read_text()))
        write_sweep(self.folder.parent / "second", self.experiment, only=lambda number: 3 <= number < 12)
        ran = self.claims("take", NAME, self.folder.parent / "second")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual([row["loss area"] for row in self.rows()], [""] * 3 + ["1.25"] * 9)

    def test_takes_what_a_running_sweep_has_reported(self):
        write_sweep(self.work, self.experiment, finished=9)
        write_run(self.work / "cells/task=SWAP,attention=QKV,seed=1", "", {"test/accuracy": 0.5})
        self.assertIn("9 of 27 runs, 0 of them failed: a piece", self.take().stdout)
        self.assertIn("is older than the result of task=SWAP,attention=QKV,seed=1", self.take("--failed").stderr)

    def test_failed_selects_only_failed_runs(self):
        write_sweep(self.work, self.experiment, finished=26)
        last = "task=COPY,attention=KV,seed=3"
        self.assert_refuses(self.take("--failed"), f"{last} has not started, so it has not failed")
        log = self.work / "cells" / last / "log.txt"
        log.write_text("vitrine-train: stopped after 1.00 of 2.00 epochs; continue with:\n  vitrine-train run r\n")
        self.assert_refuses(self.take("--failed"), f"{last} was stopped and can continue, so it has not failed")
        log.write_text('epoch 1\rvitrine-train: the run has diverged: "nan"\n')
        self.assertIn("27 of 27 runs, 1 of them failed: complete", self.take("--failed").stdout)
        self.assertEqual(results.read(self.folder, {NAME: self.experiment})[NAME].origin.failures,
                         [{"cell": last, "reason": 'the run has diverged: "nan"'}])

    def test_refuses_a_sweep_that_differs_from_its_experiment(self):
        for options, pattern in (({"epochs": "0.1"}, "has 0.1 epochs, 01-digits-small has 2"),
                                 ({"flags": "--no-cache"}, "ran with --no-cache, which the command")):
            write_sweep(self.work, self.experiment, **options)
            self.assert_refuses(self.take(), pattern)
        write_sweep(self.work, self.experiment)
        (self.work / "report/grid.textproto").write_text("seeds: 9\n")
        self.assert_refuses(self.take(), "grid.textproto is not the grid of 01-digits-small, so these are the runs of another one")
        write_sweep(self.work, self.experiment)
        write_run(self.work / "cells/task=SUB,attention=KV,seed=2", "", {"test/accuracy": 0.5}, program="b" * 64)
        self.assert_refuses(self.take(), "ran under other conditions")
        self.assert_refuses(self.claims("take", "04-scaling", self.work), "04-scaling is no experiment of a sweep")


class Changes(unittest.TestCase):
    def test_seconds_may_change_unless_they_are_the_score(self):
        for name, changed in (("04-scaling", 90), ("03-norms", 0)):
            experiment = records.read_experiments(FOLDER)[name]
            before = results.read(FOLDER, {path.stem: None for path in (FOLDER / "data/runs").glob("*.csv")})[name]
            now = results.Runs(before.origin, [row | {"seconds": "1.0"} for row in before.rows])
            self.assertEqual([column for _, column in results.changes(experiment, before, now)], ["seconds"] * changed)


class Shards(unittest.TestCase):
    def test_documented_shards_split_no_pair(self):
        for experiment in records.read_experiments(FOLDER).values():
            cells, whole = results.cells(experiment), []
            for shards in range(2, len(cells)):
                if len({(seed, number % shards) for number, (_, seed) in enumerate(cells)}) == len(experiment.seeds):
                    whole.append(shards)
            self.assertEqual(sweeps.shards(experiment), whole, experiment.name)


class Hours(Sweeps):
    """Tests that the pages state the planned hours or, after runs were taken, hours estimated from these runs."""

    def cost(self, paper, claim):
        return next(shown.cost for shown in library.read(self.folder).claims[paper] if shown.claim.id == claim)

    def test_the_hours_of_missing_runs_follow_from_the_runs_at_hand(self):
        self.assertEqual(self.cost("002", "X12"), "6.8 hours of two cores for the missing runs of 10-mixers")
        self.assertEqual(self.cost("004", "K12"), "2.2 hours of two cores for the missing runs of 05-digits-64")
        found = library.read(self.folder)
        planned = sum(experiment.hours for experiment in found.experiments.values())
        write_sweep(self.work, found.experiments["05-digits-64"], finished=18)
        self.claims("take", "05-digits-64", self.work)
        self.assertEqual(self.cost("004", "K12"), "0.27 hours of two cores for the missing runs of 05-digits-64")
        self.claims("build")
        page = (self.folder / "experiments.md").read_text()
        self.assertIn("72 runs take about 0.36 hours on two cores, by the results at hand; 2.2 were planned.", page)
        self.assertIn(f"The missing runs need about {planned - 2.2 + 0.27:.3g} hours", page)

    def test_a_claim_with_a_rule_has_no_other_cost(self):
        self.change("data/004.toml", 'missing = "not yet run; Figure 2', 'cost = "an hour"\nmissing = "not yet run; Figure 2')
        self.assertIn("K12: its cost follows from its experiments, so it has no other", self.complaints())


class Complete(Sweeps):
    """Tests that the pages can be made when every sweep is complete and has only the columns that `take` gives."""

    def test_every_rule_is_decided_or_waits_for_its_metric(self):
        for experiment in library.read(self.folder).experiments.values():
            if experiment.recipe:
                work = self.folder.parent / experiment.name
                write_sweep(work, experiment, epochs=f"{experiment.epochs:g}")
                take.write(self.folder, experiment, take.read(experiment, work))
        ran = self.claims("build")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        found = {shown.claim.id: shown for shown in library.read(self.folder).claims["004"]}
        self.assertEqual(found["K12"].verdicts[0].values, [0.0] * 24)
        self.assertIn("X12: the results of 10-mixers have no test/loss, so its rule decides nothing", self.complaints())


class Rerun(Sweeps):
    """Tests `script/claims rerun` on a sweep whose runs with the seeds 1, 2 and 3 have the scores 0.501, 0.502 and
    0.503."""

    def setUp(self):
        super().setUp()
        write_sweep(self.work, self.experiment, finished=3)
        self.program = self.folder.parent / "vitrine-train"
        self.program.write_text(f"#!{sys.executable} -B\nimport sys\nsys.path.insert(0, {str(ROOT / 'tests/claims')!r})\n"
                                "import runs_test\nruns_test.train(sys.argv)\n")
        self.program.chmod(0o755)

    def rerun(self, said, *arguments):
        with mock.patch.dict(os.environ, {"TRAIN": json.dumps(said)}):
            ran = self.claims("rerun", "--pick", "x", "--train", self.program, "--work", self.folder.parent / "again", *arguments)
        return ran.returncode, ran.stdout + ran.stderr

    def recorded(self):
        """Returns the recorded score of the run that `rerun --pick x` selects."""
        return float(re.search(r"test/accuracy (\S+),", self.rerun({}, "--dry-run")[1])[1])

    def assert_rerun(self, said, status, pattern):
        self.assertEqual((found := self.rerun(said))[0], status, found[1])
        self.assertRegex(found[1], pattern)
        with contextlib.suppress(FileNotFoundError):
            next((self.folder.parent / "again/cells").glob("*/result.json"), pathlib.Path("none")).unlink(missing_ok=True)

    def test_compares_bits_on_a_cpu_of_the_same_kind(self):
        self.take()
        score = self.recorded()
        self.assert_rerun({"score": score}, 0, "expected: 0.01 hours.*\n(.*\n)*equal bits in 3 scores, with the same CPU")
        self.assert_rerun({"score": score + 1e-15}, 1, "OTHER BITS, with the same CPU, program, threads and data")

    def test_compares_with_the_other_seeds_on_another_cpu(self):
        self.take()
        self.assert_rerun({"score": 0.5021, "cpu": "other"}, 3,
                          "(?s)the result is then not decided.*NOT DECIDED: other bits.* from 2 other seeds.* is wider than all scores.*"
                          "built at commit abc, the bits must be equal on AMD")
        self.assert_rerun({"score": self.recorded(), "cpu": "other"}, 0, "equal bits in 3 scores, with other CPU")

    def test_the_cpu_is_that_of_the_run_and_not_of_its_grid(self):
        write_sweep(self.work, self.experiment, only=lambda number: number < 2)
        self.take()
        write_sweep(self.folder.parent / "second", self.experiment, only=lambda number: number == 2, cpu="Xeon")
        self.claims("take", NAME, self.folder.parent / "second")
        cpu = re.search("recorded with (.*), avx2, program", self.rerun({}, "--dry-run")[1])[1]
        self.assertIn(cpu, (CPU, "Xeon"))
        self.assert_rerun({"score": 0.6, "cpu": cpu}, 1, "OTHER BITS, with the same CPU")

    def test_a_failed_run_of_several_cpus_has_an_unknown_one(self):
        for cpu, said in (("A", "equal on A$"), ("A; B", "equal on the CPU of this run, which is not recorded; it is one of A; B$")):
            origin = results.Origin("", "", "", "", cpu, 1, 0)
            self.assertRegex(rerun.Drawn("", self.experiment, origin, {}, "diverged", [], 0).equal_bits, said)

    def test_an_interval_without_the_recorded_value_judges_nothing(self):
        def drawn(score):
            return rerun.Drawn("", self.experiment, results.Origin("", "", "", "", "", 1, 0), {"test/accuracy": score}, "",
                               [0.5, 0.501, 0.502, 0.501], 0.5)
        self.assertEqual(drawn("0.5").interval()[1], "")
        self.assertRegex(drawn("0.9").interval()[1], "0.49.* to 0.5.*, does not even have the recorded value")

    def test_missing_data_are_named_and_what_to_unpack(self):
        scratch = self.folder.parent
        with mock.patch.dict(os.environ, {"VITRINE_DATA": str(scratch)}):
            for packed, said in ((False, "; VITRINE_DATA names their folder$"), (True, f"folder. Unpack {scratch}/cifar10.tar.xz into a folder "
                                                                                  "DIR of yours and set VITRINE_DATA to DIR$")):
                if packed:
                    (scratch / "cifar10.tar.xz").touch()
                with self.assertRaisesRegex(records.Broken, f"there is no {scratch}/cifar10.*{said}"):
                    rerun.data_at_hand("imagefolder:$VITRINE_DATA/cifar10")

    def test_a_failed_rerun_of_a_successful_run_is_an_error(self):
        self.take()
        self.assert_rerun({}, 1, r"recorded: has scores; again: failed \(the run has diverged\)")
        self.assert_rerun({"status": 143}, 1, "ended with 143; the same command with --work .*again continues")


if __name__ == "__main__":
    unittest.main()
