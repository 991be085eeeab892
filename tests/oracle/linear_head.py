#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tests/golden/linear_head.inc: features, and the classifiers that scikit-learn fits to them. Needs numpy and
scikit-learn:

    python3 tests/oracle/linear_head.py > tests/golden/linear_head.inc
"""
import numpy
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import NearestCentroid

WIDTH, CLASSES, IMAGES = 5, 3, 40
ALPHA = 3.0


def features():
    """Returns (features, labels). The features are correlated, and differ in mean and scale.
    The classes overlap and differ in size."""
    random = numpy.random.default_rng(7)
    y = numpy.sort(random.choice(CLASSES, IMAGES, p=[0.5, 0.3, 0.2]))
    x = random.normal(size=(CLASSES, WIDTH))[y] + random.normal(size=(IMAGES, WIDTH)) @ random.normal(size=(WIDTH, WIDTH))
    return (x * [1, 10, 0.1, 3, 1] + [5, 0, -1, 100, 2]).round(3), y


def row(values):
    return "{" + ", ".join(repr(float(value)) for value in numpy.ravel(values)) + "}"


def left_out(model, x, y):
    """Returns the number of images that are classified correctly. Each image is left out of the fit that classifies it."""
    return round(cross_val_score(model, x, y, cv=LeaveOneOut()).sum())


def main():
    x, y = features()
    spread = ((x - x.mean(axis=0)) ** 2).sum() / WIDTH
    alphas = 10.0 ** (round(numpy.log10(spread)) + numpy.arange(-5, 2))
    chosen = RidgeClassifierCV(alphas).fit(x, y).alpha_
    ridge, centroids = RidgeClassifier(ALPHA).fit(x, y), NearestCentroid().fit(x, y)
    print("// Written by tests/oracle/linear_head.py; do not edit.")
    print(f".features = {{.width = {WIDTH}, .classes = {CLASSES}, .values = {row(x)}, .labels = "
          "{" + ", ".join(map(str, y)) + "}},")
    # scikit-learn's targets are -1 and 1, Vitrine's are 0 and 1.
    print(f".alpha = {ALPHA}, .weight = {row(ridge.coef_ / 2)}, .bias = {row((ridge.intercept_ + 1) / 2)},")
    print(f".correct = {left_out(RidgeClassifier(ALPHA), x, y)}, .chosen_alpha = {chosen!r},")
    print(f".centroids = {row(centroids.centroids_)}, .centroids_correct = {left_out(NearestCentroid(), x, y)},")


if __name__ == "__main__":
    main()
