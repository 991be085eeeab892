// SPDX-License-Identifier: Apache-2.0
// Tests the decisions of the canary guard about good and bad canaries, with the default settings. The clock is
// simulated: 50 requests per second, a tenth of them to the canary.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "server/observe/model_metrics.h"
#include "tests/server/admin/admin_test.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kClasses = 10;

struct SeenImage {
  int truth = 0;
  double hardness = 0;  // 0 to 1
};

struct Answer {
  int top = 0;
  double confidence = 0;
};

// Simulated answers of a version. The version answers an image correctly if the image's hardness for this version is at
// most `skill`. For a harder image, it answers a pseudo-random class that depends on the image and on `seed`.
struct Behaviour {
  double skill = 0.8;
  uint64_t seed = 1;              // the version's training seed
  double overconfidence = 0;      // added to every confidence
  std::vector<int> classes = {};  // reported class for class i; empty: i
  bool is_random = false;         // true: the same answer for every image, as with random weights
  absl::Duration compute = absl::Milliseconds(10);

  Answer Of(const SeenImage& image, std::mt19937_64& random) const {
    if (is_random) return {3, 0.12};
    // Most of an image's hardness is equal for all versions; a small part is specific to this version.
    std::mt19937_64 own(seed * 7919 + static_cast<uint64_t>(image.hardness * 1e9));
    std::uniform_real_distribution<double> unit(0, 1);
    const double hard = std::clamp(image.hardness + 0.15 * (unit(own) - 0.5), 0.0, 1.0);
    Answer answer{image.truth, std::clamp(1.05 - 0.75 * hard + overconfidence + 0.05 * (unit(random) - 0.5), 0.1, 1.0)};
    if (hard > skill) answer.top = static_cast<int>(own() % kClasses);
    if (!classes.empty()) answer.top = classes[static_cast<size_t>(answer.top)];
    return answer;
  }
};

class CanaryQualityTest : public AdminTest {
 protected:
  void Guard(const std::string& guard = "") {
    files_.Write("serving", absl::StrCat("models { model: 'm' version_policy { latest: 2 } labels { label: 'stable' "
                                         "version: 1 } traffic { version: 2 percent: 10 } ",
                                         guard, "}"));
    files_.Add("m", 1);
    files_.Add("m", 2);
    Restart();
  }

  SeenImage AnyImage() {
    std::uniform_real_distribution<double> unit(0, 1);
    // Classes are not equally frequent.
    const int truth = std::min(static_cast<int>(kClasses * unit(random_) * unit(random_) * 1.3), kClasses - 1);
    return {truth, unit(random_)};
  }
  void Serve(int64_t version, const Behaviour& behaviour, double noise) {
    const ModelHandle model = registry_->Find("m", version).value();
    const Answer answer = behaviour.Of(AnyImage(), random_);
    model->answered->Add(answer.top, answer.confidence, answer.confidence < 0.5);
    model->computed->Add(1, behaviour.compute * std::exp(noise));
    model->version_metrics->requests().Count(Method::kClassify, absl::OkStatus(), absl::ZeroDuration());
  }
  void Pair(const Behaviour& canary, const Behaviour& stable) {
    const SeenImage image = AnyImage();
    const Answer mine = canary.Of(image, random_), theirs = stable.Of(image, random_);
    registry_->Find("m", 2).value()->paired->Add(theirs.confidence >= PairedAnswers::kSure, mine.top == theirs.top,
                                                 absl::ZeroDuration(), clock_.Now());
  }
  // Returns the seconds until the canary is rolled back, or `most` if it is not rolled back.
  int SecondsUntilPutAway(const Behaviour& canary, const Behaviour& stable, int most, bool pairs = true) {
    std::normal_distribution<double> noise(0, 0.3);
    for (int second = 0; second < most; ++second) {
      clock_.Advance(absl::Seconds(1));
      Look();
      if (registry_->Traffic("m").PercentOf(2) == 0) return second;
      for (int i = 0; i < 45; ++i) Serve(1, stable, noise(random_));
      for (int i = 0; i < 5; ++i) Serve(2, canary, noise(random_));
      for (int i = 0; pairs && i < 4; ++i) Pair(canary, stable);
    }
    return most;
  }
  std::string Reason() { return Serving().put_away().empty() ? "" : Serving().put_away(0).reason(); }

  std::mt19937_64 random_{5};
};

