# SPDX-License-Identifier: Apache-2.0
"""Tests that `vitrine-repo describe` draws and lists a model's whole program, without overlaps."""
import collections
import functools
import itertools
import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

PROGRAM = Path(sys.argv.pop(1)) / "bin" / "vitrine-repo"
BUNDLED = Path(__file__).resolve().parents[3] / "models/bundled"
SVG = "{http://www.w3.org/2000/svg}"
# Models of every family. Together they cover all forms that the drawing shows differently, for example blocks with
# post-norm.
MODELS = ["vit-ti16", "vit-b16-native", "vit-ti16-post", "vit-c-mini-cifar10", "lsra-mini-cifar10", "cvt-pt-mini-cifar10",
          "eit34-mini-cifar10", "eit34-mini-bn-relu-cifar10", "eit34-mini-gelu-conv-cifar10", "eit34-mini-parallel-cifar10",
          "kv-pos-mnist-p7-d64-l4", "xcit-n12", "xcit-n12-sne-4-layers", "xcit-n12-p-sne", "xcit-n12-f-sne-8-wide-own-codes",
          "xcit-s12", "xvit-t", "xvit-t-last-axis", "null"]
# Mean letter width, relative to the font size, in DejaVu Sans, the widest of the requested fonts.
LETTER, BOLD_LETTER = 0.59, 0.66


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        return (self.left < other.right and other.left < self.right and
                self.top < other.bottom and other.top < self.bottom)

    def holds(self, other: "Box") -> bool:
        return (self.left <= other.left and other.right <= self.right and
                self.top <= other.top and other.bottom <= self.bottom)

    def within(self, by: float) -> "Box":
        return Box(self.left + by, self.top + by, self.right - by, self.bottom - by)


def box_of(rect: ElementTree.Element) -> Box:
    x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return Box(x, y, x + width, y + height)


def box_of_text(text: ElementTree.Element) -> Box:
    x, y, size = (float(text.attrib[name]) for name in ("x", "y", "font-size"))
    bold = text.attrib.get("font-weight") == "bold"
    width = len(text.text or "") * size * (BOLD_LETTER if bold else LETTER)
    left = x - width if text.attrib.get("text-anchor") == "end" else x
    return Box(left, y - 0.8 * size, left + width, y + 0.25 * size)


def lines_of(path: ElementTree.Element) -> list[Box]:
    corners = [tuple(map(float, corner.split())) for corner in re.split("[ML]", path.attrib["d"])[1:]]
    return [Box(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])) for a, b in zip(corners, corners[1:])]


def pairs_that_meet(boxes: list[Box]) -> list[tuple[Box, Box]]:
    return [(a, b) for a, b in itertools.combinations(boxes, 2) if a.meets(b)]


class Drawing:
    def __init__(self, text: str) -> None:
        self.text = text
        self.root = ElementTree.fromstring(text)
        self.panels = self.groups(self.root, "panel")
        self.paper = Box(0, 0, float(self.root.attrib["width"]), float(self.root.attrib["height"]))

    @staticmethod
    def groups(element: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
        return [group for group in element.iter(SVG + "g") if group.attrib.get("class") == kind]

    def nodes(self) -> list[ElementTree.Element]:
        return self.groups(self.root, "operator") + self.groups(self.root, "port")

    def boxes(self) -> list[Box]:
        return [box_of(node.find(SVG + "rect")) for node in self.nodes()]

    def depths(self) -> list[int]:
        return [int(panel.attrib["data-depth"]) for panel in self.panels]

    def operators(self) -> list[str]:
        """Returns the names of all operators, including those in collapsed blocks."""
        names = []
        for panel in self.panels:
            prefixes = [block + "." for block in panel.attrib["data-blocks"].split()] or [""]
            names += [prefix + op.attrib["data-name"] for prefix in prefixes for op in self.groups(panel, "operator")]
        return names

    def macs(self) -> int:
        return sum(depth * sum(int(op.attrib["data-macs"]) for op in self.groups(panel, "operator"))
                   for panel, depth in zip(self.panels, self.depths()))


def name_at(boxes: list[tuple[Box, str]], corner: str) -> str:
    x, y = map(float, corner.split())
    return next(name for box, name in boxes if box.holds(Box(x, y, x, y)))


def describe(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), "describe", *arguments, "--no-measure", "--format", "json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@functools.cache
def drawn(*arguments: str) -> tuple[dict, Drawing]:
    """Returns the description of a model and its drawing."""
    with tempfile.TemporaryDirectory(prefix="vitrine-graph-") as folder:
        run = describe(*arguments, "--out", folder)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout), Drawing((Path(folder) / "program.svg").read_text())


