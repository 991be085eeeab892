# SPDX-License-Identifier: Apache-2.0
# Models of sequences and sets, which are trained but not served.
set(lab_sources lab/attention.cc lab/block.cc lab/encoder.cc lab/encoder_decoder.cc lab/ends.cc lab/initial.cc
                lab/layers.cc lab/sequence_model.cc lab/sequence_workload.cc lab/validate.cc lab/zoo.cc)
