// SPDX-License-Identifier: Apache-2.0
// Tests the exact text of a journal, and invalid lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/journal.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

std::string Checked(const std::string& text) {
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return absl::StrFormat("%08x %s\n", sum, text);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

const Evaluation kTwo = MadeEvaluation({{0, {{0, 0.75F}, {1, 0.0625F}}}, {2, {{1, 0.5F}}}});

constexpr char kImage[] =
    R"({"i":0,"name":"cat/0.png","from":0,"label":0,"outcome":0,"code":0,"reason":"","guesses":[[0,0.75],[1,0.0625]],)"
    R"("tokens":36,"attempts":1,"seconds":[0.001,0.002,0.003,0.0001,0.0061,0.007],"at":1001.0,"by":"fp32 cpu"})";

TEST(JournalLines, HaveTheRecordedText) {
  EXPECT_EQ(ImageLine(kTwo.predictions[0]), Checked(kImage));
  EvaluationSession session{.start = 1.5, .end = 2.5, .server = "here:1", .images = 7};
  EXPECT_EQ(SessionLine(session, false), Checked(R"({"session":{"start":1.5,"server":"here:1"}})"));
  EXPECT_EQ(SessionLine(session, true),
            Checked(R"({"session":{"start":1.5,"server":"here:1","end":2.5,"pictures":7}})"));
  Evaluation e;
  e.model.set_model("m");
  e.data = "csv:d";
  e.data_labels = {"cat"};
  e.settings = {.data_digest = "d", .data_order = "o", .data_images = 4, .limit = 3, .shard = {1, 2}};
  e.settings.resolution = "8x8";
  e.settings.label_map = {-1};
  EXPECT_EQ(HeaderLine(e),
            Checked(R"({"format":1,"model":{"model":"m"},"data":"csv:d","data_labels":["cat"],"split":"test",)"
                    R"("data_digest":"d","data_order":"o","data_pictures":4,"limit":3,"shard":[1,2],)"
                    R"("resolution":"8x8","top_k":5,"label_map":[-1]})"));
  Prediction strange = kTwo.predictions[0];
  strange.seconds.queue = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ImageLine(strange), Checked(Replaced(kImage, "[0.001,", "[0.0,")))
      << "a time that is not a number must be written as 0";
  Prediction whole = kTwo.predictions[0];
  whole.likelihood = Likelihood{.right = 0.125F, .squares = 0.625F};
  EXPECT_EQ(ImageLine(whole), Checked(Replaced(kImage, "cpu\"", "cpu\",\"whole\":[0.125,0.625]")));
  whole.logits = {0.5F, -1.25F};
  EXPECT_EQ(ImageLine(whole),
            Checked(Replaced(kImage, "cpu\"", "cpu\",\"logits\":[0.5,-1.25],\"whole\":[0.125,0.625]")));
}

// Parses a journal of two images, in which `line` replaces the line of the first image.
absl::StatusOr<JournalContents> Read(const std::string& line) {
  return ParseJournal(HeaderLine(kTwo) + SessionLine(kTwo.sessions[0], false) + line + ImageLine(kTwo.predictions[1]));
}
std::string Fault(const std::string& from, const std::string& to) {
  return std::string(Read(Checked(Replaced(kImage, from, to))).status().message());
}

TEST(JournalLines, NumbersMustBeInRange) {
  EXPECT_EQ(Read(Checked(kImage)).status(), absl::OkStatus());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("i":0)", R"("i":2)"},
                                                        {R"("i":0)", R"("i":-1)"},
                                                        {R"("from":0)", R"("from":3)"},
                                                        {R"("from":0)", R"("from":-1)"},
                                                        {R"("label":0)", R"("label":3)"},
                                                        {R"("label":0)", R"("label":-2)"},
                                                        {R"("outcome":0)", R"("outcome":4)"},
                                                        {R"("outcome":0)", R"("outcome":-1)"}}) {
    EXPECT_EQ(Fault(from, to), "line 3: a number is out of range") << to;
  }
  for (const char* guess : {"[3,0.75]", "[-1,0.75]", "[0,1e39]"}) {
    EXPECT_EQ(Fault("[0,0.75]", guess), "line 3: a guess is out of range") << guess;
  }
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("label":0)", R"("label":-1)"}, {R"("outcome":0)", R"("outcome":3)"}, {R"("from":0)", R"("from":2)"}}) {
    EXPECT_EQ(Fault(from, to), "") << to;
  }
  const auto timeless = Read(Checked(Replaced(kImage, "[0.001,", "[null,")));
  ASSERT_TRUE(timeless.ok()) << timeless.status();
  EXPECT_EQ(timeless->evaluation.predictions[0].seconds.queue, 0);
  EXPECT_EQ(timeless->evaluation.predictions[0].seconds.client, 0.007);
}

// The likelihood is the member "whole" of a line. It is optional, because older journals do not have it.
TEST(JournalLines, TheLikelihoodIsOptional) {
  EXPECT_FALSE(Read(Checked(kImage))->evaluation.predictions[0].likelihood.has_value());
  const auto with = [](const std::string& whole) {
    return Read(Checked(Replaced(kImage, "cpu\"", absl::StrCat("cpu\",\"whole\":", whole))));
  };
  const auto read = with("[0.1,0.625]");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->evaluation.predictions[0].likelihood.has_value());
  EXPECT_EQ(read->evaluation.predictions[0].likelihood->right, 0.1F);
  EXPECT_EQ(read->evaluation.predictions[0].likelihood->squares, 0.625F);
  for (const char* fault : {"[1e39,0]", "[0,1e39]"}) {
    EXPECT_EQ(with(fault).status().message(), "line 3: a probability is out of range") << fault;
  }
  for (const char* fault : {"[0.5]", "[null,1]", "7", "null", "{}"}) {
    EXPECT_EQ(with(fault).status().code(), absl::StatusCode::kDataLoss) << fault;
  }
}

