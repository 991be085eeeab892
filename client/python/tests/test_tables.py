# SPDX-License-Identifier: Apache-2.0
"""Tests the conversion of results to NumPy arrays and pandas tables."""

import subprocess
import sys
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest
from conftest import MODEL

import vitrine


def test_predictions_are_converted_to_an_array(client: vitrine.Client, cat: Path) -> None:
    result = client.classify(cat, MODEL, attention="mean")
    table = result.to_numpy()
    assert table.dtype.names == ("label", "index", "probability", "logit") and table.shape == (5,)
    assert table["label"].tolist() == [p.label for p in result.predictions]
    assert table["index"].tolist() == [p.index for p in result.predictions]
    np.testing.assert_allclose(table["probability"], [p.probability for p in result.predictions])
    np.testing.assert_allclose(table["logit"], [p.logit for p in result.predictions])
    assert result.attention[0].to_numpy() is result.attention[0].values
    assert client.classify(cat, MODEL, top_k=0).to_numpy().shape == (0,)


def test_results_are_converted_to_a_dataframe(client: vitrine.Client, cats: List[Path]) -> None:
    pytest.importorskip("pandas")
    mixed: List[Any] = [*cats, "nowhere.jpg"]
    results = list(client.classify_many(mixed, MODEL))
    table: Any = vitrine.to_dataframe(results)
    assert list(table["index"]) == list(range(13)) and list(table["source"]) == [str(path) for path in mixed]
    assert list(table["ok"]) == [True] * 12 + [False] and list(table["code"]) == ["OK"] * 12 + ["UNREADABLE"]
    assert list(table["label"][:12]) == [r.top1.label for r in results if r.ok]
    np.testing.assert_allclose(table["probability"][:12], [r.top1.probability for r in results if r.ok])
    assert table["label_index"].dtype == "Int64" and table["version"].dtype == "Int64"
    last = table.iloc[12]
    assert np.isnan(last["probability"]) and "nowhere.jpg" in last["error"]
    assert table["label"].isna().tolist() == table["label_index"].isna().tolist() == [False] * 12 + [True]
    assert list(table["unsure"][:12]) == [r.unsure for r in results if r.ok] and any(table["unsure"][:12])
    assert set(table["model"][:12]) == {MODEL} and (table["seconds"][:12] > 0).all()
    assert table.query("ok").groupby("label").size().sum() == 12


def test_dataframe_accepts_one_or_no_result(client: vitrine.Client, cat: Path) -> None:
    pytest.importorskip("pandas")
    one: Any = vitrine.to_dataframe(client.classify(cat, MODEL, top_k=0))
    assert len(one) == 1 and one["label"].isna().all() and one["ok"].all()
    none: Any = vitrine.to_dataframe([])
    assert len(none) == 0 and list(none.columns) == list(one.columns)
    lazily: Any = vitrine.to_dataframe(client.classify_many([cat, cat], MODEL))
    assert len(lazily) == 2
    with pytest.raises(TypeError, match="not Embedding; numpy.stack makes a matrix"):
        vitrine.to_dataframe(client.embed_many([cat], MODEL))  # type: ignore[arg-type]


def test_pandas_is_imported_only_on_use() -> None:
    check = "import sys, vitrine, vitrine.aio; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_missing_pandas_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_dataframe needs pandas.*pip install pandas.*\[pandas\]"):
        vitrine.to_dataframe([])
