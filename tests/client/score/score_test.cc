// SPDX-License-Identifier: Apache-2.0
#include "client/score/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "tests/client/score/scoring.h"
#include "tests/common/data/made_tar.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Counts how often each image is sent.
class Asked {
 public:
  Respond Counting(const Respond& respond) {
    return [this, respond](const v1::ClassifyRequest& request) {
      {
        const std::lock_guard lock(mutex_);
        ++asked_[request.image()];
        requests_.push_back(request);
        requests_.back().clear_image();
      }
      return respond(request);
    };
  }
  std::vector<v1::ClassifyRequest> Requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int Of(const std::string& image) const {
    const std::lock_guard lock(mutex_);
    const auto found = asked_.find(image);
    return found == asked_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> asked_;
  std::vector<v1::ClassifyRequest> requests_;
};

TEST_F(Scoring, EachImageHasARowOfOneVersion) {
  Asked asked;
  {
    SmallServer server(Methods(asked.Counting(PlainAnswer)));
    const ScoreIndex index = RunWell(Command(server, "out"));
    EXPECT_EQ(index.settings.version, 3);
    EXPECT_EQ(index.settings.weights_sha256, kDigest);
    EXPECT_EQ(index.labels.size(), static_cast<size_t>(kClasses));
    EXPECT_EQ(index.chunks.size(), 4u);
  }
  ExpectEachOnce("out");
  EXPECT_EQ(Rows("out")[7]["predictions"].size(), 5u);
  ASSERT_EQ(asked.Requests().size(), static_cast<size_t>(kImages));
  EXPECT_EQ(asked.Requests()[0].version(), 3);
  EXPECT_EQ(asked.Requests()[0].priority(), v1::LOW);
  EXPECT_EQ(asked.Requests()[0].top_k(), 5);
  SmallServer other(Methods(PlainAnswer));
  ScoreCommand again = Command(other, "out");
  other.Stop();
  EXPECT_TRUE(CountScores(RunWell(again)).complete()) << "a complete folder needs no server";
  EXPECT_THAT(said_.str(), HasSubstr("images already; 0 are left")) << "changed images are not scored again";
  EXPECT_THAT(said_.str(), Not(HasSubstr("count as the same")));
  again.source = folder_.Path("other");
  std::filesystem::copy(Command(other, "out").source, again.source, std::filesystem::copy_options::recursive);
  RunWell(again);
  EXPECT_THAT(said_.str(), HasSubstr("have the same names and count as the same"));
}

TEST_F(Scoring, AStoppedRunKeepsItsRowsAndContinues) {
  Asked asked;
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0;
  SmallServer server(Methods(asked.Counting([&](const v1::ClassifyRequest& request) {
    if (++answered == 11) stop = true;
    return Answer(request);
  })));
  ScoreCommand command = Command(server, "out");
  command.client.max_in_flight = 1;
  const auto stopped = Run(command, &stop);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->stopped.code(), absl::StatusCode::kCancelled);
  const int64_t kept = CountScores(stopped->index).rows;
  EXPECT_GE(kept, 11) << "a part of the second chunk too";
  EXPECT_LT(kept, kImages);
  RunWell(Command(server, "out"));
  ExpectEachOnce("out");
  for (int i = 0; i < kImages; ++i) EXPECT_EQ(asked.Of(ImageFile(i % 5, i)), 1) << i;
  EXPECT_THAT(said_.str(), HasSubstr(absl::StrCat("has rows of ", kept, " images already")));
}

TEST_F(Scoring, AStoppedRunKeepsRowsAfterAMissingImage) {
  folder_.Write("data/list.txt", "100.png\nmissing.png\n102.png\n103.png\n104.png\n105.png\n");
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    if (++answered == 3) stop = true;
    return Answer(request);
  }));
  ScoreCommand command = Command(server, "out");
  command.source = folder_.Path("data/list.txt");
  command.client.max_in_flight = 1;
  const auto stopped = Run(command, &stop);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_GE(CountScores(stopped->index).rows, 4);
  EXPECT_EQ(CountScores(stopped->index).unreadable, 1);
}

