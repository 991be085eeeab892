// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_INSPECT_TRAINED_SEQUENCES_H_
#define VITRINE_TESTS_TRAINER_INSPECT_TRAINED_SEQUENCES_H_

#include <string>

#include "tests/scratch_folder.h"
#include "trainer/inspect/sequence_run.h"

namespace vitrine::testing {

// Trains the recipe in the folder: one epoch in batches of 32, by Adam at a rate of 1e-3, unless `text` says otherwise.
void TrainIn(const ScratchFolder& folder, const std::string& text, const std::string& data = "");

// Trains as TrainIn in a folder of its own and opens the run. On an error, fails the test with its status.
SequenceRun RunOf(const std::string& text, const std::string& data = "");

// Four steps on six digits; `attention` is "qkv", "kv" or "kv-pos".
std::string DigitsText(const std::string& attention);
// Four steps on words of numbers, by the same attentions.
std::string NumbersText(const std::string& attention);
// Four steps of translation from digits to words, with --data generated:numbers.
std::string TranslationText();

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_TRAINER_INSPECT_TRAINED_SEQUENCES_H_