def of_each_model(test):
    @functools.wraps(test)
    def tests(self) -> None:
        for model in MODELS:
            with self.subTest(model):
                test(self, model, *drawn(model))
    return tests


class Graph(unittest.TestCase):
    @of_each_model
    def test_has_every_operator_and_its_cost(self, model: str, description: dict, drawing: Drawing) -> None:
        told = collections.Counter(op["name"] for op in description["program"]["operators"])
        self.assertEqual(collections.Counter(drawing.operators()), told)
        self.assertEqual(drawing.macs(), description["macs"])
        heading = " ".join(text.text or "" for text in drawing.root.findall(SVG + "text"))
        for what in (model, f"{description['parameters']:,} parameters", f"{description['macs']:,} multiply-adds",
                     "published form", f"{description['input']['height']}x{description['input']['width']}"):
            self.assertIn(what, heading)

    @of_each_model
    def test_boxes_do_not_overlap(self, model: str, description: dict, drawing: Drawing) -> None:
        self.assertEqual(pairs_that_meet(drawing.boxes()), [])
        panels = [box_of(panel.find(SVG + "rect")) for panel in drawing.panels]
        self.assertEqual(pairs_that_meet(panels), [])
        for panel, group in zip([box_of(panel.findall(SVG + "rect")[-1]) for panel in drawing.panels], drawing.panels):
            self.assertTrue(drawing.paper.holds(panel), panel)
            for rect in group.findall(f"{SVG}g/{SVG}rect"):
                self.assertTrue(panel.holds(box_of(rect)), ElementTree.tostring(rect))

    @of_each_model
    def test_text_stays_in_its_box(self, model: str, description: dict, drawing: Drawing) -> None:
        for node in drawing.nodes():
            texts = [box_of_text(text) for text in node.findall(SVG + "text")]
            self.assertGreaterEqual(len(texts), 2)
            self.assertEqual(pairs_that_meet(texts), [], ElementTree.tostring(node))
            for text in texts:
                self.assertTrue(box_of(node.find(SVG + "rect")).holds(text), ElementTree.tostring(node))
        for text in drawing.root.iter(SVG + "text"):
            self.assertTrue(drawing.paper.holds(box_of_text(text)), text.text)

    @of_each_model
    def test_wires_join_boxes_and_cross_none(self, model: str, description: dict, drawing: Drawing) -> None:
        boxes = drawing.boxes()
        wires = [path for path in drawing.root.iter(SVG + "path") if path.attrib.get("class") == "wire"]
        for wire in wires:
            lines = lines_of(wire)
            for line in lines:
                self.assertTrue(line.left == line.right or line.top == line.bottom, wire.attrib["d"])
                thick = line.within(-0.1)
                crossed = [box for box in boxes if box.within(0.5).meets(thick)]
                self.assertEqual(crossed, [], wire.attrib["d"])
            for end in (lines[0], lines[-1]):
                self.assertTrue(any(box.within(-0.2).meets(end.within(-0.1)) for box in boxes), wire.attrib["d"])

    @of_each_model
    def test_wires_equal_the_inputs(self, model: str, description: dict, drawing: Drawing) -> None:
        operators = description["program"]["operators"]
        for panel in drawing.panels:
            block = "".join(name + "." for name in panel.attrib["data-blocks"].split()[:1])
            inside = {block + op.attrib["data-name"] for op in drawing.groups(panel, "operator")}
            makers = {op["output"]: op["name"] for op in operators if op["name"] in inside}
            told = collections.Counter((makers.get(value, "outside"), op["name"])
                                       for op in operators if op["name"] in inside for value in op["inputs"])
            nodes = [(box_of(node.find(SVG + "rect")).within(-0.2), block + node.attrib["data-name"])
                     for node in drawing.groups(panel, "operator")]
            nodes += [(box_of(node.find(SVG + "rect")).within(-0.2), "outside") for node in drawing.groups(panel, "port")]
            wires = [path.attrib["d"][1:].split(" L") for path in panel.findall(SVG + "path")]
            ends = collections.Counter((name_at(nodes, wire[0]), name_at(nodes, wire[-1])) for wire in wires)
            self.assertEqual(ends, told)

    @of_each_model
    def test_loads_no_external_file(self, model: str, description: dict, drawing: Drawing) -> None:
        kinds = {element.tag for element in drawing.root.iter()}
        self.assertLessEqual(kinds, {SVG + tag for tag in ("svg", "title", "defs", "marker", "path", "rect", "text", "g")})
        self.assertNotRegex(drawing.text, "href|@import|<style|url\\((?!#)")

    def test_equal_blocks_are_one_panel(self) -> None:
        for model, depths in {"vit-ti16": [1, 12, 1], "xcit-n12": [1, 12, 1, 2, 1], "lsra-mini-cifar10": [1, 5, 1],
                              # No two of the five blocks are equal, because each convolves a different number of channels.
                              "eit34-mini-cifar10": [1, 1, 1, 1, 1, 1, 1], "null": [1]}.items():
            drawing = drawn(model)[1]
            self.assertEqual(drawing.depths(), depths, model)
            for depth in filter(lambda depth: depth > 1, depths):
                self.assertIn(f">x {depth}<", drawing.text)

    def test_branches_are_beside_the_trunk(self) -> None:
        block = drawn("vit-ti16")[1].panels[1]
        left = {op.attrib["data-name"]: box_of(op.find(SVG + "rect")).left for op in Drawing.groups(block, "operator")}
        trunk = {name for name in left if name.endswith("add")}
        self.assertEqual(trunk, {"add", "feed_forward.add"})
        self.assertLess(max(left[name] for name in trunk), min(left[name] for name in left.keys() - trunk))

    def test_shapes_follow_the_described_image(self) -> None:
        self.assertIn("[196 + class, 192]", drawn("vit-ti16")[1].text)
        wide = drawn("xcit-n12", "--resolution", "224x320", "--batch", "4")[1]
        for shape in ("[224x320, 3]", "[112x160, 16]", "[280, 128]", "[280 + class, 128]"):
            self.assertIn(f">{shape}<", wide.text)

    def test_draws_a_published_version(self) -> None:
        drawing = drawn("eit-mini-cifar10@2", "--repository", str(BUNDLED))[1]
        self.assertIn("eit-mini-cifar10/2", drawing.text)

    def test_names_a_file_that_cannot_be_written(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            run = describe("vit-ti16", "--out", file.name)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"--out {file.name}: ", run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)


