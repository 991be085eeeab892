// SPDX-License-Identifier: Apache-2.0
// Tests the code that reads /proc and /sys/fs/cgroup. The tests write these files as kernels and container runtimes do.
#include "common/machine/machine.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "common/machine/control_group.h"
#include "common/machine/core_list.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr char kUnified[] = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

class ControlGroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / path).parent_path());
    std::ofstream(folder_.path() / path) << text;
  }
  // Writes the files of /proc/self that the code reads.
  void Self(const std::string& groups, const std::string& mounts) {
    Write("proc/self/cgroup", groups);
    Write("proc/self/mountinfo", "22 1 254:0 / / rw - ext4 /dev/vda rw\n" + mounts);
  }
  ControlGroup Read() { return ReadControlGroup(folder_.path()); }

  ScratchFolder folder_;
};

TEST_F(ControlGroupTest, WithoutAControlGroupNothingIsLimited) {
  const ControlGroup group = Read();
  EXPECT_EQ(group.cpus, std::nullopt);
  EXPECT_EQ(group.cores, std::nullopt);
  EXPECT_EQ(group.memory_bytes, std::nullopt);
  EXPECT_FALSE(group.exclusive);
}

TEST_F(ControlGroupTest, Version2UsesTheLowestLimitOfTheGroupAndItsParents) {
  Self("0::/kubepods/pod1/container\n", kUnified);
  const std::string top = "sys/fs/cgroup/kubepods/";
  Write(top + "pod1/container/cpu.max", "max 100000\n");
  Write(top + "pod1/cpu.max", "150000 100000\n");
  Write(top + "cpu.max", "400000 100000\n");
  Write(top + "pod1/container/memory.max", "1073741824\n");
  Write(top + "pod1/memory.max", "max\n");
  Write(top + "memory.max", "536870912\n");
  Write(top + "pod1/container/cpuset.cpus.effective", "2-3\n");
  Write(top + "cpuset.cpus.effective", "0-7\n");
  const ControlGroup group = Read();
  EXPECT_THAT(group.cpus, Optional(1.5));
  EXPECT_THAT(group.memory_bytes, Optional(536870912));
  EXPECT_THAT(group.cores, Optional(ElementsAre(2, 3)));
  EXPECT_FALSE(group.exclusive);
}

// Simulates `docker run --cpus 0.5 --memory 256m` with control groups of version 2. Inside the container, the
// container's own group is the root of the control groups.
TEST_F(ControlGroupTest, InANamespaceTheMountPointIsTheGroup) {
  Self("0::/\n", kUnified);
  Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  Write("sys/fs/cgroup/memory.max", "268435456\n");
  Write("sys/fs/cgroup/cpuset.cpus.effective", "4-5\n");
  Write("sys/fs/cgroup/cpuset.cpus.partition", "isolated\n");
  const ControlGroup group = Read();
  EXPECT_THAT(group.cpus, Optional(0.5));
  EXPECT_THAT(group.memory_bytes, Optional(268435456));
  EXPECT_TRUE(group.exclusive);
}

// Simulates control groups of version 1 without a namespace. The path of the group is its path on the host, but the
// mount point contains only the last part of this path.
TEST_F(ControlGroupTest, Version1InAContainerWithTheHostsPaths) {
  Self("4:memory:/docker/abc\n3:cpuset:/docker/abc\n2:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n",
       "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
       "33 31 0:30 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
       "34 31 0:31 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  Write("sys/fs/cgroup/cpuset/cpuset.cpus", "0,2\n");
  Write("sys/fs/cgroup/cpuset/cpuset.cpu_exclusive", "1\n");
  const ControlGroup group = Read();
  EXPECT_THAT(group.cpus, Optional(2.5));
  EXPECT_THAT(group.memory_bytes, Optional(2147483648));
  EXPECT_THAT(group.cores, Optional(ElementsAre(0, 2)));
  EXPECT_FALSE(group.exclusive) << "the value of the root group of version 1 is always 1";
}

TEST_F(ControlGroupTest, Version1WithoutLimits) {
  Self("4:memory:/a\n2:cpu:/a\n3:cpuset:/a\n0::/\n",
       "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
       "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
       "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
       "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "1\n");
  Write("sys/fs/cgroup/cpuset/a/cpuset.cpu_exclusive", "1\n");
  const ControlGroup group = Read();
  EXPECT_EQ(group.cpus, std::nullopt);
  EXPECT_EQ(group.memory_bytes, std::nullopt);
  EXPECT_THAT(group.cores, Optional(ElementsAre(1)));
  EXPECT_TRUE(group.exclusive);
}

TEST_F(ControlGroupTest, InvalidFilesMeanNoLimit) {
  Self("0::/../..\nnonsense\n", std::string("half a line\n") + kUnified);
  Write("sys/fs/cgroup/cpu.max", "many 100000\n");
  Write("sys/fs/cgroup/memory.max", "-3x\n");
  Write("sys/fs/cgroup/cpuset.cpus.effective", "3-1\n");
  const ControlGroup group = Read();
  EXPECT_EQ(group.cpus, std::nullopt);
  EXPECT_EQ(group.memory_bytes, std::nullopt);
  EXPECT_EQ(group.cores, std::nullopt);
}

TEST(CoreList, ParsesAndPrintsTheKernelsFormat) {
  EXPECT_THAT(ParseCoreList("0-2,8,10-11\n"), Optional(ElementsAre(0, 1, 2, 8, 10, 11)));
  EXPECT_THAT(ParseCoreList(""), Optional(ElementsAre()));
  for (const char* wrong : {"a", "1-", "-1", "3-1", "1,,2", "0-99999999", "1-2-3"}) {
    EXPECT_EQ(ParseCoreList(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(CoreListText({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(CoreListText({}), "");
}

TEST(Machine, UsesTheMinimumOfMaskCpusetAndQuota) {
  const auto threads = [](std::optional<double> cpus, std::optional<std::vector<int>> cores) {
    return Combine({.cpus = cpus, .cores = std::move(cores)}, {0, 1, 2, 3}, 1000).Threads();
  };
  EXPECT_EQ(threads(std::nullopt, std::nullopt), 4);
  EXPECT_EQ(threads(2.0, std::nullopt), 2);
  EXPECT_EQ(threads(2.9, std::nullopt), 2) << "a third thread would be throttled";
  EXPECT_EQ(threads(0.2, std::nullopt), 1);
  EXPECT_EQ(threads(64.0, std::nullopt), 4);
  EXPECT_EQ(threads(std::nullopt, {{3, 4, 5}}), 1);
  EXPECT_EQ(threads(std::nullopt, {{8, 9}}), 4) << "if mask and cpuset have no common core, the mask must count";
}

TEST(Machine, FindsTheMachineOfThisProcess) {
  const Machine machine = FindMachine();
  EXPECT_GE(machine.cores.size(), 1u);
  EXPECT_GE(machine.Threads(), 1);
  EXPECT_LE(machine.Threads(), static_cast<int>(machine.cores.size()));
  EXPECT_GT(machine.memory_bytes, 64 << 20);
}

}  // namespace
}  // namespace vitrine
