// SPDX-License-Identifier: Apache-2.0
// Tests `vitrine-train attend`, `generate` and `translate` as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/paths.h"
#include "tests/trainer/train_program.h"

namespace vitrine {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using InspectProgram = TrainProgram;

TEST_F(InspectProgram, TranslatesAndDrawsAttentionOfALearnedCopy) {
  const Outcome run = Trainer(absl::StrCat("run task-copy --no-report --threads 1 --work ", work_,
                                           " --set sequence.model=task-kv-d32-l2 --set sequence.digits.length=6",
                                           " --set sequence.digits.train=12800 --set sequence.digits.test=100"));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(Trainer(absl::StrCat("translate ", work_, " 314159 '2 7 1 8 2 8'")).output,
            "314159 -> 314159  right\n271828 -> 271828  right\n");
  EXPECT_THAT(
      Shell(absl::StrCat("printf '577215\\n\\n123\\n' | ", VITRINE_BIN, "/vitrine-train translate ", work_, " 2>&1"))
          .output,
      ::testing::MatchesRegex("577215 -> 577215  right\n\n123 -> .*this sequence has 3 digits; the model learned "
                              "from sequences of 6\n"));
  for (const char* kind : {"svg", "png", "json"}) {
    const std::string file = absl::StrCat("map.", kind), path = folder_.path() / file;
    const Outcome drawn = Trainer(absl::StrCat("attend ", work_, " --text 314159 --scores --out ", path));
    EXPECT_EQ(drawn.output, path + "\n");
    EXPECT_THAT(Text(file), StartsWith(kind[0] == 's'   ? "<svg"
                                       : kind[0] == 'p' ? "\x89PNG"
                                                        : "{\"title\":\"task-copy"));
  }
  const Outcome other = Trainer(absl::StrCat("generate ", work_));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output,
              HasSubstr("generate needs a run that learned a language, but this is a run of \"task-copy\""));
  const Outcome kind = Trainer(absl::StrCat("attend ", work_, " --out map.gif"));
  EXPECT_EQ(kind.exit_code, 2);
  EXPECT_THAT(kind.output, HasSubstr("--out: map.gif must end in .svg, .png or .json"));
  EXPECT_THAT(Trainer(absl::StrCat("attend ", work_, " --text 3x --out a.svg")).output,
              HasSubstr("--text: \"3x\" is not"));
}

TEST_F(InspectProgram, GeneratesTheSameForTheSameSeed) {
  const Outcome run = Trainer(absl::StrCat("run numbers --epochs 0.2 --no-report --threads 1 --work ", work_));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const std::string command = absl::StrCat("generate ", work_, " --tokens 12 ");
  const Outcome words = Trainer(command);
  EXPECT_THAT(words.output, ContainsRegex("^([a-z]+|\\.)( ([a-z]+|\\.)){11} \n$"));
  EXPECT_EQ(Trainer(command).output, words.output);
  EXPECT_NE(Trainer(command + "--seed 1").output, words.output);
  const std::string greedy = "--prompt 'one .' --temperature 0";
  EXPECT_THAT(Trainer(command + greedy).output, StartsWith("one . "));
  EXPECT_EQ(Trainer(command + greedy + " --seed 1").output, Trainer(command + greedy).output);
  EXPECT_THAT(Trainer(command + "--prompt zero").output,
              HasSubstr("--prompt: \"zero\" is not in the run's vocabulary"));
}

TEST_F(InspectProgram, ARunOfImagesIsRefused) {
  ASSERT_EQ(Trainer(absl::StrCat("run ", recipe_, flags_, "--epochs 1 --no-report")).exit_code, 0);
  const Outcome refused = Trainer(absl::StrCat("attend ", work_, " --out map.svg"));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("is a run of \"small\", whose model reads images, not sequences"));
}

}  // namespace
}  // namespace vitrine