TEST(JournalLines, AnotherFormatIsRefused) {
  const std::string header = HeaderLine(kTwo).substr(9);
  const auto fault = [&](const std::string& from, const std::string& to) {
    const std::string text = Replaced(header, from, to);
    return std::string(ParseJournal(Checked(text.substr(0, text.size() - 1))).status().message());
  };
  EXPECT_EQ(fault(R"("format":1)", R"("format":2)"), "line 1: it has another format");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("data_pictures":2)", R"("data_pictures":-1)"},
                                                        {R"("limit":0)", R"("limit":-1)"},
                                                        {R"("shard":[1,1])", R"("shard":[0,1])"},
                                                        {R"("shard":[1,1])", R"("shard":[2,1])"}}) {
    EXPECT_EQ(fault(from, to), "line 1: its sizes are invalid") << to;
  }
}

TEST(JournalLines, AClosedSessionHasItsRecordedEnd) {
  EvaluationSession closed = kTwo.sessions[0];
  closed.images = 17;
  closed.end = 5;
  const auto read = ParseJournal(HeaderLine(kTwo) + SessionLine(closed, true) + ImageLine(kTwo.predictions[0]));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->evaluation.sessions[0].images, 17);
  EXPECT_EQ(read->evaluation.sessions[0].end, 5);
}

TEST(JournalLines, TheFirstDamageIsNamed) {
  const std::string header = HeaderLine(kTwo), session = SessionLine(kTwo.sessions[0], false);
  const std::string first = ImageLine(kTwo.predictions[0]), second = ImageLine(kTwo.predictions[1]);
  const auto fault = [](const std::string& text) { return std::string(ParseJournal(text).status().message()); };
  EXPECT_EQ(fault("x" + header + session), "line 1 is damaged");
  EXPECT_EQ(fault(header + "x" + session + "x" + first + second), "line 2 is damaged");
  EXPECT_EQ(fault(header + session + "x" + first), "") << "a damaged last line must be ignored";
  EXPECT_EQ(fault(header + session + "short\n" + first), "line 3 is damaged");
}

// A process that is killed while it writes the first line leaves a part of this line. A file with any other content is
// not a journal.
TEST(JournalLines, OnlyTheStartOfAFirstLineCountsAsAnIncompleteJournal) {
  for (const char* torn : {"", "0", "01234abc", "01234abc ", "01234abc {\"form", "01234abc {\"format\":1,\"mod"}) {
    const auto read = ParseJournal(torn);
    ASSERT_TRUE(read.ok()) << torn << ": " << read.status();
    EXPECT_FALSE(read->begun);
  }
  for (const char* other : {"D", "g1234abc", "01234abg", "01234abcd", "01234abc [1]", "01234abc {\"formal\":1"}) {
    EXPECT_EQ(ParseJournal(other).status(), absl::DataLossError("it is no journal of an evaluation")) << other;
  }
}

TEST(CheckSameEvaluation, ComparesSplitOrderLabelsAndGuesses) {
  const auto difference = [](auto change) {
    Evaluation before = kTwo, now = kTwo;
    before.settings.data_order = "a";
    now.settings.data_order = "a";
    change(now);
    return std::string(CheckSameEvaluation(before, now).message());
  };
  EXPECT_EQ(difference([](Evaluation&) {}), "");
  EXPECT_EQ(difference([](Evaluation& e) { e.settings.split = "train"; }), "the split was test, now it is train");
  EXPECT_EQ(difference([](Evaluation& e) { e.settings.top_k = 6; }), "--top-k was 5, now it is 6");
  EXPECT_THAT(difference([](Evaluation& e) { e.data_labels[1] = "cow"; }), HasSubstr("other image names or labels"));
  EXPECT_THAT(difference([](Evaluation& e) { e.settings.data_order = "b"; }), HasSubstr("another order of images"));
  EXPECT_EQ(difference([](Evaluation& e) { e.settings.shard = {1, 2}; }), "--shard was 1/1, now it is 1/2");
  EXPECT_THAT(difference([](Evaluation& e) { e.model.set_weights_sha256("c"); }), HasSubstr("digest of the weights"));
  EXPECT_THAT(difference([](Evaluation& e) { e.settings.data_digest = "c"; }),
              HasSubstr("other image names or labels"));
  EXPECT_THAT(difference([](Evaluation& e) { e.settings.data_images = 9; }), HasSubstr("number of images"));
  EXPECT_THAT(difference([](Evaluation& e) { e.settings.limit = 2; }), HasSubstr("--limit"));
  EXPECT_THAT(difference([](Evaluation& e) { e.settings.resolution = "8x8"; }), HasSubstr("--resolution"));
  EXPECT_THAT(difference([](Evaluation& e) {
                e.settings.label_map = {0, 2, 1};
              }),
              HasSubstr("mapped to other classes"));
}

}  // namespace
}  // namespace vitrine
