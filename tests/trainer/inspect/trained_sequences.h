// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_TRAINER_INSPECT_TRAINED_SEQUENCES_H_
#define VITRINE_TESTS_TRAINER_INSPECT_TRAINED_SEQUENCES_H_

#include <string>

#include "tests/scratch_folder.h"
#include "trainer/inspect/sequence_run.h"

namespace vitrine::testing {

// Trains in the folder for one epoch in batches of 32, with Adam at a rate of 1e-3. `text` adds fields to this recipe
// or replaces them.
void TrainIn(const ScratchFolder& folder, const std::string& text, const std::string& data = "");

// Trains like TrainIn, in a new folder, and opens the run. On an error, fails the test with its status.
SequenceRun RunOf(const std::string& text, const std::string& data = "");

// Returns a recipe that trains for four steps on sequences of six digits. `attention` is "qkv", "kv" or "kv-pos".
std::string DigitsText(const std::string& attention);
// Returns a recipe that trains for four steps on numbers written in words. `attention` has the values of DigitsText.
std::string NumbersText(const std::string& attention);
// Returns a recipe that trains for four steps to translate numbers from digits to words. It needs --data
// generated:numbers.
std::string TranslationText();

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_TRAINER_INSPECT_TRAINED_SEQUENCES_H_
