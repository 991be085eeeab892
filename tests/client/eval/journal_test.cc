// SPDX-License-Identifier: Apache-2.0
#include "client/eval/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Evaluation JournalSample() {
  Evaluation e = MadeEvaluation({{0, {{0, 0.9F}, {1, 0.0625F}}}, {1, {{2, 0.123456789F}}}, {2, {}}});
  Prediction& refused = e.predictions.back();
  refused.outcome = Outcome::kRefused;
  refused.code = absl::StatusCode::kInvalidArgument;
  refused.reason = "not a \"picture\"\nat all \xC3\xA9";
  refused.served_by.clear();
  return e;
}

std::string TextOf(const Evaluation& e) {
  std::string text = HeaderLine(e) + SessionLine(e.sessions[0], /*closed=*/false);
  for (const Prediction& p : e.predictions) text += ImageLine(p);
  return text;
}

void ExpectSame(const Prediction& a, const Prediction& b) {
  // The line of an image must contain every field, so equal lines mean equal fields.
  EXPECT_EQ(ImageLine(a), ImageLine(b));
  ASSERT_EQ(a.guesses.size(), b.guesses.size());
  for (size_t i = 0; i < a.guesses.size(); ++i) EXPECT_EQ(a.guesses[i].probability, b.guesses[i].probability);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.at, b.at);
}

TEST(Journal, ReadsWhatWasWritten) {
  const Evaluation e = JournalSample();
  const auto read = ParseJournal(TextOf(e));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->begun);
  EXPECT_EQ(read->valid_bytes, TextOf(e).size());
  EXPECT_TRUE(CheckSameEvaluation(read->evaluation, e).ok()) << CheckSameEvaluation(read->evaluation, e);
  EXPECT_EQ(read->evaluation.data, e.data);
  ASSERT_EQ(read->evaluation.predictions.size(), 3u);
  for (size_t i = 0; i < 3; ++i) ExpectSame(read->evaluation.predictions[i], e.predictions[i]);
  ASSERT_EQ(read->evaluation.sessions.size(), 1u);
  EXPECT_EQ(read->evaluation.sessions[0].end, e.sessions[0].end);
  EXPECT_EQ(read->evaluation.sessions[0].images, 3);
}

TEST(Journal, TruncatedAtAnyByteItKeepsTheCompleteLines) {
  const Evaluation e = JournalSample();
  const std::string text = TextOf(e);
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    const std::string torn = text.substr(0, bytes);
    const auto read = ParseJournal(torn);
    ASSERT_TRUE(read.ok()) << bytes << " bytes: " << read.status();
    const size_t whole = torn.rfind('\n') == std::string::npos ? 0 : torn.rfind('\n') + 1;
    EXPECT_EQ(read->begun, whole > 0) << bytes;
    EXPECT_EQ(read->valid_bytes, whole) << bytes;
    const auto lines = static_cast<size_t>(std::count(torn.begin(), torn.end(), '\n'));
    EXPECT_EQ(read->evaluation.predictions.size(), lines < 2 ? 0 : lines - 2) << bytes;
  }
}

TEST(Journal, AChangedByteNeverChangesAResult) {
  const Evaluation e = JournalSample();
  const std::string text = TextOf(e);
  const size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    const auto read = ParseJournal(damaged);
    if (i + 1 < last_line) {
      EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss) << "byte " << i;
    } else {
      ASSERT_TRUE(read.ok()) << "byte " << i << ": " << read.status();
      // If the newline before the last line is missing, the last two lines become one incomplete line.
      EXPECT_EQ(read->evaluation.predictions.size(), i < last_line ? 1u : 2u) << "byte " << i;
    }
  }
}

TEST(Journal, TheLastLineOfAnImageCounts) {
  Evaluation e = JournalSample();
  std::string text = TextOf(e);
  e.predictions[1].guesses[0].index = 1;
  text += ImageLine(e.predictions[1]);
  const auto read = ParseJournal(text);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->evaluation.predictions.size(), 3u);
  EXPECT_TRUE(read->evaluation.predictions[1].correct());
}

class JournalFile : public ::testing::Test {
 protected:
  // Writes the sample's journal with the calls that a run makes.
  void WriteSample() {
    Evaluation begun = Empty();
    auto journal = Journal::Open(out_, false, begun);
    ASSERT_TRUE(journal.ok()) << journal.status();
    ASSERT_TRUE(journal->BeginSession(JournalSample().sessions[0]).ok());
    for (const Prediction& p : JournalSample().predictions) ASSERT_TRUE(journal->Append(p).ok());
    ASSERT_TRUE(journal->Sync().ok());
  }
  static Evaluation Empty() {
    Evaluation e = JournalSample();
    e.sessions.clear();
    e.predictions.clear();
    return e;
  }

  const ScratchFolder folder_;
  const std::string out_ = folder_.Path("out");
};

TEST_F(JournalFile, ContinuesAnEarlierRun) {
  WriteSample();
  Evaluation e = Empty();
  const auto journal = Journal::Open(out_, false, e);
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(e.predictions.size(), 3u);
}

TEST_F(JournalFile, RemovesAnIncompleteLastLineAndAppends) {
  WriteSample();
  const std::string whole = folder_.Read("out/journal");
  folder_.Write("out/journal", whole.substr(0, whole.size() - 7));
  {
    Evaluation e = Empty();
    auto journal = Journal::Open(out_, false, e);
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ(e.predictions.size(), 2u);
    ASSERT_TRUE(journal->Append(JournalSample().predictions[2]).ok());
  }
  EXPECT_EQ(folder_.Read("out/journal"), whole);
}

TEST_F(JournalFile, IsLockedByOneRunAtATime) {
  Evaluation e = Empty();
  const auto first = Journal::Open(out_, false, e);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Journal::Open(out_, true, e);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another evaluation is writing"));
}

TEST_F(JournalFile, RefusesAnotherEvaluationAndSaysWhatDiffers) {
  WriteSample();
  Evaluation e = Empty();
  e.model.set_version(4);
  EXPECT_THAT(std::string(Journal::Open(out_, false, e).status().message()),
              AllOf(HasSubstr("the model was m@3, now it is m@4"), HasSubstr("--restart"), HasSubstr("its 3 images")));
  EXPECT_TRUE(Journal::Open(out_, /*restart=*/true, e).ok());
  EXPECT_TRUE(e.predictions.empty());
}

TEST_F(JournalFile, DoesNotChangeAFileThatIsNoJournal) {
  folder_.Write("out/journal", "Dear diary\n");
  Evaluation e = Empty();
  EXPECT_EQ(Journal::Open(out_, false, e).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(folder_.Read("out/journal"), "Dear diary\n");
}

}  // namespace
}  // namespace vitrine
