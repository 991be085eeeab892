// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_QUOTA_GROUP_H_
#define VITRINE_TESTS_QUOTA_GROUP_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace vitrine {

// A real control group (version 1 or 2) with a limit of 1.5 cores. In this group, the programs of Vitrine start one
// compute thread.
class QuotaGroup {
 public:
  QuotaGroup() {
    for (const char* parent : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
      const std::string folder = std::string(parent) + "/vitrine-test-" + std::to_string(getpid());
      std::error_code ignored;
      if (!std::filesystem::create_directory(folder, ignored)) continue;
      folder_ = folder;
      if (Writable("cpu.cfs_quota_us") || Writable("cpu.max")) return;
      rmdir(folder.c_str());
      folder_.clear();
    }
  }
  QuotaGroup(const QuotaGroup&) = delete;
  QuotaGroup& operator=(const QuotaGroup&) = delete;
  // Requires that all processes that joined the group have ended.
  ~QuotaGroup() {
    if (empty()) return;
    // The kernel needs a moment to notice that the last process has left.
    for (int i = 0; rmdir(folder_.c_str()) != 0 && i < 10'000; ++i) usleep(1000);
    EXPECT_FALSE(std::filesystem::exists(folder_)) << folder_ << " is left behind";
  }

  // Returns true if this process may not create a control group.
  bool empty() const { return folder_.empty(); }
  // Returns shell commands that set the limit and join the group.
  std::string Join() const {
    const std::string limit = Writable("cpu.max") ? "echo '150000 100000' > " + folder_ + "/cpu.max"
                                                  : "echo 150000 > " + folder_ + "/cpu.cfs_quota_us";
    return limit + "; echo $$ > " + folder_ + "/cgroup.procs; ";
  }

 private:
  bool Writable(const std::string& file) const { return access((folder_ + "/" + file).c_str(), W_OK) == 0; }

  std::string folder_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_QUOTA_GROUP_H_
