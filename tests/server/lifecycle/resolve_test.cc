// SPDX-License-Identifier: Apache-2.0
// Tests the defaults that a server takes from its machine, and the validation of its configuration.
#include "server/resolve.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/scratch_folder.h"
#include "tests/server/logged.h"
#include "tests/server/parsed_options.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Parse;

constexpr int64_t kMebibyte = int64_t{1} << 20;

Machine WithMemory(int64_t mebibytes) {
  return {.cores = {2, 3}, .cpus = 2, .memory_bytes = mebibytes * kMebibyte, .memory_limited = true};
}

TEST(Resolve, ThreadsFollowTheMachineUnlessTheFlagIsSet) {
  const Machine machine = {.cores = {4, 5, 6, 7}, .cpus = 2.5};
  EXPECT_EQ(Resolve({}, {}, machine).executor.ThreadCount(), 2);
  EXPECT_EQ(Resolve({}, {}, machine).admission.executors, 2);
  EXPECT_EQ(Resolve(Parse({"--executors", "7"}), {}, machine).executor.ThreadCount(), 7);
}

TEST(Resolve, ADeviceHasTwoThreadsPerCoreByDefault) {
  const Device cuda = {Device::Kind::kCuda, 0};
  const auto threads = [&](const ServerOptions& options, double cpus) {
    return Resolve(options, cuda, {.cores = {}, .cpus = cpus}).executor.ThreadCount();
  };
  EXPECT_EQ(threads({}, 4), 8);
  EXPECT_EQ(threads({}, 16), 32);
  EXPECT_EQ(threads(Parse({"--executors", "12"}), 16), 12);
}

TEST(Resolve, BatchSettingsHaveTheNumberOfExecutors) {
  const Machine machine = {.cores = {4, 5, 6, 7}, .cpus = 3};
  EXPECT_EQ(Resolve({}, {}, machine).batch.executors, 3);
  EXPECT_EQ(Resolve({}, Device{Device::Kind::kCuda, 0}, machine).batch.executors, 6);
}

TEST(Resolve, TheDeviceGetsTheBatchLimits) {
  const ServerOptions options = Resolve(Parse({"--device-batch-images", "32", "--device-batch-tokens", "5000"}),
                                        Device{Device::Kind::kCuda, 0}, {});
  EXPECT_EQ(options.executor.device.batch.images, 32);
  EXPECT_EQ(options.executor.device.batch.tokens, 5000);
}

TEST(Resolve, EightExecutorsShareAQueueByDefault) {
  const auto queues = [](const std::vector<const char*>& flags) { return Resolve(Parse(flags), {}, {}).rpc.queues; };
  EXPECT_EQ(queues({"--executors", "1"}), 1);
  EXPECT_EQ(queues({"--executors", "8"}), 1);
  EXPECT_EQ(queues({"--executors", "9"}), 2);
  EXPECT_EQ(queues({"--executors", "9", "--queues", "5"}), 5);
}

TEST(Resolve, AdmissionGetsTheBatchSettings) {
  ServerOptions options;
  options.batch.max_batch_tokens = 77;
  options.batch.patience = {absl::Seconds(3), absl::Seconds(4), absl::Seconds(5)};
  const ServerOptions resolved = Resolve(options, {}, WithMemory(1000));
  EXPECT_EQ(resolved.admission.max_batch_tokens, 77);
  EXPECT_EQ(resolved.admission.patience, options.batch.patience);
}

TEST(Resolve, PartsGetTheSettingsTheyShare) {
  const Machine machine = {.cores = {4, 5, 6, 7}, .cpus = 3};
  const ServerOptions resolved = Resolve(Parse({"--repository", "/models"}), {}, machine);
  EXPECT_EQ(resolved.registry.root, "/models");
  EXPECT_EQ(resolved.registry.loads_at_once, 3);
  EXPECT_EQ(resolved.executor.cores, machine.cores);
  EXPECT_EQ(Resolve({}, Device{Device::Kind::kCuda, 1}, machine).executor.device.name(), "cuda:1");
  EXPECT_TRUE(
      Resolve(Parse({"--executors", "4"}), {}, {.cores = {4, 5, 6, 7}, .cpus = 4, .exclusive = true}).executor.pin)
      << "a core for each";
}

TEST(Resolve, PinsOnlyOnExclusiveCoresOrOnRequest) {
  const Machine shared = {.cores = {0, 1}, .cpus = 2}, own = {.cores = {0, 1}, .cpus = 2, .exclusive = true};
  EXPECT_FALSE(Resolve({}, {}, shared).executor.pin);
  EXPECT_TRUE(Resolve({}, {}, own).executor.pin);
  EXPECT_TRUE(Resolve(Parse({"--pin", "on"}), {}, shared).executor.pin);
  EXPECT_FALSE(Resolve(Parse({"--pin", "off"}), {}, own).executor.pin);
  EXPECT_FALSE(Resolve(Parse({"--executors", "3"}), {}, own).executor.pin) << "two would share a core";
}