class Program(unittest.TestCase):
    @of_each_model
    def test_description_is_complete_and_ordered(self, model: str, description: dict, drawing: Drawing) -> None:
        program = description["program"]
        known = {0}  # the input images
        for op in program["operators"]:
            self.assertLessEqual(set(op["inputs"]), known, op["name"])
            self.assertNotIn(op["output"], known, op["name"])
            self.assertIn(op["part"], ("input", "block", "head"))
            known.add(op["output"])
        self.assertEqual(known, set(range(len(program["values"]))))
        self.assertEqual(program["values"][program["logits"]]["kind"], "rows")
        weights = {weight["name"]: weight for weight in program["weights"]}
        self.assertEqual(len(weights), len(program["weights"]))
        self.assertEqual({name for op in program["operators"] for name in op["weights"]}, weights.keys())
        trained = [weight for weight in weights.values() if weight["trained"]]
        self.assertEqual(sum(elements(weight["shape"]) for weight in trained), description["parameters"])

    def test_description_has_the_settings(self) -> None:
        program = drawn("vit-ti16")[0]["program"]
        operators = {op["name"]: op for op in program["operators"]}
        attend = operators["blocks.3.attention.mix"]
        self.assertEqual((attend["kind"], attend["settings"]["heads"], attend["settings"]["layer"]), ("Attend", 3, 3))
        self.assertEqual(operators["blocks.3.attention.qkv"]["settings"]["outputs"], 576)
        self.assertEqual(operators["patches.patchify"]["settings"], {"patch": 16})
        self.assertEqual(program["values"][0], {"kind": "map", "columns": 3})


def elements(shape: list[int]) -> int:
    product = 1
    for side in shape:
        product *= side
    return product


if __name__ == "__main__":
    unittest.main()
