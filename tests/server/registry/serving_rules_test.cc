// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/serving_rules.h"

#include <gmock/gmock.h>

#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

std::string Fault(const std::string& row) {
  return ValidateServing(FromText<v1::ServingConfig>("models { model: 'm' " + row + " }")).ToString();
}

TEST(ServingRules, AcceptsAValidConfiguration) {
  EXPECT_TRUE(ValidateServing(FromText<v1::ServingConfig>(R"pb(
                default_policy { latest: 2 }
                models {
                  model: "eit-mini"
                  version_policy { specific { versions: [ 3, 4 ] } }
                  labels { label: "stable" version: 3 }
                  labels { label: "eu-west_2" version: 4 }
                  traffic { version: 4 percent: 5 }
                  limits { max_queued_requests: 64 max_queued_bytes: 1000000 max_memory_bytes: 5000000 }
                  canary_guard {
                    max_error_rate: 0
                    min_requests: 1
                    window_seconds: 1
                    max_golden_drift: 0.1
                    max_compute_ratio: 1.5
                  }
                  batching { max_batch_tokens: 1 max_batch_images: 1 max_batch_pixels: 1 max_wait_seconds: 0.002 }
                }
                models { model: "other" })pb"))
                  .ok());
}

TEST(ServingRules, ErrorsNameModelFieldAndRange) {
  EXPECT_THAT(Fault("version_policy {}"), HasSubstr("model \"m\": version_policy is empty"));
  EXPECT_THAT(Fault("version_policy { latest: 0 }"), HasSubstr("version_policy.latest is 0; it must be 1 to 100"));
  EXPECT_THAT(Fault("version_policy { latest: 101 }"), HasSubstr("must be 1 to 100"));
  EXPECT_THAT(Fault("version_policy { all: false }"), HasSubstr("must be true"));
  EXPECT_THAT(Fault("version_policy { specific {} }"), HasSubstr("names no version"));
  EXPECT_THAT(Fault("version_policy { specific { versions: [1, -2] } }"), HasSubstr("is -2"));
  EXPECT_THAT(Fault("version_policy { specific { versions: [1, 2, 1] } }"), HasSubstr("version 1 twice"));
  std::string many;
  for (int version = 1; version <= 101; ++version) absl::StrAppend(&many, " versions: ", version);
  EXPECT_THAT(Fault("version_policy { specific {" + many + " } }"), HasSubstr("101 versions"));
  EXPECT_THAT(Fault("labels { label: 'a' version: 0 }"), HasSubstr("labelled \"a\" is 0"));
  EXPECT_THAT(Fault("labels { label: 'a' version: 1 } labels { label: 'a' version: 2 }"), HasSubstr("given twice"));
  EXPECT_THAT(Fault("traffic { version: 1 percent: 0 }"), HasSubstr("must be above 0"));
  EXPECT_THAT(Fault("traffic { version: 1 percent: nan }"), HasSubstr("must be above 0"));
  EXPECT_THAT(Fault("traffic { version: 1 percent: 100.1 }"), HasSubstr("at most 100"));
  EXPECT_THAT(Fault("traffic { version: 1 percent: 60 } traffic { version: 2 percent: 41 }"),
              HasSubstr("add up to 101 %"));
  EXPECT_THAT(Fault("traffic { version: 1 percent: 6 } traffic { version: 1 percent: 4 }"), HasSubstr("two shares"));
  EXPECT_THAT(Fault("limits { max_queued_requests: 0 }"), HasSubstr("limits.max_queued_requests is 0"));
  EXPECT_THAT(Fault("limits { max_queued_bytes: -1 }"), HasSubstr("limits.max_queued_bytes is -1"));
  EXPECT_THAT(Fault("limits { max_memory_bytes: 0 }"), HasSubstr("limits.max_memory_bytes is 0"));
  EXPECT_THAT(Fault("canary_guard { max_error_rate: 1.5 }"), HasSubstr("must be 0 to 1"));
  EXPECT_THAT(Fault("canary_guard { max_golden_drift: 0 }"), HasSubstr("must be above 0"));
  EXPECT_THAT(Fault("canary_guard { max_golden_drift: inf }"), HasSubstr("must be above 0"));
  EXPECT_THAT(Fault("canary_guard { window_seconds: 0.5 }"), HasSubstr("1 to 86400 seconds"));
  for (const char* bad : {"1", "0.5", "-2", "nan", "inf"}) {
    EXPECT_THAT(Fault(absl::StrCat("canary_guard { max_compute_ratio: ", bad, " }")),
                HasSubstr("it must be above 1, or 0 for no check"));
  }
  EXPECT_THAT(Fault("batching { max_batch_tokens: 0 }"),
              HasSubstr("model \"m\": batching.max_batch_tokens is 0; it must be 1 or more"));
  EXPECT_THAT(Fault("batching { max_batch_images: 0 }"), HasSubstr("batching.max_batch_images is 0; it must be 1 to"));
  EXPECT_THAT(Fault("batching { max_batch_images: 65537 }"), HasSubstr("must be 1 to 65536"));
  EXPECT_THAT(Fault("batching { max_batch_pixels: -1 }"), HasSubstr("batching.max_batch_pixels is -1"));
  for (const char* bad : {"-0.001", "10.1", "nan", "inf"}) {
    EXPECT_THAT(Fault(absl::StrCat("batching { max_wait_seconds: ", bad, " }")),
                HasSubstr("it must be 0 to 10 seconds"));
  }
  EXPECT_THAT(Fault("precision: 'fp16'"), HasSubstr("precision is \"fp16\"; it must be fp32, bf16 or int8"));
  EXPECT_THAT(Fault("version_precisions { version: 1 }"), HasSubstr("the precision of version 1 is \"\""));
  EXPECT_THAT(Fault("version_precisions { version: 0 precision: 'int8' }"), HasSubstr("a version is 0"));
  EXPECT_THAT(Fault("version_precisions { version: 1 precision: 'int8' } "
                    "version_precisions { version: 1 precision: 'bf16' }"),
              HasSubstr("version 1 has two precisions"));
  EXPECT_THAT(Fault("} models { model: 'm'"), HasSubstr("two rows"));
  EXPECT_THAT(Fault("} models { model: '../m'"), HasSubstr("../m"));
  EXPECT_THAT(ValidateServing(FromText<v1::ServingConfig>("default_policy { latest: 0 }")).ToString(),
              HasSubstr("default_policy: version_policy.latest is 0"));
}

TEST(ServingRules, RangesIncludeTheirLimits) {
  std::string many;
  for (int version = 1; version <= 100; ++version) absl::StrAppend(&many, " versions: ", version);
  for (const std::string& row :
       {std::string("version_policy { latest: 1 }"), std::string("version_policy { latest: 100 }"),
        "version_policy { specific {" + many + " } }", std::string("labels { label: 'a' version: 1 }"),
        std::string("traffic { version: 1 percent: 100 }"),
        std::string("traffic { version: 1 percent: 60 } traffic { version: 2 percent: 40 }"),
        std::string("traffic { version: 1 percent: 0.001 }"), std::string("limits { max_queued_requests: 1 }"),
        std::string("limits { max_queued_bytes: 1 max_memory_bytes: 1 }"),
        std::string("canary_guard { max_error_rate: 0 }"), std::string("canary_guard { max_error_rate: 1 }"),
        std::string("canary_guard { window_seconds: 1 }"), std::string("canary_guard { window_seconds: 86400 }"),
        std::string("precision: 'int8' version_precisions { version: 1 precision: 'fp32' }"),
        std::string("canary_guard { min_requests: 1 }"), std::string("canary_guard { max_compute_ratio: 0 }"),
        std::string("canary_guard { max_compute_ratio: 1.01 }"), std::string("batching { max_wait_seconds: 0 }"),
        std::string("batching { max_wait_seconds: 10 max_batch_images: 65536 }")}) {
    EXPECT_EQ(Fault(row), "OK") << row;
  }
  EXPECT_TRUE(ValidateLabel(std::string(32, 'a')).ok());
  EXPECT_THAT(Fault("canary_guard { window_seconds: 86401 }"), HasSubstr("1 to 86400 seconds"));
  EXPECT_THAT(Fault("canary_guard { max_error_rate: -0.1 }"), HasSubstr("must be 0 to 1"));
}

TEST(ServingRules, AShareOfTheStableVersionMustBeTheRest) {
  const auto fault = [](const std::string& shares) {
    return ValidateServing(
               FromText<v1::ServingConfig>("models { model: 'm' labels { label: 'stable' version: 3 } " + shares + "}"))
        .ToString();
  };
  EXPECT_EQ(
      fault("traffic { version: 3 percent: 5 }"),
      "INVALID_ARGUMENT: model \"m\": traffic: version 3 is stable, which gets what the other shares leave, 100 %; "
      "give the share to another version");
  EXPECT_THAT(fault("traffic { version: 4 percent: 5 } traffic { version: 3 percent: 20 }"), HasSubstr("leave, 95 %"));
  EXPECT_EQ(fault("traffic { version: 4 percent: 5 } traffic { version: 3 percent: 95 }"), "OK");
  EXPECT_EQ(fault("traffic { version: 4 percent: 5 }"), "OK");
}

TEST(ServingRules, LabelsAreShortLowerCaseNames) {
  for (const char* good : {"stable", "canary", "a", "x_1-", "eu-west-2", "v2"}) EXPECT_TRUE(ValidateLabel(good).ok());
  for (const std::string& bad : {std::string(), std::string("Stable"), std::string("a b"), std::string("3"),
                                 std::string(33, 'a'), std::string("a\nb"), std::string("ä")}) {
    EXPECT_FALSE(ValidateLabel(bad).ok()) << bad;
  }
}

TEST(ServingRules, OperatorsChangesOverrideTheFile) {
  const auto file = FromText<v1::ModelServing>(R"pb(
    model: "m"
    version_policy { latest: 2 }
    labels { label: "stable" version: 1 }
    labels { label: "eu" version: 2 }
    traffic { version: 2 percent: 5 }
    limits { max_queued_requests: 7 })pb");
  EXPECT_EQ(MergeServing(file, {}).DebugString(), [&] {
    v1::ModelServing sorted = file;  // the merged labels are sorted
    sorted.mutable_labels()->SwapElements(0, 1);
    return sorted.DebugString();
  }());
  const v1::ModelServing merged = MergeServing(file, FromText<v1::ModelOverride>(R"pb(
                                                 model: "m"
                                                 version_policy { all: true }
                                                 labels { label: "stable" version: 3 }
                                                 labels { label: "eu" version: 0 }
                                                 traffic {})pb"));
  EXPECT_TRUE(merged.version_policy().all());
  EXPECT_EQ(LabelledVersion(merged, "stable"), 3);
  EXPECT_EQ(LabelledVersion(merged, "eu"), 0) << "version 0 clears the label";
  EXPECT_TRUE(merged.traffic().empty());
  EXPECT_EQ(merged.limits().max_queued_requests(), 7);
}

TEST(ServingRules, AVersionThatWasPutAwayHasNoLabelAndNoShare) {
  const auto file = FromText<v1::ModelServing>(
      "labels { label: 'a' version: 2 } traffic { version: 2 percent: 5 } traffic { version: 3 percent: 6 }");
  const v1::ModelServing merged = MergeServing(file, FromText<v1::ModelOverride>("put_away { version: 2 }"));
  EXPECT_EQ(LabelledVersion(merged, "a"), 0);
  EXPECT_EQ(PercentOf(merged, 2), 0);
  EXPECT_EQ(PercentOf(merged, 3), 6);
}

}  // namespace
}  // namespace vitrine
