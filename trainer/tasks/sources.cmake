# SPDX-License-Identifier: Apache-2.0
# Training tasks.
set(task_sources tasks/anomaly.cc tasks/bleu.cc tasks/decode.cc tasks/digits.cc tasks/features.cc tasks/image_task.cc
                 tasks/language.cc tasks/sequence_base.cc tasks/sequence_task.cc tasks/share.cc tasks/start.cc
                 tasks/start_config.cc tasks/teacher.cc tasks/translation.cc)
