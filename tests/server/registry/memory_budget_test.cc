// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/memory_budget.h"

#include <gmock/gmock.h>

#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

VersionStatus Held(const std::string& model, int64_t version, int64_t bytes) {
  auto loaded = std::make_shared<LoadedModel>();
  loaded->device_bytes = bytes;
  VersionStatus status;
  status.id = {model, version};
  status.state = v1::READY;
  status.model = std::move(loaded);
  return status;
}

TEST(MemoryBudget, CountsLoadedVersions) {
  std::vector<VersionStatus> versions = {Held("a", 1, 100), Held("a", 2, 30), Held("b", 1, 7)};
  versions.emplace_back().id = {"b", 2};
  EXPECT_EQ(MemoryOf(versions), 137);
  EXPECT_EQ(MemoryOf(versions, "a"), 130);
  EXPECT_EQ(MemoryOf(versions, "c"), 0);
}

TEST(MemoryBudget, RefusesALoadAboveTheLimitOfTheModelOrTheServer) {
  const std::vector<VersionStatus> versions = {Held("a", 1, 100), Held("b", 1, 50)};
  const v1::ModelLimits limits = FromText<v1::ModelLimits>("max_memory_bytes: 150");
  EXPECT_TRUE(CheckMemory({"a", 2}, 50, versions, {}, limits, kNoMemoryLimit).ok());
  const absl::Status refused = CheckMemory({"a", 2}, 51, versions, {}, limits, kNoMemoryLimit);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.ToString(),
              HasSubstr("a/2: it needs 51 bytes in addition to 100 in memory, which exceeds the model's limit of 150"));
  EXPECT_TRUE(CheckMemory({"a", 2}, 50, versions, {}, limits, 200).ok());
  EXPECT_THAT(CheckMemory({"a", 2}, 50, versions, {}, limits, 199).ToString(), HasSubstr("--model-memory of 199"));
  EXPECT_TRUE(CheckMemory({"a", 2}, INT64_MAX, {}, {}, {}, kNoMemoryLimit).ok())
      << "sums do not overflow without limits";
  EXPECT_FALSE(CheckMemory({"a", 2}, INT64_MAX, versions, {}, limits, kNoMemoryLimit).ok());
}

TEST(MemoryBudget, CountsVersionsThatAreBeingLoaded) {
  const std::vector<VersionStatus> versions = {Held("a", 1, 100)};
  const v1::ModelLimits limits = FromText<v1::ModelLimits>("max_memory_bytes: 150");
  EXPECT_FALSE(CheckMemory({"a", 3}, 21, versions, {{{"a", 2}, 30}}, limits, kNoMemoryLimit).ok());
  EXPECT_TRUE(CheckMemory({"a", 3}, 20, versions, {{{"a", 2}, 30}}, limits, kNoMemoryLimit).ok());
  EXPECT_TRUE(CheckMemory({"a", 3}, 50, versions, {{{"b", 2}, 30}}, limits, 180).ok());
  EXPECT_FALSE(CheckMemory({"a", 3}, 50, versions, {{{"b", 2}, 30}}, limits, 179).ok());
}

TEST(MemoryBudget, AClaimCountsOnceUntilItsVersionIsLoaded) {
  std::vector<VersionStatus> versions;
  MemoryClaims claims([&] { return versions; });
  const v1::ModelLimits none;
  EXPECT_TRUE(claims.Claim({"a", 1}, 60, none, 100).ok());
  EXPECT_FALSE(claims.Claim({"b", 1}, 41, none, 100).ok());
  EXPECT_EQ(claims.count(), 1);
  EXPECT_EQ(claims.Names(), "a/1");
  EXPECT_TRUE(claims.Claim({"a", 1}, 70, none, 100).ok()) << "a new claim of the version replaces its old claim";
  EXPECT_FALSE(claims.Claim({"a", 1}, 101, none, 100).ok());
  EXPECT_FALSE(claims.Claim({"b", 1}, 31, none, 100).ok()) << "a refused claim leaves the previous claim of 70";
  claims.Release({"a", 1}, [&] { versions.push_back(Held("a", 1, 70)); });
  EXPECT_EQ(claims.count(), 0);
  EXPECT_FALSE(claims.Claim({"b", 1}, 31, none, 100).ok());
  EXPECT_TRUE(claims.Claim({"b", 1}, 30, none, 100).ok());
  claims.Release({"b", 1});
  EXPECT_EQ(claims.count(), 0);
}

}  // namespace
}  // namespace vitrine
