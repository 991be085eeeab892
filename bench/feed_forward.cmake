# SPDX-License-Identifier: Apache-2.0
# The prepared feed-forward block against the reference layer.
vitrine_program(feed_forward_bench SOURCES feed_forward_bench.cc ROOMS models LIBRARIES benchmark::benchmark)
