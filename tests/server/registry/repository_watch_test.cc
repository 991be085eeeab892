// SPDX-License-Identifier: Apache-2.0
#include "server/registry/repository_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "absl/base/config.h"
#include "tests/server/registry/fake_repository.h"

namespace vitrine {
namespace {

// Timeout that no passing test reaches.
constexpr absl::Duration kLong = absl::Seconds(20);

class RepositoryWatchTest : public ::testing::Test {
 protected:
  // Returns the duration of a wait that begins directly after `change`.
  absl::Duration WaitDuring(RepositoryWatch& watch, const std::function<void()>& change,
                            absl::Duration timeout = kLong) {
    watch.Refresh();
    change();
    const auto begin = std::chrono::steady_clock::now();
    watch.Wait(timeout);
    return absl::FromChrono(std::chrono::steady_clock::now() - begin);
  }
  FakeRepository files_;
};

TEST_F(RepositoryWatchTest, APublishedVersionEndsTheWait) {
  files_.Add("m", 1);
  RepositoryWatch watch(files_.root(), {});
  if (!watch.watching()) GTEST_SKIP() << "inotify is not available";
  EXPECT_LT(WaitDuring(watch, [&] { files_.Add("m", 2); }), kLong);
  EXPECT_LT(WaitDuring(watch, [&] { files_.Add("n", 1); }), kLong) << "a new model must end the wait";
  EXPECT_LT(WaitDuring(watch, [&] { files_.Add("n", 2); }), kLong) << "Refresh must watch the folder of the new model";
  EXPECT_LT(WaitDuring(watch, [&] { std::filesystem::remove_all(files_.root() / "n"); }), kLong);
}

TEST_F(RepositoryWatchTest, ARenamedRootEndsTheWait) {
  RepositoryWatch watch(files_.root(), {});
  if (!watch.watching()) GTEST_SKIP() << "inotify is not available";
  EXPECT_LT(WaitDuring(watch, [&] { std::filesystem::rename(files_.root(), files_.folder() / "away"); }), kLong);
  EXPECT_LT(WaitDuring(watch, [&] { std::filesystem::rename(files_.folder() / "away", files_.root()); }), kLong);
  EXPECT_LT(WaitDuring(watch, [&] { files_.Add("m", 1); }), kLong);
}

TEST_F(RepositoryWatchTest, ASettingsFileEndsTheWaitAndItsNeighboursDoNot) {
  const std::filesystem::path settings = files_.folder() / "etc" / "serving";
  std::filesystem::create_directory(settings.parent_path());
  RepositoryWatch watch(files_.root(), {settings, ""});
  if (!watch.watching()) GTEST_SKIP() << "inotify is not available";
  EXPECT_LT(WaitDuring(watch, [&] { files_.Write("etc/serving", "a"); }), kLong);
  constexpr absl::Duration kShort = absl::Milliseconds(50);
  EXPECT_GE(WaitDuring(
                watch, [&] { files_.Write("etc/other", "a"); }, kShort),
            kShort);
  EXPECT_GE(WaitDuring(
                watch, [&] { std::filesystem::create_directories(files_.folder() / "beside"); }, kShort),
            kShort)
      << "changes beside the root must not end the wait";
  EXPECT_GE(WaitDuring(
                watch, [&] { std::filesystem::create_directories(files_.root() / ".tmp-1-a"); }, kShort),
            kShort)
      << "temporary folders of a publish must not end the wait";
}

// Uses the real clock. The test expects only that waits do not end too early, so a loaded machine cannot make it fail.
TEST_F(RepositoryWatchTest, ManyEventsDoNotEndEveryWaitAtOnce) {
  RepositoryWatch watch(files_.root(), {});
  if (!watch.watching()) GTEST_SKIP() << "inotify is not available";
  std::atomic<bool> stop = false;
  std::thread storm([&] {
    for (int n = 0; !stop; ++n) std::ofstream(files_.root() / std::to_string(n % 10)) << n;
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int look = 0; look < 5; ++look) EXPECT_LT(WaitDuring(watch, [] {}), kLong);
  EXPECT_GE(absl::FromChrono(std::chrono::steady_clock::now() - begin), 4 * RepositoryWatch::kMinInterval);
  stop = true;
  storm.join();
}

TEST_F(RepositoryWatchTest, WakeEndsTheCurrentOrTheNextWait) {
  RepositoryWatch watch(files_.root(), {});
  watch.Wake();
  watch.Wake();
  EXPECT_LT(WaitDuring(watch, [] {}), kLong);
  std::promise<void> waits;
  std::thread waker([&] {
    waits.get_future().wait();
    watch.Wake();
  });
  EXPECT_LT(WaitDuring(watch, [&] { waits.set_value(); }), kLong);
  waker.join();
}

#ifndef ABSL_HAVE_ADDRESS_SANITIZER  // AddressSanitizer builds also use UBSan, which opens a pipe to inspect objects
// Limits the file descriptors of this process, so that inotify fails. The limit on inotify is per user, so reaching it
// would disturb other programs.
TEST_F(RepositoryWatchTest, WithoutInotifyTheTimeoutEndsTheWait) {
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  rlimit scarce = before;
  scarce.rlim_cur = static_cast<rlim_t>(next) + 1;  // one descriptor for the eventfd
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &scarce), 0);
  RepositoryWatch watch(files_.root(), {});
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(watch.watching());
  watch.Refresh();
  constexpr absl::Duration kShort = absl::Milliseconds(20);
  EXPECT_GE(WaitDuring(
                watch, [&] { files_.Add("m", 1); }, kShort),
            kShort);
  watch.Wake();
  EXPECT_LT(WaitDuring(watch, [] {}), kLong);
}
#endif

}  // namespace
}  // namespace vitrine