std::vector<int> Shuffled() {
  std::vector<int> classes(kClasses);
  for (int c = 0; c < kClasses; ++c) classes[static_cast<size_t>(c)] = (c + 3) % kClasses;
  return classes;
}

TEST_F(CanaryQualityTest, BadCanariesAreRolledBackWithinAMinute) {
  Guard();
  EXPECT_LT(SecondsUntilPutAway({.compute = absl::Milliseconds(120)}, {}, 90), 60);
  EXPECT_THAT(Reason(), HasSubstr("compute time per image"));
  Restart();
  EXPECT_LT(SecondsUntilPutAway({.seed = 2, .classes = Shuffled()}, {}, 90), 60);
  EXPECT_THAT(Reason(), HasSubstr("it predicts another class for"));
  Restart();
  EXPECT_LT(SecondsUntilPutAway({.is_random = true}, {}, 90), 60);
  Restart();
  EXPECT_LT(SecondsUntilPutAway({.is_random = true}, {}, 90, /*pairs=*/false), 60);
  EXPECT_THAT(Reason(), HasSubstr("its mean confidence differs"));
}

// These canaries are as good as the stable version. Some have another seed or precision, and some are slightly slower.
// The others were trained slightly longer or shorter, or are slightly more confident.
TEST_F(CanaryQualityTest, HarmlessCanariesKeepServing) {
  Guard();
  const std::vector<Behaviour> harmless = {
      {.seed = 2},
      {.seed = 3},
      {.seed = 4},
      {.seed = 1},  // the same weights as the stable version
      {.seed = 1, .overconfidence = 0.01, .compute = absl::Milliseconds(6)},
      {.seed = 1, .compute = absl::Milliseconds(12)},
      {.seed = 5, .compute = absl::Milliseconds(12)},
      {.skill = 0.77, .seed = 6},
      {.skill = 0.83, .seed = 7, .overconfidence = 0.05},
      {.skill = 0.78, .seed = 8, .overconfidence = -0.05},
  };
  // Simulates an hour with each canary, in ten parts of 360 s.
  for (const Behaviour& canary : harmless) {
    for (int hour = 0; hour < 10; ++hour) {
      ASSERT_EQ(SecondsUntilPutAway(canary, {}, 360), 360) << canary.seed << ": " << Reason();
    }
  }
}

TEST_F(CanaryQualityTest, ACanaryWithoutAGuardKeepsServing) {
  Guard("canary_guard { off: true }");
  EXPECT_EQ(SecondsUntilPutAway({.is_random = true}, {}, 60), 60);
  EXPECT_THAT(Reason(), IsEmpty());
}

TEST(ClassDistance, ExcludesDifferencesDueToChance) {
  std::mt19937_64 random(3);
  const auto answers = [&](int images, int classes, int shift) {
    AnswerRecord record;
    for (int i = 0; i < images; ++i) record.Add(static_cast<int64_t>(random() % classes) + shift, 0.9, false);
    return record.Read();
  };
  for (const int classes : {2, 10, 64, 1000}) {
    double sum = 0, above = 0;
    for (int run = 0; run < 300; ++run) {
      const Estimate distance = Compare(answers(100, classes, 0), answers(900, classes, 0)).classes;
      sum += distance.value;
      above += distance.value > 4 * distance.error;
    }
    EXPECT_NEAR(sum / 300, 0, 0.05) << classes << ": of rare classes a little is left, far below the bound";
    EXPECT_LE(above, 3) << classes;
  }
  EXPECT_NEAR(Compare(answers(300, 5, 0), answers(300, 5, 5)).classes.value, 1, 0.02) << "no class in common";
}

// A version without a calibration marks no answer as unsure, so its share of unsure answers is not compared.
TEST(ShareOfUnsure, IsComparedOnlyBetweenCalibratedVersions) {
  const auto answers = [](int images, std::optional<bool> unsure) {
    AnswerRecord record;
    for (int i = 0; i < images; ++i) record.Add(0, 0.9, unsure);
    return record.Read();
  };
  EXPECT_NEAR(Compare(answers(100, true), answers(900, false)).unsure.value, 1, 1e-9);
  EXPECT_GT(Compare(answers(100, true), answers(900, false)).unsure.error, 0);
  EXPECT_EQ(Compare(answers(100, std::nullopt), answers(900, true)).unsure.value, 0);
  EXPECT_EQ(Compare(answers(100, true), answers(900, std::nullopt)).unsure.value, 0);
}

}  // namespace
}  // namespace vitrine