TEST_F(Scoring, AChangedTarFileEndsTheRun) {
  std::string members;
  for (int i = 0; i < kImages; ++i) members += TarMemberBytes(absl::StrCat(i, ".png"), ImageFile(i % 5, i));
  folder_.Write("x.tar", members + TarEnd());
  std::atomic<int> answered = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    if (++answered == 1) folder_.Write("x.tar", members.substr(0, members.size() / 2));
    return Answer(request);
  }));
  ScoreCommand command = Command(server, "out");
  command.source = folder_.Path("x.tar");
  command.client.max_in_flight = 1;
  EXPECT_THAT(Message(command), HasSubstr("when it was opened"));
  for (const nlohmann::json& row : Rows("out")) EXPECT_FALSE(row.contains("error")) << row;
}

TEST_F(Scoring, AnUnlistedChunkIsScoredAgain) {
  Asked asked;
  SmallServer server(Methods(asked.Counting(PlainAnswer)));
  ScoreIndex index = RunWell(Command(server, "out"));
  index.chunks.resize(2);  // like a kill before the third chunk was added to the index
  ASSERT_TRUE(WriteScoreIndex(folder_.Path("out"), index).ok());
  folder_.Write("out/chunk-0000000016.jsonl", "{\"index\":16}\n");
  folder_.Write("out/chunk-0000000024.classes.npy.new", "torn");
  ScoreCommand command = Command(server, "out");
  command.chunk = 5;  // the size of chunks may change
  RunWell(command);
  ExpectEachOnce("out");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out/chunk-0000000024.jsonl")) << "it is in no chunk now";
  EXPECT_EQ(asked.Of(ImageFile(15 % 5, 15)), 1);
  EXPECT_EQ(asked.Of(ImageFile(16 % 5, 16)), 2);
}

TEST_F(Scoring, AContinuedRunKeepsItsVersion) {
  Asked asked;
  const v1::ModelVersion old = Described();
  v1::ModelVersion replacement = Described(std::string(64, 'e'));
  replacement.set_version(4);
  SmallServer::Methods methods = Methods(asked.Counting(PlainAnswer), replacement);  // the newest version comes first
  *methods.models.add_versions() = old;
  {
    SmallServer first(Methods(PlainAnswer));
    ScoreIndex index = RunWell(Command(first, "out"));
    index.chunks.resize(2);
    ASSERT_TRUE(WriteScoreIndex(folder_.Path("out"), index).ok());
  }
  SmallServer server(methods);
  RunWell(Command(server, "out"));
  ExpectEachOnce("out");
  ASSERT_EQ(asked.Requests().size(), 14u);
  for (const v1::ClassifyRequest& request : asked.Requests()) EXPECT_EQ(request.version(), 3);
  ScoreCommand other = Command(server, "out");
  other.model.label = "canary";
  RunWell(other);
  EXPECT_THAT(said_.str(), HasSubstr("stays with version 3; the label canary is not used"));
  other.model.version = 4;
  EXPECT_THAT(Message(other), AllOf(HasSubstr("the version of the model was 3, now it is 4"), HasSubstr("--restart")));
}

TEST_F(Scoring, ARemovedVersionIsNamed) {
  v1::ModelVersion replacement = Described(std::string(64, 'e'));
  replacement.set_version(4);
  std::atomic<int> answered = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    if (++answered > 10) return StreamErrorTo(request, grpc::StatusCode::NOT_FOUND, "m has no version 3");
    return Answer(request);
  }));
  ScoreCommand command = Command(server, "out");
  command.client.max_in_flight = 1;
  command.patience = absl::Milliseconds(400);
  EXPECT_THAT(Message(command),
              AllOf(HasSubstr("no longer has m@3, with which the run began"), HasSubstr("vitrine admin load m@3")));
  EXPECT_THAT(said_.str(), HasSubstr("the version is not loaded (m has no version 3)"));
  EXPECT_EQ(Rows("out").size(), 10u);
  SmallServer later(Methods(PlainAnswer, replacement));
  EXPECT_THAT(Message(Command(later, "out")), AllOf(HasSubstr("was begun with m@3"), HasSubstr("admin load m@3")));
  EXPECT_EQ(Rows("out").size(), 10u) << "nothing was lost";
}

