// SPDX-License-Identifier: Apache-2.0
// Tests local scoring with a small model and constructed images. Each image must have one result, and failed reads must
// be repeated. After a stop, only a few images may still be finished, even if the images are large.
#include "client/score/local_scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/charts/progress_display.h"
#include "common/imaging/encode/encode_png.h"
#include "tests/scratch_folder.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int kImages = 20;
constexpr size_t kInFlight = 3;  // maximum number of batches whose images are finished after a stop

std::string Png(int side) {
  Image image{.width = side, .height = side, .channels = 1, .pixels = {}};
  image.pixels.assign(static_cast<size_t>(side) * side, 90);
  return *EncodePng(image);
}

// A set of images that all have the same content. After FailAt, the first reads of an image fail, and later reads of
// the image succeed.
class MadeImages final : public ImageSet {
 public:
  explicit MadeImages(std::string file, int64_t size = kImages) : file_(std::move(file)), size_(size) {}
  int64_t size() const override { return size_; }
  std::string name(int64_t index) const override { return absl::StrCat(index, ".png"); }
  absl::StatusOr<std::string> encoded(int64_t index) const override {
    const std::lock_guard lock(mutex_);
    ++reads_[index];
    const auto found = failures_.find(index);
    if (found == failures_.end() || found->second.first == 0) return file_;
    --found->second.first;
    return found->second.second;
  }

  void FailAt(int64_t index, int times, absl::Status why) { failures_[index] = {times, std::move(why)}; }
  int reads(int64_t index) const {
    const std::lock_guard lock(mutex_);
    return reads_[index];
  }

 private:
  const std::string file_;
  const int64_t size_;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, int> reads_ = {};
  mutable std::map<int64_t, std::pair<int, absl::Status>> failures_ = {};
};

// Stores the results. If `stops` is true, sets `stop` at the first result.
class Results final : public RoundsClient {
 public:
  v1::ClassifyRequest RequestWith(std::string image) const override {
    v1::ClassifyRequest request;
    request.set_image(std::move(image));
    request.set_model("small");
    return request;
  }
  absl::Status TakeAnswer(const SentImage& image, const v1::ClassifyResponse& answer) override {
    EXPECT_THAT(answer.predictions(), SizeIs(5));
    return Take(image.index, "answered");
  }
  void TakeFailure(const SentImage& image, Outcome outcome, const absl::Status& why) override {
    EXPECT_FALSE(why.ok());
    EXPECT_TRUE(Take(image.index, outcome == Outcome::kUnreadable ? "unreadable" : "refused").ok());
  }

  std::map<int64_t, std::string> all = {};
  std::atomic<bool> stop = false;
  bool stops = false;

 private:
  absl::Status Take(int64_t index, const std::string& result) {
    EXPECT_TRUE(all.emplace(index, result).second) << "a second result of image " << index;
    if (stops) stop = true;
    return absl::OkStatus();
  }
};

class LocalScorerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ScratchFolder folder;
    PublishVersion(folder.path(), "small", SmallNativeConfig(), 1);
    auto loaded = LoadLocally({.repository = folder.path(), .threads = 2}, {.name = "small"});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    model_ = loaded->release();
  }
  static void TearDownTestSuite() { delete std::exchange(model_, nullptr); }

  // Scores all images of `data`.
  absl::Status Score(const MadeImages& data) {
    std::ostringstream said;
    ProgressDisplay display(said, {});
    RunProgress progress(display, data.size());
    LocalScorer scorer({.source = "made", .stop = &results_.stop}, *model_, data, progress, results_);
    std::vector<int64_t> images(static_cast<size_t>(data.size()));
    std::iota(images.begin(), images.end(), 0);
    return scorer.Score(std::move(images));
  }

  static LocalModel* model_;
  Results results_;
};
LocalModel* LocalScorerTest::model_ = nullptr;

TEST_F(LocalScorerTest, AnswersEachImageOnce) {
  EXPECT_TRUE(Score(MadeImages(Png(24), 1000)).ok());
  EXPECT_THAT(results_.all, SizeIs(1000));
  EXPECT_THAT(results_.all, Each(Pair(testing::_, "answered")));
}

