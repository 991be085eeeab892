# SPDX-License-Identifier: Apache-2.0
import io
from html.parser import HTMLParser
from pathlib import Path
from typing import List

import grpc
import numpy as np
import pytest
from conftest import MODEL, Server
from PIL import Image
from scripted import Script, answer, serve

import vitrine
from vitrine import _drawing
from vitrine.v1 import attention_pb2, classifier_pb2


def test_overlay_is_similar_to_the_servers(client: vitrine.Client, server: Server, cat: Path) -> None:
    request = classifier_pb2.ClassifyRequest(model=MODEL, image=cat.read_bytes())
    request.attention.add(kind=attention_pb2.CLASS_TOKEN_ROW, encoding=attention_pb2.OVERLAY_PNG)
    with grpc.insecure_channel(server.address) as channel:
        method = channel.unary_unary(
            "/vitrine.v1.Classifier/Classify",
            request_serializer=classifier_pb2.ClassifyRequest.SerializeToString,
            response_deserializer=classifier_pb2.ClassifyResponse.FromString,
        )
        theirs = Image.open(io.BytesIO(method(request).attention[0].values)).convert("RGB")
    ours = client.classify(cat, MODEL, attention="class").attention[0].overlay()
    assert theirs.width == ours.width and theirs.height > ours.height, "theirs has words and a bar of colours below"
    theirs = theirs.crop((0, 0, *ours.size))
    difference = np.abs(np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float))
    assert difference.mean() < 2 and np.quantile(difference, 0.999) < 13


def test_overlay_covers_only_the_visible_part() -> None:
    picture = Image.new("RGB", (400, 200), (200, 200, 200))
    values = np.array([[0, 1], [1, 0]], np.float32)
    drawn = np.asarray(_drawing.overlay(picture, values, (0.25, 0, 0.75, 1), False))
    assert drawn.shape == (200, 400, 3)
    assert (drawn[:, :99] == 70).all(), "what is not covered is dimmed"
    assert (drawn[100, 100] == 255).all(), "a white line is the border"
    assert drawn[190, 110].sum() > drawn[10, 110].sum() + 100


def test_colours_diverge_around_zero() -> None:
    ramp = np.linspace(-1, 1, 5, dtype=np.float32)[np.newaxis]
    blue, _, middle, _, red = _drawing.paint(ramp, (-1, 1), True)[0].astype(int)
    assert blue[2] > 150 > blue[0] and red[0] > 150 > red[2] and middle.min() > 235
    dark, *_, bright = _drawing.paint(ramp, (-1, 1), False)[0].astype(int)
    assert dark.sum() < 10 and bright.sum() > 600
    assert _drawing.paint(np.zeros((2, 2), np.float32), (0, 0), True).min() > 235
    assert _drawing.value_range(np.array([[-1, 3]], np.float32), True) == (-3, 3)


def test_nearly_equal_attention_is_drawn_flat() -> None:
    picture = Image.new("RGB", (300, 300), (100, 100, 100))
    values = np.full((7, 7), 1 / 49, np.float32)
    values[::2] *= 1.01
    drawn = np.asarray(_drawing.overlay(picture, values, (0, 0, 1, 1), False))[2:-2, 2:-2].astype(int).sum(axis=2)
    assert drawn.max() - drawn.min() < 12 and drawn.max() < 400
    assert _drawing.value_range(np.array([[0.5, 2]], np.float32), False) == (0, 2)
    assert _drawing.value_range(np.array([[-1, 0.5]], np.float32), False) == (-1, 1)


def test_maps_have_a_png_representation(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, attention=["mean", "weights", "distance"])
    mean, weights, distance = result.attention
    png = mean._repr_png_()
    assert png is not None and Image.open(io.BytesIO(png)).size == (451, 300)
    assert mean.overlay(np.zeros((600, 902, 3), np.uint8)).size == (902, 600)
    with pytest.raises(ValueError, match="does not lie on the picture"):
        weights.overlay()
    assert weights.draw().size == (254, 254) and distance.draw().size == (320, 160)
    assert repr(mean) == "<AttentionMap mean, layer 4, mean of heads, 9 x 14>"


class Strict(HTMLParser):
    """Collects the text, and raises if tags do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: List[str] = []
        self.tags: List[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parse(html: str) -> Strict:
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def test_a_result_has_an_html_representation(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, attention=["mean", "class"])
    html = result._repr_html_()
    page = parse(html)
    assert page.tags.count("img") == 3 and "http" not in html and "script" not in page.tags
    for prediction in result.predictions:
        assert prediction.label in page.text and "%.1f %%" % (100 * prediction.probability) in page.text
    assert MODEL in page.text and "mean, layer 4" in page.text
    many = client.classify(cat, MODEL, attention=vitrine.Attention("mean", layers=range(5), heads=range(10)))
    assert "and 26 more maps" in parse(many._repr_html_()).text


def test_html_of_results_is_escaped() -> None:
    script = Script()
    evil = "<script>alert(1)</script>'\"&"
    script.classify = lambda request, context: answer(request)
    with serve(script) as address, vitrine.Client(address) as client:
        result = client.classify(evil.encode(), "m")
        assert result.top1.label == evil
        page = parse(result._repr_html_())
    assert "script" not in page.tags and evil in page.text
    refused = vitrine.Refused(vitrine.InvalidArgument(evil), 0, evil)
    page = parse(refused._repr_html_())
    assert "script" not in page.tags and page.text.count(evil) == 2
