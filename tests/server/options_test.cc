// SPDX-License-Identifier: Apache-2.0
#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/parsed_options.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Parse;

TEST(ServerOptions, DefaultsAreValidOnceARepositoryIsNamed) {
  ServerOptions options;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("--repository is missing"));
  options.repository = "/";
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
}

TEST(ServerOptions, FlagsReachTheirSettings) {
  const ServerOptions options = Parse({"--repository",
                                       "/models",
                                       "--listen",
                                       "127.0.0.1:0",
                                       "--device",
                                       "cuda:1",
                                       "--executors",
                                       "3",
                                       "--max-batch-tokens",
                                       "99",
                                       "--max-batch-pixels",
                                       "98",
                                       "--max-wait",
                                       "1.5ms",
                                       "--max-queue-requests",
                                       "7",
                                       "--max-queue-bytes",
                                       "8",
                                       "--max-message-bytes",
                                       "4096",
                                       "--max-transport-bytes",
                                       "8192",
                                       "--lame-duck",
                                       "5s",
                                       "--hung-worker-timeout",
                                       "3m",
                                       "--drain-deadline",
                                       "1m",
                                       "--poll-interval",
                                       "250ms",
                                       "--max-connection-age",
                                       "inf",
                                       "--log-level",
                                       "debug",
                                       "--log-batches"});
  EXPECT_EQ(options.repository, "/models");
  EXPECT_EQ(options.rpc.listen, "127.0.0.1:0");
  EXPECT_EQ(options.device, "cuda:1");
  EXPECT_EQ(options.executor.threads, 3);
  EXPECT_EQ(options.batch.max_batch_tokens, 99);
  EXPECT_EQ(options.batch.max_batch_pixels, 98);
  EXPECT_EQ(options.batch.max_wait, absl::Microseconds(1500));
  EXPECT_EQ(options.admission.max_requests, 7);
  EXPECT_EQ(options.admission.max_bytes, 8);
  EXPECT_EQ(options.rpc.max_message_bytes, 4096);
  EXPECT_EQ(options.rpc.max_transport_bytes, 8192);
  EXPECT_EQ(options.lame_duck, absl::Seconds(5));
  EXPECT_EQ(options.hung_worker_timeout, absl::Minutes(3));
  EXPECT_EQ(options.drain_deadline, absl::Minutes(1));
  EXPECT_EQ(options.registry.poll_interval, absl::Milliseconds(250));
  EXPECT_EQ(options.rpc.max_connection_age, absl::InfiniteDuration());
  EXPECT_EQ(options.log_level, "debug");
  EXPECT_TRUE(options.executor.log_batches);
}

TEST(ServerOptions, ADurationWithoutAUnitIsRefused) {
  EXPECT_THROW(Parse({"--lame-duck", "5"}), CLI::ValidationError);
}

TEST(ServerOptions, TheWildcardIsWrittenOut) {
  ServerOptions options;
  options.repository = "/";
  options.rpc.listen = "[::]:0";
  EXPECT_TRUE(options.Validate().ok()) << options.Validate();
  options.rpc.listen = "*:0";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("write 0.0.0.0"));
}

TEST(ServerOptions, EveryFaultIsNamedAtOnce) {
  ServerOptions options;
  options.repository = "/nowhere";
  options.rpc.listen = "localhost";
  options.metrics = "localhost:99999";
  options.device = "gpu";
  options.batch.max_batch_tokens = 0;
  options.rpc.queues = 0;
  options.rpc.max_transport_bytes = 2 * options.rpc.max_message_bytes - 1;
  options.lame_duck = -absl::Seconds(1);
  options.log_level = "loud";
  const absl::Status status = options.Validate();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("/nowhere"), HasSubstr("\"localhost\""), HasSubstr("99999"), HasSubstr("gpu"),
            HasSubstr("max_batch_tokens is 0"), HasSubstr("--queues is 0"),
            HasSubstr("--max-transport-bytes is 33554431"), HasSubstr("--lame-duck is -1s"), HasSubstr("loud")));
}

}  // namespace
}  // namespace vitrine
