# SPDX-License-Identifier: Apache-2.0
# `vitrine score`: writes the predictions and vectors of many images in chunks, each image once.
set(score_sources
  score/chunk_writer.cc score/local_scorer.cc score/merge_scores.cc score/score.cc score/score_index.cc)
