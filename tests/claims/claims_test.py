# SPDX-License-Identifier: Apache-2.0
"""Tests that the files in docs/research/claims/ agree with each other, and tests script/claims on data with known results."""
import atexit
import functools
import hashlib
import itertools
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "script/claims"
sys.path.insert(0, str(ROOT / "script/evidence"))

import audit  # noqa: E402
import bundled  # noqa: E402
import history  # noqa: E402
import intervals  # noqa: E402
import judge  # noqa: E402
import library  # noqa: E402
import records  # noqa: E402
import runs as results  # noqa: E402
import words  # noqa: E402

FOLDER = ROOT / records.CLAIMS


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


@functools.lru_cache
def without_results():
    """Returns the folder of a copy of the claims without any results of experiments, so that new results do not affect the tests."""
    scratch = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, scratch)
    folder = pathlib.Path(scratch) / "claims"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("runs"))
    for paper in (folder / "data").glob("0*.toml"):
        claims = re.split(r"(?m)^(?=\[\[claim\]\]$)", paper.read_text())
        paper.write_text("".join(map(undecided, claims)))
    built = run("--folder", folder, "build")
    if built.returncode:
        raise AssertionError(built.stderr)
    return folder


def undecided(claim):
    """Returns the TOML of a claim without the verdict that its rules derived from runs."""
    if "[[claim.rule]]" not in claim or not re.search(r'^evidence = "(run|reduced)"$', claim, re.MULTILINE):
        return claim
    claim = re.sub(r'(?m)^evidence = .*\nword = .*$', 'evidence = "none"\nword = "none"', claim)
    claim = re.sub(r"(?m)^(missing|cost) = .*\n", "", claim)
    return claim.replace("[[claim.rule]]", 'missing = "not yet run"\n[[claim.rule]]', 1)


