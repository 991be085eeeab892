# SPDX-License-Identifier: Apache-2.0
"""Keeps vectors of pictures in PostgreSQL with pgvector, and finds the pictures that look most like a given picture.
OpenAI's own client requests the vectors with POST /v1/embeddings.

    pip install openai 'psycopg[binary]'; the database has the extension vector (CREATE EXTENSION vector)
    python3 pgvector_search.py URL MODEL DATABASE add PICTURE...
    python3 pgvector_search.py URL MODEL DATABASE find PICTURE
    python3 pgvector_search.py http://127.0.0.1:8500/v1 eit-mini-cifar10 'dbname=pictures' add samples/cifar/*
"""

import base64
import sys

import openai
import psycopg

# Vectors of different weights are not comparable, so each row names the weights.
TABLE = """CREATE TABLE IF NOT EXISTS pictures (
    path text, model text, version bigint, weights_sha256 text, embedding vector,
    PRIMARY KEY (path, weights_sha256))"""
ADD = """INSERT INTO pictures VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (path, weights_sha256) DO NOTHING"""
# For vectors of length 1, the inner product is the cosine of their angle. The operator <#> returns the negative inner
# product.
FIND = """SELECT path, -(embedding <#> %s::vector) FROM pictures WHERE weights_sha256 = %s
    ORDER BY embedding <#> %s::vector LIMIT 5"""
MOST, MOST_BYTES = 64, 15 << 20  # limits of a request: images, and bytes; the server accepts up to 16 MiB


def batches(paths):
    """Yields lists of encoded pictures that fit into a request."""
    pictures = []
    for path in paths:
        with open(path, "rb") as opened:
            picture = base64.b64encode(opened.read()).decode()
        if pictures and (len(pictures) == MOST or sum(map(len, pictures)) + len(picture) > MOST_BYTES):
            yield pictures
            pictures = []
        pictures.append(picture)
    if pictures:
        yield pictures


def vectors(client, model, paths):
    """Yields (vector as text, the server's embedding object) for each picture."""
    for pictures in batches(paths):
        for each in client.embeddings.create(model=model, input=pictures).data:
            yield "[" + ",".join(map(str, each.embedding)) + "]", each


def main(url, model, database, what, *paths):
    client = openai.OpenAI(base_url=url, api_key="none")  # the server's token, if it requires one
    with psycopg.connect(database) as connection:
        connection.execute(TABLE)
        for path, (vector, made) in zip(paths, vectors(client, model, paths)):
            if what == "add":
                connection.execute(ADD, (path, made.model, made.version, made.weights_sha256, vector))
                continue
            for found, cosine in connection.execute(FIND, (vector, made.weights_sha256, vector)):
                print(f"{cosine:.4f} {found}")


main(*sys.argv[1:])
