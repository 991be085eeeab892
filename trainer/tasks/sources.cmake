# SPDX-License-Identifier: Apache-2.0
# Training tasks.
set(task_sources lab/tasks/anomaly.cc lab/tasks/bleu.cc lab/tasks/decode.cc lab/tasks/digits.cc lab/tasks/features.cc
                 tasks/image_task.cc lab/tasks/language.cc lab/tasks/sequence_base.cc lab/tasks/sequence_task.cc
                 tasks/share.cc tasks/start.cc tasks/start_config.cc tasks/teacher.cc lab/tasks/translation.cc)