class Copy(unittest.TestCase):
    """Base class of tests that have their own copy of the claims, without any results of experiments."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "claims"
        shutil.copytree(without_results(), self.folder)

    def change(self, name, before, after):
        path = self.folder / name
        text = path.read_text()
        self.assertIn(before, text)
        path.write_text(text.replace(before, after, 1))

    def complaints(self):
        return audit.check(self.folder, with_history=False)

    def add_runs(self, name, rows, failures="", digest="p"):
        """Adds lines of CSV to the results of an experiment."""
        content = "\n".join(rows) + "\n"
        (self.folder / "data/runs").mkdir(exist_ok=True)
        (self.folder / f"data/runs/{name}.csv").write_text(content)
        (self.folder / f"data/runs/{name}.toml").write_text(
            f'sha256 = "{hashlib.sha256(content.encode()).hexdigest()}"\ndate = "2026-11-26"\ncommand = "c"\nprogram = "{digest}"\n'
            f'cpu = "x"\nthreads = 1\nhours = 0.1\n{failures}')


class Claims(unittest.TestCase):
    def test_audit_finds_no_contradiction(self):
        ran = run("audit")
        # A source archive and a shallow clone lack the git history that the audit needs.
        if not (ROOT / ".git").exists() or history.git(ROOT, "rev-parse", "--is-shallow-repository") == "true\n":
            self.assertEqual(ran.stderr, f"script/claims: {history.MISSING}\n")
            return
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("111 claims", ran.stdout)

    def test_verdicts_equal_the_recorded_ones(self):
        for command, least in (("arithmetic", 50), ("outputs", 10)):
            ran = run(command)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertGreaterEqual(len(ran.stdout.splitlines()), least, command)

    def test_audit_detects_every_changed_digit(self):
        ran = run("audit", "--mutate", "20", "--seed", "test")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("20 of 20 changes were noticed", ran.stdout)


class Audit(Copy):
    def assert_complains(self, pattern):
        self.assertTrue(any(re.search(pattern, text) for text in self.complaints()), self.complaints())

    def test_names_a_verdict_that_its_finding_contradicts(self):
        self.change("data/000.toml", 'id = "Q8"\nplace = "Table 2"\nsays = "Eighteen sizes of models."\nevidence = "arithmetic"\n'
                    'word = "contradicted by its own table"',
                    'id = "Q8"\nplace = "Table 2"\nsays = "Eighteen sizes of models."\nevidence = "arithmetic"\nword = "consistent"')
        self.assert_complains("^Q8: its word is 'consistent', its finding says 'contradicted by its own table'$")

    def test_names_a_page_that_was_edited(self):
        self.change("index.md", "111 claims", "112 claims")
        self.assert_complains("^index.md is not what the data make")

    def test_names_a_rule_that_cannot_decide_and_is_not_there(self):
        self.change("data/002.toml", "cannot_decide = [{rule = 1,", "cannot_decide = [{rule = 2,")
        self.assert_complains("^X8: it has no rule 2 that cannot decide$")

    def test_names_a_rule_that_judges_averaged_weights(self):
        self.change("data/000.toml", 'metric = "test-raw/top1"', 'metric = "test/top1"')
        self.assert_complains("^Q1: test/top1 is a score of averaged weights, .* xcit-n12-f-sne-cifar10 .*: test-raw/top1$")

    def test_a_recipe_inherits_the_average_of_weights(self):
        self.assertEqual([audit.averages(name) for name in ("xcit-sne-imagenet", "xvit-384", "eit-cifar10", "task-sub")],
                         [True, False, False, False])

    def test_refuses_to_mutate_data_with_complaints(self):
        self.change("index.md", "111 claims", "112 claims")
        ran = run("--folder", self.folder, "audit", "--mutate", "1")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("nothing was changed, because the audit complains already", ran.stderr)


class Intervals(unittest.TestCase):
    def test_student_quantiles_equal_published_tables(self):
        for tail, freedom, expected in ((0.025, 2, 4.302653), (0.025, 15, 2.131450), (0.05, 7, 1.894579), (0.005, 30, 2.749996)):
            self.assertAlmostEqual(intervals.t_quantile(tail, freedom), expected, places=5)
        found = intervals.estimate([1.0, 2.0, 3.0])
        self.assertAlmostEqual(found.high - found.mean, 4.302653 / math.sqrt(3), places=5)

    def test_sign_test_rank_correlation_and_holm_correction(self):
        self.assertEqual(intervals.sign_test([1, 2, 3, 4, 5]), 0.0625)
        self.assertEqual(intervals.rank_correlation([1, 2, 3, 4], [2, 1, 4, 3]), 0.6)
        corrected = intervals.holm([0.01, 0.04, 0.03])
        self.assertEqual([round(value, 10) for value in corrected], [0.03, 0.06, 0.06])


# Values of TestPaired.AgreesWithScipy and EqualDifferencesCountByTheirSignsOnly in tests/common/statistics/paired_test.cc:
# differences of pairs, their two-sided p, and the p of equivalence within a margin of 0.03.
PAIRED = (
    ([0.012, 0.008, 0.015, 0.011], 0.004124949884635448, 0.0005124218498759286),
    ([0.02, -0.01, 0.03, 0.005, 0.004, 0.013, 0.021], 0.05685458224503019, 0.005684685509611673),
    ([-0.3, -0.1, -0.25, -0.2, -0.15, -0.35], 0.0020023414411332666, 0.9981249121059087),
    ([0.81 - 0.8, 0.82 - 0.81, 0.83 - 0.82], 0.25, 0.125),
    ([-0.01] * 6, 0.03125, 0.015625),
    ([0.0] * 6, 1, 0.015625),
    ([0.5], 1, 1),
)


class Paired(unittest.TestCase):
    """Tests that the statistics equal those of common/statistics/paired.cc, with which `vitrine-train sweep` judges."""

    def test_the_same_pairs_have_the_same_p(self):
        for values, p, equivalence_p in PAIRED:
            difference, equivalence = judge.of_values(values, 0, None), judge.of_values(values, -0.03, 0.03)
            self.assertAlmostEqual(min(difference.p_holds, difference.p_fails), p, places=9, msg=values)
            self.assertAlmostEqual(equivalence.p_holds, equivalence_p, places=9, msg=values)
        self.assertEqual(intervals.estimate(PAIRED[3][0]).deviation, 0, "equal except for rounding")

    def test_a_table_is_corrected_as_one_family(self):
        """Uses the values of the C++ test TestPaired.CorrectsForTheComparisonsOfTheTable."""
        tables = [[0.02, -0.003, 0.03, 0.005, 0.004, 0.013, 0.021], [0.1, -0.1, 0.1], [-0.1, 0.1, 0.2]]
        outcomes = [judge.of_values(values, 0, None) for values in tables]
        self.assertLess(outcomes[0].p_holds, 0.05)
        self.assertAlmostEqual(judge.corrected(outcomes)[0][0], 3 * outcomes[0].p_holds, places=12)

    def test_the_number_of_pairs_is_that_of_the_t_test(self):
        """Uses the values of the C++ test PairsNeeded.IsAtMostOneAboveTheExactNumber."""
        for ratio, tail, exact in ((0.5, 0.025, 5), (1, 0.025, 10), (2, 0.025, 34), (5, 0.025, 199), (1, 0.05, 8),
                                   (1.5, 0.025 / 6, 31), (0.1, 0.025, 3), (20, 0.05 / 3, 3530)):
            self.assertIn(intervals.pairs_needed(ratio, 1, tail), (exact, exact + 1), (ratio, tail))
        self.assertEqual([intervals.pairs_needed(*case, 0.025) for case in ((1, 0), (0, 1), (1, 1e-4))], [None] * 3)


def digit_rows(scores):
    """Returns results of the experiment 01-digits-small as CSV. `scores` has one score per task. The scores of different seeds
    differ slightly."""
    rows = ["task,attention,seed,run,epochs,seconds,test/accuracy"]
    for task, attention, seed in itertools.product(("SUB", "SWAP", "COPY"), ("QKV", "KV+Pos", "KV"), (1, 2, 3)):
        rows.append(f"{task},{attention},{seed},r,2,10,{scores[task] - seed / 10000}")
    return rows


class Runs(Copy):
    def verdicts(self):
        found = library.read(self.folder)
        return next(shown for shown in found.claims["004"] if shown.claim.id == "K6").verdicts

    def test_runs_decide_a_claim_by_its_rules(self):
        self.add_runs("01-digits-small", digit_rows({"SUB": 1.0, "SWAP": 0.5, "COPY": 1.0}))
        self.assertEqual({verdict.word for verdict in self.verdicts().values()}, {"does not hold here"})
        self.add_runs("01-digits-small", digit_rows({"SUB": 0.6, "SWAP": 1.0, "COPY": 1.0}))
        self.assertEqual({verdict.word for verdict in self.verdicts().values()}, {"holds here"})

    def test_runs_that_scatter_leave_a_claim_undecided(self):
        rows = digit_rows({"SUB": 0.6, "SWAP": 1.0, "COPY": 1.0})
        rows = [row.replace("0.5999", "0.99").replace("0.5998", "0.2") if row.startswith("SUB") else row for row in rows]
        self.add_runs("01-digits-small", rows)
        self.assertRegex(self.verdicts()[0].word, r"^undecided here, n needed \d+$")

    def test_an_incomplete_grid_decides_nothing(self):
        rows = digit_rows({"SUB": 1.0, "SWAP": 0.5, "COPY": 1.0})
        self.add_runs("01-digits-small", rows[:-1])
        self.assertEqual(self.verdicts(), {})
        missing = "task=COPY,attention=KV,seed=3"
        self.add_runs("01-digits-small", rows[:-1], f'failures = [{{cell = "{missing}", reason = "diverged"}}]\n')
        self.assertEqual({verdict.word for verdict in self.verdicts().values()}, {"does not hold here"})

    def test_a_run_outside_the_grid_is_an_error(self):
        rows = digit_rows({"SUB": 1.0, "SWAP": 0.5, "COPY": 1.0})
        self.add_runs("01-digits-small", rows + [rows[-1], rows[-1].replace("COPY", "SORT")])
        self.assertIn("01-digits-small: task=SORT,attention=KV,seed=3 is no cell of the grid", self.complaints())
        self.assertIn("01-digits-small: task=COPY,attention=KV,seed=3 is there twice", self.complaints())

    def test_the_verdict_of_runs_follows_their_rules(self):
        self.add_runs("01-digits-small", digit_rows({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0}))
        self.change("data/004.toml", 'says = "Copy is solved, 1.0."\nevidence = "outputs"\nword = "confirmed"',
                    'says = "Copy is solved, 1.0."\nevidence = "reduced"\nword = "does not hold here"')
        self.assertRegex("\n".join(self.complaints()), "K10.*does not hold here.*holds here")

    def test_changed_runs_are_detected(self):
        self.add_runs("01-digits-small", digit_rows({"SUB": 1.0, "SWAP": 1.0, "COPY": 1.0}))
        self.change("data/runs/01-digits-small.csv", "0.9999", "0.8999")
        self.assertEqual(self.complaints(), ["runs/01-digits-small.csv does not have the digest of 01-digits-small.toml"])


class Bundled(unittest.TestCase):
    def test_data_without_a_rule_and_an_interval_decide_nothing(self):
        printed = records.read_printed(FOLDER, "000")
        for decide in (bundled.q19, bundled.q20, bundled.v16):
            self.assertRegex(decide(printed)[0], "^undecided here, n needed")


class Scale(Copy):
    def scales(self):
        return {(shown.claim.id, rule.scale) for shown in library.read(self.folder).claims["002"] for rule in shown.claim.rules
                if shown.claim.id in ("X7", "X11")}

    def test_an_experiment_that_deviates_is_reduced(self):
        self.assertEqual(self.scales(), {("X7", "reduced"), ("X11", "reduced")})
        path = self.folder / "data/experiments/04-scaling.toml"
        path.write_text(re.sub(r"(?m)^deviates = .*\n", "", path.read_text()))
        self.assertEqual(self.scales(), {("X7", "same"), ("X11", "same")})


class Rules(unittest.TestCase):
    def rule(self, **fields):
        return records.Rule(**{"experiment": "e", "compare": "above", "metric": "m", "of": {"model": "a"}, "to": {"model": "b"}} | fields)

    def judge(self, rule, scores, failures=(), cannot_decide=()):
        """Returns the verdict of the rule. `scores` maps a model to one score per seed. `failures` lists the runs ("model=M,seed=S")
        without a score."""
        seeds = range(1, 1 + max(map(len, scores.values())))
        axes = [{"name": "model", "values": list(scores)}]
        experiment = records.Experiment(name="e", block=0, title="", hours=0, seeds=list(seeds), axes=axes)
        rows = [{"model": model, "seed": str(seed), "m": str(value)}
                for model, values in scores.items() for seed, value in zip(seeds, values)]
        rows = [row for row in rows if f"model={row['model']},seed={row['seed']}" not in failures]
        origin = results.Origin("", "", "", "", "", 1, 0, failures=[{"cell": name, "reason": "diverged"} for name in failures])
        claim = records.Claim("C1", "Table 1", "", "none", "none", rules=[rule], cannot_decide=list(cannot_decide))
        return judge.decide([claim], {"e": experiment}, {"e": results.Runs(origin, rows)})["C1"][0]

    def test_a_rule_whose_runs_cannot_test_the_claim_is_undecided(self):
        scores = {"a": [0.6] * 6 + [0.61], "b": [0.5] * 6 + [0.52]}
        for scale, word in (("reduced", "undecided here"), ("same", "undecided")):
            rule = self.rule(scale=scale)
            self.assertIn(self.judge(rule, scores).word, ("holds here", "reproduced"))
            verdict = self.judge(rule, scores, cannot_decide=[{"rule": 1, "reason": "both are at chance"}])
            self.assertEqual(verdict.word, f"{word}, n needed: no number decides")
            self.assertRegex(verdict.text, r"^: 0\.09857 .*\. This decides nothing: both are at chance$")

    def test_compared_runs_are_paired_by_seed(self):
        """The scores of the two models overlap, but their difference is nearly the same for every seed."""
        verdict = self.judge(self.rule(), {"a": [0.52, 0.621, 0.73], "b": [0.50, 0.60, 0.71]})
        self.assertEqual(verdict.word, "holds here")
        self.assertIn("sign test p 0.25", verdict.text)

    def test_the_sign_test_compares_with_the_bound(self):
        rule = self.rule(compare="level", to={}, low=0.99)
        self.assertIn("sign test p 1", self.judge(rule, {"a": [1.0, 0.97, 1.0]}).text)

    def test_equal_values_count_by_their_signs_only(self):
        verdict = self.judge(self.rule(), {"a": [98.01] * 3, "b": [98.0] * 3})
        self.assertEqual(verdict.word, "undecided here, n needed 6")
        self.assertIn("n 3, all values equal, so p is that of the sign test, p 0.25 by Holm", verdict.text)
        self.assertEqual(self.judge(self.rule(), {"a": [98.01] * 6, "b": [98.0] * 6}).word, "holds here")
        level = self.rule(compare="level", to={}, low=0.99)
        self.assertEqual(self.judge(level, {"a": [1.0, 1.0, 1.0]}).word, "undecided here, n needed 6")

    def test_two_pairs_decide_nothing(self):
        self.assertRegex(self.judge(self.rule(), {"a": [0.6, 0.6001], "b": [0.5, 0.5]}).word, "^undecided here, n needed 3$")

    def test_values_on_both_sides_need_six_pairs(self):
        """The t-test of these five pairs gives p = 0.017, so only the signs of the pairs leave the rule undecided."""
        self.assertEqual(self.judge(self.rule(), {"a": [-0.001, 0.1, 0.1, 0.1, 0.1], "b": [0.0] * 5}).word, "undecided here, n needed 6")

    def test_the_two_words_of_a_rule_share_the_level(self):
        """The one-sided p of these pairs is 0.03, so the two-sided p is 0.06."""
        self.assertRegex(self.judge(self.rule(), {"a": [0.52, 0.49, 0.53, 0.505, 0.504, 0.513, 0.521], "b": [0.5] * 7}).word,
                         "^undecided here, n needed ")

    def test_equivalence_needs_a_narrow_interval(self):
        rule = self.rule(compare="equal", margin=0.02, scale="same")
        self.assertEqual(self.judge(rule, {"a": [0.50, 0.51, 0.50, 0.52], "b": [0.50, 0.505, 0.50, 0.52]}).word, "equivalent within 0.02")
        self.assertEqual(self.judge(rule, {"a": [0.60, 0.61, 0.60, 0.63], "b": [0.50, 0.51, 0.50, 0.52]}).word, "refuted")
        self.assertRegex(self.judge(rule, {"a": [0.50, 0.60], "b": [0.52, 0.55]}).word, "^undecided, n needed")

    def test_an_order_needs_every_step(self):
        rule = self.rule(compare="order", of={}, to={}, steps=[{"model": "a"}, {"model": "b"}, {"model": "c"}])
        rising = {"a": [0.1, 0.11, 0.12], "b": [0.2, 0.212, 0.22], "c": [0.3, 0.31, 0.325]}
        self.assertEqual(self.judge(rule, rising).word, "holds here")
        self.assertNotEqual(self.judge(rule, rising | {"c": [0.2, 0.213, 0.219]}).word, "holds here")

    def test_a_failed_run_counts_as_the_worst(self):
        scores = {"a": [0.6] * 6 + [0.61], "b": [0.5] * 6 + [0.52]}
        self.assertEqual(self.judge(self.rule(), scores).word, "holds here")
        failed = self.judge(self.rule(), scores, ["model=a,seed=2", "model=a,seed=3"])
        self.assertEqual(len(failed.values), 7)
        self.assertRegex(failed.word, "^undecided here")
        self.assertEqual(self.judge(self.rule(), scores, ["model=b,seed=2"]).word, "holds here")

    def test_the_label_of_a_failed_run_may_have_a_comma(self):
        scores = {"F-SNE,16": [0.6] * 6 + [0.61], "b": [0.5] * 6 + [0.52]}
        verdict = self.judge(self.rule(of={"model": "F-SNE,16"}), scores, ["model=F-SNE,16,seed=2"])
        self.assertEqual(len(verdict.values), 7)
        self.assertLess(verdict.values[1], 0)

    def test_correlation_compares_models(self):
        axes = [{"name": "model", "values": list("abcdefgh")}]
        experiment = records.Experiment(name="e", block=0, title="", hours=0, seeds=[1], axes=axes)
        rows = [{"model": name, "seed": "1", "m": str(place), "top1": str(place * place)} for place, name in enumerate("abcdefgh")]
        rule = records.Rule(experiment="e", compare="correlation", metric="m", of={}, to={"metric": "top1"}, per="model", low=0.0)
        runs = results.Runs(results.Origin("", "", "", "", "", 1, 0), rows)
        claim = records.Claim("C1", "Table 1", "", "none", "none", rules=[rule, records.Rule(**vars(rule) | {"low": None, "high": 0.0})])
        verdicts = judge.decide([claim], {"e": experiment}, {"e": runs})["C1"]
        self.assertEqual([verdicts[0].word, verdicts[1].word], ["holds here", "does not hold here"])
        for row, place in zip(rows, (4, 1, 7, 2, 8, 3, 6, 5)):
            row["top1"] = str(place)
        word = judge.decide([claim], {"e": experiment}, {"e": runs})["C1"][0].word
        self.assertEqual(word, "undecided here, n needed: more than 8 models")
        self.assertTrue(words.allowed("reduced", word))

    def test_an_exponent_is_fitted_to_logarithms(self):
        rule = records.Rule(experiment="e", compare="exponent", metric="m", of={}, per="model", low=0.9, high=1.1, scale="same")
        linear = {"100": [1.0, 1.01, 1.0], "200": [2.0, 2.01, 2.01], "400": [4.0, 4.02, 4.0]}
        self.assertEqual(self.judge(rule, linear).word, "reproduced")
        self.assertEqual(self.judge(rule, {"100": [1.0, 1.01, 1.0], "200": [4.0, 4.01, 4.01], "400": [16.0, 16.1, 16.0]}).word, "refuted")


if __name__ == "__main__":
    unittest.main()
