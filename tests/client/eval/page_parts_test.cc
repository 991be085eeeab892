// SPDX-License-Identifier: Apache-2.0
// Tests how long the sections of an evaluation page are, and what they omit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "client/eval/page/page.h"
#include "client/eval/page/page_sections.h"
#include "tests/client/eval/made_data.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/client/lib/filled.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string DrawnPage(const Evaluation& evaluation) {
  const EvaluationMetrics metrics = ComputeMetrics(evaluation);
  EvaluationPage input{.evaluation = evaluation, .metrics = metrics};
  input.mistakes = SurestMistakes(evaluation, 5);
  return RenderPage(input);
}

// Returns the part of the text from the first `begin` to the following `end`.
std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  return from == std::string::npos ? "" : text.substr(from, text.find(end, from) - from);
}

size_t RowsOf(const std::string& table) {
  size_t rows = 0;
  for (size_t at = 0; (at = table.find("<tr><th scope=\"row\">", at)) != std::string::npos; ++at) ++rows;
  return rows;
}

// Returns an evaluation with one image of each class. The first `wrong` images are predicted as the next class.
Evaluation OneOfEach(int classes, int wrong) {
  std::vector<MadeImage> images;
  for (int i = 0; i < classes; ++i) images.push_back({i, {{i < wrong ? (i + 1) % classes : i, 0.5f}}});
  return MadeEvaluation(images, MadeLabels(classes));
}

TEST(PageParts, WithMoreThanAHundredClassesOnlyTheThirtyWeakestHaveRows) {
  const std::string all = DrawnPage(OneOfEach(100, 2)), weak = DrawnPage(OneOfEach(101, 2));
  const auto classes = [](const std::string& page) { return Between(page, ">F1<", "</table>"); };
  EXPECT_THAT(all, HasSubstr("Classes with the lowest F1 first."));
  EXPECT_EQ(RowsOf(classes(all)), 100u + 1) << "expected a row for each class and one for the mean";
  EXPECT_THAT(weak, HasSubstr("The 30 of 101 classes with the lowest F1."));
  EXPECT_EQ(RowsOf(classes(weak)), 30u + 1);
  // Class 0 is never predicted. Class 2 is predicted once for its own image and once for another image.
  EXPECT_THAT(weak,
              HasSubstr("<tr><th scope=\"row\">kind 0</th><td class=\"right\">0.00 %</td><td class=\"right\">-</td>"));
  EXPECT_THAT(
      weak,
      HasSubstr("<tr><th scope=\"row\">kind 2</th><td class=\"right\">100.00 %</td><td class=\"right\">50.00 %</td>"
                "<td class=\"right\">66.67 %</td><td class=\"right\">1</td><td class=\"right\">2</td>"));
}

TEST(PageParts, TheConfusionIsDrawnForUpToFortyClassesAndListsFifteenPairs) {
  const auto confusion = [](const Evaluation& evaluation) {
    return Between(DrawnPage(evaluation), ">Confusion</h2>", ">Classes</h2>");
  };
  Evaluation forty = OneOfEach(45, 15);
  forty.predictions.resize(40);
  EXPECT_THAT(confusion(forty), HasSubstr("<svg"));
  EXPECT_EQ(RowsOf(confusion(forty)), 15u);
  EXPECT_THAT(confusion(OneOfEach(41, 16)), Not(HasSubstr("<svg")));
  EXPECT_EQ(RowsOf(confusion(OneOfEach(41, 16))), 15u);
  EXPECT_THAT(confusion(OneOfEach(3, 0)), HasSubstr("No answer is wrong."));
  EXPECT_THAT(confusion(MadeEvaluation({{0, {{0, 0.5f}}}})), Not(HasSubstr("dog")))
      << "a class that does not occur must not be listed";
  EXPECT_THAT(confusion(MadeEvaluation({{2, {{1, 0.5f}}}})), HasSubstr("100.00 %"))
      << "the share must refer to one image";
}

TEST(PageParts, FiveClassesHaveNoTopFiveAccuracy) {
  EXPECT_THAT(DrawnPage(OneOfEach(5, 0)), Not(HasSubstr("top-5 accuracy")));
  EXPECT_THAT(DrawnPage(OneOfEach(6, 0)), HasSubstr("top-5 accuracy"));
}