TEST_F(LocalScorerTest, DamagedImagesAreRefused) {
  const std::string whole = Png(24);
  EXPECT_TRUE(Score(MadeImages(whole.substr(0, whole.size() - 20))).ok());
  EXPECT_THAT(results_.all, SizeIs(kImages));
  EXPECT_THAT(results_.all, Each(Pair(testing::_, "refused")));
}

TEST_F(LocalScorerTest, AFailedReadIsRepeated) {
  MadeImages data(Png(24));
  data.FailAt(3, 2, absl::UnavailableError("input/output error"));
  data.FailAt(5, 1, absl::NotFoundError("no such file"));
  EXPECT_TRUE(Score(data).ok());
  EXPECT_EQ(data.reads(3), 3);
  EXPECT_EQ(data.reads(5), 2);
  EXPECT_THAT(results_.all, SizeIs(kImages));
  EXPECT_THAT(results_.all, Each(Pair(testing::_, "answered")));
}

TEST_F(LocalScorerTest, AMissingFileHasARowWhileOthersCanBeRead) {
  MadeImages data(Png(24));
  data.FailAt(5, 100, absl::NotFoundError("no such file"));
  EXPECT_TRUE(Score(data).ok());
  EXPECT_EQ(results_.all[5], "unreadable");
  EXPECT_THAT(results_.all, SizeIs(kImages));
}

TEST_F(LocalScorerTest, APersistentReadErrorEndsTheRunWithoutARow) {
  MadeImages data(Png(24));
  data.FailAt(5, 100, absl::UnavailableError("input/output error"));
  EXPECT_EQ(Score(data).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(results_.all.count(5), 0U);
}

TEST_F(LocalScorerTest, AMissingSourceEndsTheRunWithoutRows) {
  MadeImages data(Png(24), 3);
  for (int64_t index = 0; index < data.size(); ++index) data.FailAt(index, 100, absl::NotFoundError("no such file"));
  const absl::Status ended = Score(data);
  EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(ended.message()), testing::HasSubstr("made seems to be gone"));
  EXPECT_THAT(results_.all, SizeIs(0));
}

TEST_F(LocalScorerTest, AChangedSourceEndsTheRun) {
  MadeImages data(Png(24));
  data.FailAt(0, 1, absl::FailedPreconditionError("the shard has changed"));
  EXPECT_EQ(Score(data).code(), absl::StatusCode::kFailedPrecondition);
}

// After a stop, the scorer still finishes the running batches. This test and the next test check that a batch has only
// a few images if they are large. To save time, the large image of this test is cut off, so it cannot be decoded. The
// large file of the next test is a small image followed by zeros.
TEST_F(LocalScorerTest, AStopFinishesFewImagesOfManyPixels) {
  results_.stops = true;
  const std::string whole = Png(2100);  // 4.4 million pixels, more than a batch takes
  EXPECT_EQ(Score(MadeImages(whole.substr(0, whole.size() / 2))).code(), absl::StatusCode::kCancelled);
  EXPECT_LE(results_.all.size(), kInFlight);
  EXPECT_THAT(results_.all, Each(Pair(testing::_, "refused")));
}

TEST_F(LocalScorerTest, AStopFinishesFewImagesOfManyBytes) {
  results_.stops = true;
  std::string padded = Png(24);
  padded.resize(size_t{5} << 20);  // two such files are more than a batch takes
  EXPECT_EQ(Score(MadeImages(padded)).code(), absl::StatusCode::kCancelled);
  EXPECT_LE(results_.all.size(), kInFlight);
  EXPECT_THAT(results_.all, Each(Pair(testing::_, "answered")));
}

TEST_F(LocalScorerTest, AStopBeforeTheFirstImageScoresNone) {
  results_.stop = true;
  EXPECT_EQ(Score(MadeImages(Png(24))).code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(results_.all, SizeIs(0));
}

}  // namespace
}  // namespace vitrine