TEST(Resolve, MemoryBudgetsFollowTheControlGroup) {
  const ServerOptions small = Resolve({}, {}, WithMemory(1000));
  EXPECT_EQ(small.admission.max_bytes / kMebibyte, 100);
  EXPECT_EQ(small.admission.max_answer_bytes / kMebibyte, 100);
  EXPECT_EQ(small.rpc.max_transport_bytes / kMebibyte, 100);
  EXPECT_EQ(small.registry.max_memory_bytes / kMebibyte, 500);
  EXPECT_EQ(Resolve({}, {}, WithMemory(32'000)).admission.max_bytes, AdmissionOptions().max_bytes)
      << "a share never raises";
  const ServerOptions tiny = Resolve({}, {}, WithMemory(100));
  EXPECT_EQ(tiny.rpc.max_transport_bytes, 2 * tiny.rpc.max_message_bytes) << "it must take a message in";
  Machine unlimited = WithMemory(1000);
  unlimited.memory_limited = false;
  EXPECT_EQ(Resolve({}, {}, unlimited).admission.max_bytes, AdmissionOptions().max_bytes);
  EXPECT_EQ(Resolve({}, {}, unlimited).registry.max_memory_bytes, RegistryOptions().max_memory_bytes);
  EXPECT_EQ(Resolve({}, Device{Device::Kind::kCuda, 0}, WithMemory(1000)).registry.max_memory_bytes,
            RegistryOptions().max_memory_bytes)
      << "weights are in the device's memory";
}

TEST(Resolve, FlagsHavePriorityEvenWithTheirDefaultValue) {
  const ServerOptions options = Resolve(Parse({"--max-queue-bytes", "268435456", "--max-answer-bytes", "1000000000",
                                               "--max-transport-bytes", "536870912", "--model-memory", "999999999"}),
                                        {}, WithMemory(1000));
  EXPECT_EQ(options.admission.max_bytes, 268435456);
  EXPECT_EQ(options.admission.max_answer_bytes, 1000000000);
  EXPECT_EQ(options.rpc.max_transport_bytes, 536870912);
  EXPECT_EQ(options.registry.max_memory_bytes, 999999999);
}

TEST(Resolve, OneLogLineDescribesMachineAndSettings) {
  Machine machine = WithMemory(1000);
  LogFields fields = DescribeMachine(machine, Resolve({}, {}, machine));
  EXPECT_THAT(TextLine(absl::UnixEpoch(), spdlog::level::info, "machine", &fields),
              EndsWith(" machine cores=2-3 cpus=2 exclusive=no memory_mib=1000 memory_of=control_group executors=2 "
                       "pinned=no model_memory_mib=500 queue_mib=100 transport_mib=100 answers_mib=100\n"));
  EXPECT_THAT(JsonLine(absl::UnixEpoch(), spdlog::level::info, "machine", &fields),
              HasSubstr(R"("message":"machine","cores":"2-3","cpus":2.0,"exclusive":"no","memory_mib":1000,)"));
  machine.memory_limited = false;
  machine.cpus = 1.5;
  fields = DescribeMachine(machine, Resolve({}, {}, machine));
  EXPECT_THAT(
      TextLine(absl::UnixEpoch(), spdlog::level::info, "machine", &fields),
      AllOf(HasSubstr(" cpus=1.5 "), HasSubstr(" memory_of=machine "), HasSubstr(" model_memory_mib=unlimited ")));
}

TEST(CheckConfiguration, NamesAllFaultsOfFlagsAndFiles) {
  const ScratchFolder folder;
  ServerOptions options;
  options.repository = folder.path().string();
  EXPECT_TRUE(CheckConfiguration(options).ok()) << CheckConfiguration(options);
  options.repository = "/nowhere/repository";
  options.rpc.listen = "localhost";
  options.pin = "maybe";
  options.probe.interval = absl::Milliseconds(1);
  options.identity.tls.certificate = "/nowhere/cert.pem";
  options.identity.tls.key = "/nowhere/key.pem";
  options.identity.policy = "/nowhere/policy";
  options.registry.serving_config = "/nowhere/serving.textproto";
  options.port_file = folder.path().string();
  options.admin.listen = "127.0.0.1:0";
  options.admin.audit_log = folder.path().string();
  options.tracing.endpoint = "http://collector:4318";
  options.tracing.headers = "/nowhere/headers";
  const std::string faults(CheckConfiguration(options).message());
  EXPECT_THAT(faults,
              AllOf(HasSubstr("/nowhere/repository"), HasSubstr("\"localhost\""), HasSubstr("\"maybe\""),
                    HasSubstr("--probe-interval is 1ms"), HasSubstr("/nowhere/cert.pem"), HasSubstr("/nowhere/policy"),
                    HasSubstr("--serving-config /nowhere/serving.textproto"),
                    HasSubstr("--port-file is \"" + options.port_file),
                    HasSubstr("--audit-log is \"" + options.port_file), HasSubstr("--otlp-headers /nowhere/headers")));
}

TEST(CheckFiles, NamesFilesThatCannotBeWritten) {
  ServerOptions options;
  EXPECT_TRUE(CheckFiles(options).ok());
  options.admin.audit_log = "/nowhere/audit";
  options.registry.admin_state = "/nowhere/state";
  EXPECT_THAT(CheckFiles(options).ToString(),
              AllOf(HasSubstr("--audit-log is \"/nowhere/audit\""), HasSubstr("--admin-state is \"/nowhere/state\"")));
}

// Changes of the admin state replace the file, so its folder must be writable. Even root cannot write in /proc/sys.
TEST(CheckFiles, TheFolderOfTheAdminStateMustBeWritable) {
  ServerOptions options;
  options.registry.admin_state = "/proc/sys/state";
  EXPECT_EQ(CheckFiles(options),
            absl::InvalidArgumentError("--admin-state is \"/proc/sys/state\"; no file can be written in /proc/sys"));
  const ScratchFolder folder;
  options.registry.admin_state = folder.Path("state");
  EXPECT_EQ(CheckFiles(options), absl::OkStatus());
}

// Without the cache folder, the server could not copy the remote repository and would wait for the copy forever.
TEST(CheckConfiguration, TheCacheFolderMustExistOrBeCreatable) {
  const ScratchFolder folder;
  const auto fault = [](const std::string& cache) {
    const ServerOptions options = Parse({"--repository", "s3://models", "--repository-cache", cache.c_str()});
    return std::string(CheckConfiguration(options).message());
  };
  EXPECT_EQ(fault("/proc/x"),
            "--repository-cache is \"/proc/x\"; no folder can be made in /proc: No such file or directory");
  EXPECT_THAT(fault("/proc/x/y"), HasSubstr("\"/proc/x/y\"; no folder can be made in /proc: "));
  const std::string file = folder.Write("file", "").string();
  EXPECT_THAT(fault(file), HasSubstr("no folder can be made in " + file + ": Not a directory"));
  EXPECT_THAT(fault(file + "/cache"), HasSubstr("no folder can be made in " + file + ": Not a directory"));
  EXPECT_EQ(fault(folder.path().string()), "");
  EXPECT_EQ(fault(folder.Path("new/cache/")), "");
  EXPECT_FALSE(std::filesystem::exists(folder.Path("new"))) << "a check leaves no folder";
}

TEST(CheckConfiguration, EachFaultIsOneLine) {
  const ScratchFolder folder;
  const auto faults = [&](std::vector<const char*> flags) {
    const std::string repository = folder.path().string();
    if (flags[0] != std::string("--repository")) flags.insert(flags.end(), {"--repository", repository.c_str()});
    return std::string(CheckConfiguration(Parse(flags)).message());
  };
  EXPECT_EQ(faults({"--tls-cert", "/nowhere/cert.pem"}), "--tls-cert needs --tls-key");
  EXPECT_EQ(faults({"--admin", "/tmp/x"}),
            "--admin is \"/tmp/x\"; it must be host:port with a port of 0 to 65535, for instance 127.0.0.1:8500, or "
            "unix:///PATH");
  EXPECT_EQ(faults({"--repository", "x://y"}),
            "--repository is \"x://y\"; an address begins with s3://, gs://, az://, https:// or oci://");
}

TEST(CheckRepository, WarnsOfSettingsForMissingModelsAndVersions) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "repository/m/1");
  folder.Write("repository/m/1/manifest.textproto", "");
  folder.Write("serving", "models { model: 'm' labels { label: 'next' version: 7 } } models { model: 'nosuch' }");
  ServerOptions options;
  options.repository = folder.Path("repository");
  options.registry.serving_config = folder.Path("serving");
  const std::string log = Logged("warning", "text", [&] { EXPECT_EQ(CheckRepository(options), absl::OkStatus()); });
  EXPECT_THAT(log, AllOf(HasSubstr("the serving settings name a model or version that the repository does not have "
                                   "model=nosuch"),
                         HasSubstr("model=m version=7")));
}

}  // namespace
}  // namespace vitrine