TEST(PageParts, EverySectionNeedsAtLeastOneAnswer) {
  const char* parts[] = {"top-1 accuracy",  "macro F1",          "median latency", ">Classes</h2>",
                         ">Confusion</h2>", ">Calibration</h2>", ">Time</h2>",     ">Most confident mistakes</h2>"};
  const std::string one = DrawnPage(MadeEvaluation({{0, {{0, 0.5f}}}}));
  Evaluation nothing = MadeEvaluation({{0, {}}});
  nothing.predictions[0].outcome = Outcome::kRefused;
  const std::string none = DrawnPage(nothing);
  for (const char* part : parts) {
    EXPECT_THAT(one, HasSubstr(part));
    EXPECT_THAT(none, Not(HasSubstr(part)));
  }
  EXPECT_THAT(one, HasSubstr(">None.</p>")) << "the section of mistakes must be empty";
  for (const char* part : {"never sent", "not evaluated yet", "sent again", "further images", "Not evaluated:"}) {
    EXPECT_THAT(one, Not(HasSubstr(part)));
  }
  EXPECT_TRUE(SurestMistakes(MadeEvaluation({{0, {}}}), 5).empty()) << "an answer without guesses is not a mistake";
}

TEST(PageParts, MissingFactsHaveNoRow) {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5f}}}});
  const char* rows[] = {"parameters", "epochs", "images seen", "seed",  "training time", "published",
                        "limit",      "shard",  "teacher",     "input", "started from",  "training data, digest"};
  const std::string bare = DrawnPage(evaluation);
  for (const char* row : rows) EXPECT_THAT(bare, Not(HasSubstr(absl::StrCat("\"row\">", row, "</th>"))));
  EXPECT_THAT(bare, Not(HasSubstr("Measured when it was published")));
  evaluation.model.set_parameters(1);
  evaluation.model.mutable_config()->mutable_preprocessing()->set_channels(1);
  v1::Provenance& from = *evaluation.model.mutable_provenance();
  from = Filled<v1::Provenance>();
  from.set_epochs(1);
  from.set_images_seen(1);
  from.set_seed(1);
  from.set_train_seconds(1);
  from.set_created_unix_seconds(1);
  evaluation.settings.limit = 9999;  // the set has one image
  evaluation.settings.shard = {2, 2};
  const std::string full = DrawnPage(evaluation);
  for (const char* row : rows) EXPECT_THAT(full, HasSubstr(absl::StrCat("\"row\">", row, "</th>")));
  for (const std::string& text :
       {from.recipe(), from.data(), from.data_digest(), from.hardware(), from.source_revision(), from.started_from(),
        from.continued_from(), from.teacher(), from.licence()}) {
    EXPECT_THAT(full, HasSubstr(absl::StrCat("<td>", text, "</td>")));
  }
  EXPECT_THAT(full, HasSubstr("<td>1970-01-01 00:00:01 UTC</td>"));
  EXPECT_THAT(full, HasSubstr("<td>1, evenly spread</td>"));
  EXPECT_THAT(full, HasSubstr("Measured when it was published"));
}

TEST(PageParts, MappedLabelsAreListed) {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5f}}}});
  const auto mapped = [&](const std::vector<int32_t>& map) {
    evaluation.settings.label_map = map;
    return Between(DrawnPage(evaluation), "Labels that were mapped</summary><pre>", "</pre>");
  };
  EXPECT_EQ(mapped({0, 1, 2}), "");
  const std::string begin = "Labels that were mapped</summary><pre>";
  EXPECT_EQ(mapped({2, 1, 0}), begin + "cat -&gt; owl\nowl -&gt; cat\n");
  EXPECT_EQ(mapped({0, -1, 1}), begin + "dog -&gt; (none)\nowl -&gt; dog\n");
  EXPECT_EQ(mapped({1}), begin + "cat -&gt; dog\n") << "a shorter map must be handled";
  EXPECT_EQ(mapped({0, 1, 1, 1}), begin + "owl -&gt; dog\n");
}

// The curve has sixty points over the time in which a session was active. In this test, the session lasts 60 s, so
// consecutive points are one second apart.
TEST(PageParts, ThroughputIsDrawnOverTheWholeTime) {
  const auto page = [](double at) {
    Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5f}}}});
    evaluation.sessions = {{.start = 1000, .end = 1060, .server = "here:1", .images = 1}};
    evaluation.predictions[0].at = 1000 + at;
    return DrawnPage(evaluation);
  };
  EXPECT_EQ(page(0), page(0.9));
  EXPECT_NE(page(0), page(1.1));
  EXPECT_EQ(page(1.1), page(1.9));
  EXPECT_EQ(page(59.1), page(60));
  EXPECT_NE(page(58.9), page(60));
  Evaluation instant = MadeEvaluation({{0, {{0, 0.5f}}}});
  instant.sessions[0].end = instant.sessions[0].start;
  EXPECT_THAT(DrawnPage(instant), Not(HasSubstr("nan,")));
}

TEST(PageParts, ACalibratedModelIsDescribedAsZeroAboveTheAccuracy) {
  EXPECT_THAT(CalibrationInWords(Calibration()), HasSubstr("0.00 points above the accuracy."));
}

