// SPDX-License-Identifier: Apache-2.0
#include "trainer/scale_out/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

absl::StatusOr<std::optional<Rendezvous>> Read(const Variables& variables) {
  return ReadRendezvous([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables Torchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "node-0"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"TORCHELASTIC_RESTART_COUNT", "2"}};
}

TEST(Rendezvous, ReadsTheVariablesOfTorchrun) {
  const auto read = Read(Torchrun());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->has_value());
  EXPECT_EQ((*read)->rank, 3);
  EXPECT_EQ((*read)->world_size, 4);
  EXPECT_EQ((*read)->local_rank, 1);
  EXPECT_EQ((*read)->master_address, "node-0");
  EXPECT_EQ((*read)->master_port, 29500);
  EXPECT_TRUE((*read)->agent_hosts_store);
  EXPECT_EQ((*read)->restarts, 2);
}

TEST(Rendezvous, ReadsTheVariablesOfPyTorchJob) {
  const auto read =
      Read({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-master-0"}, {"MASTER_PORT", "65535"}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->local_rank, 0);
  EXPECT_EQ((*read)->master_port, 65535);
  EXPECT_FALSE((*read)->agent_hosts_store);
}

TEST(Rendezvous, JobIndexIsTheRankIfTheWorldSizeIsSet) {
  Variables job = {{"JOB_COMPLETION_INDEX", "1"}};
  auto read = Read(job);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value()) << "a job of independent pods";
  job.insert({{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "job-0.job"}, {"MASTER_PORT", "29500"}});
  read = Read(job);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->rank, 1);
  job["RANK"] = "0";
  EXPECT_EQ((*Read(job))->rank, 0) << "RANK comes first";
}

TEST(Rendezvous, WithoutVariablesTheProcessIsAlone) {
  const auto read = Read({{"PATH", "/bin"}, {"OMP_NUM_THREADS", "1"}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST(Rendezvous, OneProcessNeedsNoAddress) {
  const auto read = Read({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->world_size, 1);
}

TEST(Rendezvous, ErrorNamesMissingVariables) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    Variables most = Torchrun();
    most.erase(name);
    const auto without = Read(most);
    EXPECT_EQ(without.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(without.status().message()), HasSubstr(std::string("but not ") + name));
    const auto alone = Read({{name, Torchrun().at(name)}});
    EXPECT_EQ(alone.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(alone.status().message()), HasSubstr(std::string("Unset ") + name));
  }
}

TEST(Rendezvous, ErrorNamesInvalidVariables) {
  const std::pair<const char*, const char*> bad[] = {{"RANK", ""},
                                                     {"RANK", "-1"},
                                                     {"RANK", "4"},
                                                     {"RANK", "1.0"},
                                                     {"RANK", " 1"},
                                                     {"RANK", "99999999999"},
                                                     {"WORLD_SIZE", "0"},
                                                     {"WORLD_SIZE", "two"},
                                                     {"MASTER_PORT", "0"},
                                                     {"MASTER_PORT", "65536"},
                                                     {"MASTER_PORT", "http"},
                                                     {"MASTER_ADDR", ""},
                                                     {"LOCAL_RANK", "4"},
                                                     {"LOCAL_RANK", "x"},
                                                     {"TORCHELASTIC_RESTART_COUNT", "-3"}};
  for (const auto& [name, value] : bad) {
    Variables variables = Torchrun();
    variables[name] = value;
    const auto read = Read(variables);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << name << "=" << value;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(name)) << value;
  }
}

TEST(Rendezvous, OnlyTheValueTrueLetsTheAgentHostTheStore) {
  for (const char* other : {"False", "true", "1", ""}) {
    Variables variables = Torchrun();
    variables["TORCHELASTIC_USE_AGENT_STORE"] = other;
    EXPECT_FALSE((*Read(variables))->agent_hosts_store) << other;
  }
}

}  // namespace
}  // namespace vitrine
