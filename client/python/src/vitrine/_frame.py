# SPDX-License-Identifier: Apache-2.0
"""Results as a pandas table; pandas is imported when a table is requested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Union

from vitrine._names import escaped
from vitrine._result import Outcome, Refused, Result

if TYPE_CHECKING:
    import pandas


def to_dataframe(results: Union[Outcome, Iterable[Outcome]]) -> pandas.DataFrame:
    """Returns a table with a row per image, in the given order. `results` is a generator, a list, or one result.

    Columns: index, source, ok, code ("OK", or the error), label, label_index, probability and logit of the best
    prediction, unsure, model, version, seconds (at the server), error. Missing values are NA. Invalid UTF-8 in a source
    is written as \\xHH for each byte, as in the output of the command `vitrine`.

    Raises:
        ImportError: pandas is not installed. TypeError: a value is neither a Result nor a Refused.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "to_dataframe needs pandas, which is not installed: pip install pandas, or vitrine with its extra [pandas]"
        ) from error
    several: Iterable[Any] = [results] if isinstance(results, (Result, Refused)) else results
    columns: Dict[str, List[Any]] = {name: [] for name in _row(None)}
    for result in several:
        if not isinstance(result, (Result, Refused)):
            form = "to_dataframe needs results of classify or classify_many, not %s; numpy.stack makes a matrix"
            raise TypeError(form % type(result).__name__)
        for name, value in _row(result).items():
            columns[name].append(value)
    types = {"label_index": "Int64", "version": "Int64", "ok": "bool", "index": "int64", "unsure": "boolean"}
    numbers = {"probability": "float64", "logit": "float64", "seconds": "float64"}
    return pandas.DataFrame(columns).astype({**types, **numbers})


def _row(result: Union[Outcome, None]) -> Dict[str, Any]:
    best = result.predictions[0] if isinstance(result, Result) and result.predictions else None
    answer = result if isinstance(result, Result) else None
    refused = result if isinstance(result, Refused) else None
    return {
        "index": result.index if result is not None else None,
        "source": escaped(result.source) if result is not None else None,
        "ok": answer is not None,
        "code": "OK" if refused is None else refused.code,
        "label": best.label if best is not None else None,
        "label_index": best.index if best is not None else None,
        "probability": best.probability if best is not None else None,
        "logit": best.logit if best is not None else None,
        "unsure": answer.unsure if answer is not None else None,
        "model": answer.served_by.model if answer is not None else None,
        "version": answer.served_by.version if answer is not None else None,
        "seconds": answer.timings.total if answer is not None else None,
        "error": str(refused.error) if refused is not None else None,
    }