TEST_F(Scoring, AnswersOfOtherWeightsEndTheRun) {
  std::atomic<int> answered = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    return Answer(request, ++answered > 20 ? std::string(64, 'f') : kDigest);
  }));
  EXPECT_THAT(Message(Command(server, "out")), HasSubstr(std::string(64, 'f')));
  EXPECT_LE(Rows("out").size(), 20u);
  for (const nlohmann::json& row : Rows("out")) EXPECT_EQ(row["weights_sha256"], kDigest);
  SmallServer replaced(Methods(PlainAnswer, Described(std::string(64, 'f'))));
  EXPECT_THAT(Message(Command(replaced, "out")), AllOf(HasSubstr("the weights " + kDigest), HasSubstr("--restart")));
}

TEST_F(Scoring, ImagesWithoutAnAnswerHaveRowsWithTheError) {
  folder_.Write("data/103.png", "not an image");
  folder_.Write("data/104.png", "");
  const std::string refused = ImageFile(0, 5), slow = ImageFile(1, 6);
  SmallServer::Methods methods = Methods(PlainAnswer);
  methods.stream = [&](StreamOfServer* stream, grpc::ServerContext*) {
    v1::ClassifyRequest request;
    while (stream->Read(&request)) {
      if (request.image() == slow) continue;
      stream->Write(request.image() == refused
                        ? StreamErrorTo(request, grpc::StatusCode::INVALID_ARGUMENT, "the JPEG is damaged")
                        : Answer(request));
    }
    return grpc::Status::OK;
  };
  SmallServer server(methods);
  ScoreCommand command = Command(server, "out");
  command.client.deadline = absl::Milliseconds(200);
  command.patience = absl::Milliseconds(900);
  const ScoreCounts counts = CountScores(RunWell(command));
  EXPECT_TRUE(counts.complete());
  EXPECT_EQ(counts.unreadable, 2);
  EXPECT_EQ(counts.refused, 2);
  ExpectEachOnce("out");
  const std::vector<nlohmann::json> rows = Rows("out");
  EXPECT_EQ(rows[5]["error"], "the JPEG is damaged");
  EXPECT_EQ(rows[5]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(rows[6]["code"], "DEADLINE_EXCEEDED") << "it does not hold up the images after it";
  EXPECT_TRUE(rows[3].contains("error") && rows[4].contains("error"));
}

TEST_F(Scoring, NoRowsAreWrittenIfAllImagesAreMissing) {
  folder_.Write("list.txt", "a.png\nb.png\n");
  SmallServer server(Methods(PlainAnswer));
  ScoreCommand command = Command(server, "out");
  command.source = folder_.Path("list.txt");
  EXPECT_THAT(Message(command), HasSubstr("2 images have no result, the first of them a.png"));
  EXPECT_TRUE(Rows("out").empty()) << "the disk may come back";
}

TEST_F(Scoring, MissingImagesHaveRowsOnceAnotherIsReadable) {
  std::string list;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&list, "missing-", i, ".png\n");  // listed before all readable images
  folder_.Write("data/list.txt", absl::StrCat(list, "100.png\n101.png\n"));
  SmallServer server(Methods(PlainAnswer));
  ScoreCommand command = Command(server, "out");
  command.source = folder_.Path("data/list.txt");
  EXPECT_EQ(CountScores(RunWell(command)).unreadable, 20);
  // Simulates a kill after all readable images were scored, so that only the missing images have no result.
  folder_.Write("data/end.txt",
                absl::StrCat("100.png\n101.png\n102.png\n103.png\n104.png\n105.png\n106.png\n107.png\n", list));
  command.source = folder_.Path("data/end.txt");
  command.out = folder_.Path("end");
  ScoreIndex index = RunWell(command);
  index.chunks.resize(1);
  ASSERT_TRUE(WriteScoreIndex(folder_.Path("end"), index).ok());
  EXPECT_TRUE(CountScores(RunWell(command)).complete());
}

TEST_F(Scoring, AnswersOfAnotherPrecisionEndTheRun) {
  std::atomic<int> answered = 0;
  SmallServer server(Methods([&](const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer = Answer(request);
    answer.mutable_response()->mutable_served_by()->set_precision(++answered > 10 ? "int8" : "fp32");
    return answer;
  }));
  ScoreCommand command = Command(server, "out");
  command.client.max_in_flight = 1;
  EXPECT_THAT(Message(command), AllOf(HasSubstr("computes in int8"), HasSubstr("was begun in fp32")));
  EXPECT_EQ(Rows("out").size(), 10u);
  EXPECT_THAT(Message(command), HasSubstr("was begun in fp32")) << "the next run knows it too";
}