TEST(CommandOf, QuotesOnlyWordsWithSpecialCharacters) {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5f}}}});
  const auto data = [&](const std::string& text) {
    evaluation.data = text;
    return Between(CommandOf(evaluation, "o"), "--data ", " --out");
  };
  EXPECT_EQ(data("csv:/09azAZ_-./:@,+="), "--data csv:/09azAZ_-./:@,+=");
  for (const char* special : {"`", "{", "[", "^", "!", ";", " ", "", "~", "$"}) {
    EXPECT_EQ(data(special), absl::StrCat("--data '", special, "'"));
  }
  EXPECT_EQ(data("x;y"), "--data 'x;y'");
  EXPECT_EQ(data("my pets' $HOME"), "--data 'my pets'\\'' $HOME'");
}

TEST(CommandOf, NamesAFolderNextToTheOriginal) {
  const Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5f}}}});
  const auto out = [&](const std::string& folder) {
    const std::string command = CommandOf(evaluation, folder);
    return command.substr(command.find("--out"));
  };
  EXPECT_EQ(out(""), "--out DIR");
  EXPECT_EQ(out("/"), "--out /-again");
  EXPECT_EQ(out("o/"), "--out o-again");
  EXPECT_EQ(out("/o//"), "--out /o-again");
}

TEST(CommandOf, HasEverySettingThatIsNotTheDefault) {
  Evaluation evaluation = MadeEvaluation({{0, {{0, 0.5f}}}});
  EvalCommand command;
  command.client.address = "h:1";
  const std::string bare = "vitrine eval --server h:1 --model m@3 --data imagefolder:pets";
  EXPECT_EQ(CommandOf(evaluation, "o", &command), bare + " --out o-again");
  evaluation.settings.split = "train";
  evaluation.settings.limit = 1;
  evaluation.settings.shard = {2, 2};
  evaluation.settings.resolution = "32x48";
  evaluation.settings.top_k = 6;
  command.client.max_in_flight = 3;
  command.client.deadline = absl::Seconds(7);
  command.client.connect_timeout = absl::Seconds(8);
  command.client.retry.max_attempts = 9;
  command.client.tls = TlsOptions{"ca", "cert", "key", "name"};
  command.priority = v1::NORMAL;
  command.patience = absl::Seconds(6);
  EXPECT_EQ(CommandOf(evaluation, "o", &command, {.mistakes = 0, .attention_distance = 1}),
            bare +
                " --split train --resolution 32x48 --limit 1 --shard 2/2 --top-k 6 --max-in-flight 3 --priority normal "
                "--patience 6s "
                "--deadline 7s --connect-timeout 8s --max-attempts 9 --tls --tls-ca ca --tls-cert cert --tls-key key "
                "--tls-server-name name --mistakes 0 --attention-distance 1 --out o-again");
}

TEST(WriteReport, ThePageHasTheCommandAndTheRequestedNumberOfMistakes) {
  const ScratchFolder folder;
  const Evaluation evaluation = MadeEvaluation({{0, {{1, 0.5f}}}, {1, {{0, 0.6f}}}, {1, {{0, 0.7f}}}});
  const MadeData data(evaluation);
  EvalCommand command;
  command.client.address = "gpu-box:8500";
  for (const int mistakes : {-1, 0, 1, 3}) {
    const ReportOptions requested{.mistakes = mistakes, .attention_distance = 1};
    ASSERT_TRUE(WriteReport(folder.path().string(), evaluation, {.data = &data}, requested, &command).ok());
    const std::string page = folder.Read("report.html");
    size_t cards = 0;
    for (size_t at = 0; (at = page.find("<figure>", at)) != std::string::npos; ++at) ++cards;
    EXPECT_EQ(cards, static_cast<size_t>(std::max(0, mistakes)));
    EXPECT_THAT(page, HasSubstr("Not measured: no server or no data set was available."));
    EXPECT_THAT(page, HasSubstr("vitrine eval --server gpu-box:8500 "));
    EXPECT_THAT(page, HasSubstr(absl::StrCat("--mistakes ", mistakes, " --attention-distance 1 --out ",
                                             folder.path().string(), "-again</pre>")));
  }
}

TEST(WriteReport, AnEarlierStopDoesNotPreventTheReport) {
  const ScratchFolder folder;
  const std::atomic<bool> stop = true;
  const Evaluation evaluation = MadeEvaluation({{0, {{1, 0.5f}}}});
  EXPECT_TRUE(WriteReport(folder.path().string(), evaluation, {.stop = &stop}).ok());
}

}  // namespace
}  // namespace vitrine