TEST_F(Scoring, LargeRowsMakeChunksSmaller) {
  constexpr int kLabels = 12000;
  v1::ModelVersion model = Described();
  while (model.labels_size() < kLabels) model.add_labels("one more");
  SmallServer server(Methods(PlainAnswer, model));
  ScoreCommand command = Command(server, "out");
  command.chunk = kImages;
  command.top_k = kLabels;
  EXPECT_EQ(RunWell(command).chunks.size(), 2u);
}

TEST_F(Scoring, VectorsAreOfTheRequestedKind) {
  v1::ModelVersion model = Described();
  model.add_feature_kinds(v1::MEAN_TOKEN);
  model.set_feature_width(3);
  Asked asked;
  std::atomic<bool> too_old = false;
  const auto with_vector = [&](const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer = Answer(request);
    if (too_old) return answer;
    const std::vector<float> values = {1, 2, 3};
    v1::Feature& feature = *answer.mutable_response()->add_features();
    feature.set_kind(v1::MEAN_TOKEN);
    feature.set_rows(1);
    feature.set_columns(1);
    feature.set_width(3);
    feature.set_encoding(v1::FEATURE_FLOAT32);
    feature.set_values(values.data(), 12);
    return answer;
  };
  SmallServer server(Methods(asked.Counting(with_vector), model));
  ScoreCommand command = Command(server, "out");
  command.embeddings = v1::MEAN_TOKEN;
  EXPECT_EQ(RunWell(command).settings.width, 3);
  EXPECT_EQ(asked.Requests()[0].features(0).kind(), v1::MEAN_TOKEN);
  EXPECT_THAT(folder_.Read("out/chunk-0000000024.vectors.npy"), HasSubstr("'shape': (6, 3)"));
  command.embeddings = v1::FEATURE_KIND_UNSPECIFIED;
  EXPECT_THAT(Message(command), HasSubstr("--embeddings was mean, now it is not given"));
  command = Command(server, "other");
  command.embeddings = v1::CLASS_TOKEN;
  EXPECT_THAT(Message(command), HasSubstr("has no class features; it has: mean"));
  command.embeddings = v1::MEAN_TOKEN;
  too_old = true;
  EXPECT_THAT(Message(command), HasSubstr("without the features"));
  too_old = false;
  model.clear_labels();
  SmallServer tower(Methods(with_vector, model));
  command = Command(tower, "tower");
  EXPECT_THAT(Message(command), HasSubstr("has no classes; give --embeddings"));
  command.embeddings = v1::MEAN_TOKEN;
  EXPECT_EQ(RunWell(command).settings.top_k, 0);
  EXPECT_THAT(folder_.Read("tower/chunk-0000000024.vectors.npy"), HasSubstr("'shape': (6, 3)"));
}

TEST_F(Scoring, RegistersAreSeveralVectorsPerImage) {
  v1::ModelVersion model = Described();
  const auto with_registers = [&](const v1::ClassifyRequest& request) {
    v1::ClassifyStreamResponse answer = Answer(request);
    const std::vector<float> values = {1, 2, 3, 4, 5, 6};
    v1::Feature& feature = *answer.mutable_response()->add_features();
    feature.set_kind(v1::REGISTER_TOKENS);
    feature.set_rows(1);
    feature.set_columns(2);
    feature.set_width(3);
    feature.set_encoding(v1::FEATURE_FLOAT32);
    feature.set_values(values.data(), 24);
    return answer;
  };
  for (const bool is_described : {true, false}) {  // false: the server does not report the width
    model.clear_feature_kinds();
    model.add_feature_kinds(v1::REGISTER_TOKENS);
    model.set_feature_width(is_described ? 3 : 0);
    model.mutable_config()->mutable_vit()->set_registers(is_described ? 2 : 0);
    SmallServer server(Methods(with_registers, model));
    ScoreCommand command = Command(server, is_described ? "out" : "other");
    command.embeddings = v1::REGISTER_TOKENS;
    EXPECT_EQ(RunWell(command).settings.registers, 2);
    EXPECT_THAT(folder_.Read(absl::StrCat(is_described ? "out" : "other", "/chunk-0000000024.vectors.npy")),
                HasSubstr("'shape': (6, 2, 3)"));
    EXPECT_EQ(ReadScoreIndex(command.out)->settings.registers, 2);
  }
}

}  // namespace
}  // namespace vitrine
