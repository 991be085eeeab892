// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/sweep.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/file/descriptor.h"
#include "common/file/replace.h"
#include "common/status_macros.h"
#include "trainer/sweep/experiment.h"
#include "trainer/sweep/jobs.h"

namespace vitrine {
namespace {

constexpr absl::Duration kRedraw = absl::Seconds(1);
constexpr absl::Duration kPlainLines = absl::Minutes(1);  // interval of progress lines if `log` is not a terminal
constexpr absl::Duration kWaitForOthers = absl::Seconds(60);

std::string ReadAll(const std::filesystem::path& file) {
  std::ostringstream text;
  if (std::ifstream in(file, std::ios::binary); in) text << in.rdbuf();
  return std::move(text).str();
}

// Takes the lock of a sweep's folder. The runs inherit the lock's descriptor. If the sweep is killed, runs that still
// write files therefore keep the lock.
absl::StatusOr<FileDescriptor> LockWork(const SweepOptions& options) {
  FileDescriptor file(open((options.work / "lock").c_str(), O_RDWR | O_CREAT, 0666));
  if (!file.valid()) return absl::UnavailableError(absl::StrCat(options.work.string(), ": ", std::strerror(errno)));
  const absl::Time end = absl::Now() + kWaitForOthers;
  for (bool told = false; flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; told = true) {
    if (!told) *options.log << "waiting for the runs of another sweep in this folder to end\n" << std::flush;
    if (absl::Now() > end || (options.stop && options.stop() != 0)) {
      return absl::FailedPreconditionError(
          absl::StrCat("another sweep, or a run of an ended sweep, still uses ", options.work.string()));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
  return file;
}

std::string Minutes(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 7200) return absl::StrCat(seconds / 60, " min");
  return absl::StrFormat("%d h %02d min", seconds / 3600, seconds / 60 % 60);
}

std::filesystem::path CellFolder(const SweepOptions& options, const SweepCell& cell) {
  return options.work / "cells" / cell.name;
}

class Sweeper {
 public:
  Sweeper(const SweepGrid& grid, const SweepOptions& options) : grid_(grid), options_(options) {}

  absl::StatusOr<SweepOutcome> Run() {
    outcome_.results.resize(grid_.cells.size());
    RETURN_IF_ERROR(Prepare());
    *options_.log << absl::StreamFormat("%s: %d runs (%d settings, %d seeds), %d of them finished before%s\n",
                                        grid_.name, grid_.cells.size(), grid_.points.size(), grid_.seeds.size(),
                                        outcome_.kept, ShardText())
                  << std::flush;
    JobOptions jobs;
    jobs.at_once = static_cast<size_t>(options_.jobs);
    jobs.stop = [this] {
      const int signal = options_.stop ? options_.stop() : 0;
      stopped_ = stopped_ || signal != 0;
      return signal;
    };
    jobs.started = [this](size_t) { ++running_; };
    jobs.ended = [this](const JobEnd& end) { return OnEnd(end); };
    jobs.idle = [this] { Redraw(); };
    const absl::Status status = RunJobs(jobs_, jobs);
    ClearLine();
    if (!status.ok() && !stopped_) return status;
    outcome_.stopped = stopped_;
    return std::move(outcome_);
  }

 private:
  std::filesystem::path FolderOf(size_t cell) const { return CellFolder(options_, grid_.cells[cell]); }

  // Reads existing results and lists the remaining cells. Called before the runs, so that none starts after an error.
  absl::Status Prepare() {
    for (size_t i = 0; i < grid_.cells.size(); ++i) {
      const std::filesystem::path folder = FolderOf(i);
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      if (error) return absl::UnavailableError(absl::StrCat(folder.string(), ": ", error.message()));
      RETURN_IF_ERROR(ClaimFolder(i, folder));
      ASSIGN_OR_RETURN(outcome_.results[i], ResultOf(i));
      if (outcome_.results[i]) {
        RETURN_IF_ERROR(ScoreOf(*outcome_.results[i], grid_.metric).status());
        ++outcome_.kept;
      } else if (IsOfShard(i, options_.shard)) {
        cells_.push_back(i);
        jobs_.push_back({CommandOf(grid_, options_, grid_.cells[i]), folder / "log.txt"});
      }
    }
    return absl::OkStatus();
  }

  // Returns a text such as "; shard 1/3 has 8 others", or "" if the sweep has no shards.
  std::string ShardText() const {
    if (options_.shard.of == 1) return "";
    return absl::StrCat("; shard ", ToString(options_.shard), " has ", jobs_.size(), " others");
  }

  // Checks that experiment.textproto in the folder describes this cell's experiment. Writes this file if the folder is
  // new.
  absl::Status ClaimFolder(size_t cell, const std::filesystem::path& folder) const {
    const std::filesystem::path file = folder / "experiment.textproto";
    const std::string now = ExperimentText(grid_.cells[cell].recipe, options_);
    const std::string before = ReadAll(file);
    if (before == now) return absl::OkStatus();
    if (!before.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder.string(), " has a run of this name with ", ExperimentDifference(before, now),
                       "; remove it, or use another --work (compare its experiment.textproto)"));
    }
    return ReplaceFile(file, now);
  }

  // Returns the result of a cell's run, if there is one. FAILED_PRECONDITION: the result was made by a trainer that was
  // built from other sources.
  absl::StatusOr<std::optional<CellResult>> ResultOf(size_t cell) const {
    ASSIGN_OR_RETURN(std::optional<CellResult> result, ReadResult(FolderOf(cell)));
    if (!result || result->program == options_.program_digest) return result;
    return absl::FailedPreconditionError(
        absl::StrCat(FolderOf(cell).string(), " has the result of another program than this sweep's; was ",
                     options_.program.string(), " replaced meanwhile? Remove the folder to repeat its run"));
  }

  absl::Status OnEnd(const JobEnd& end) {
    --running_;
    const size_t cell = cells_[end.job];
    const std::string& name = grid_.cells[cell].name;
    ASSIGN_OR_RETURN(outcome_.results[cell], ResultOf(cell));
    if (outcome_.results[cell]) {
      ++finished_;
      took_ += end.took;
      ASSIGN_OR_RETURN(const double score, ScoreOf(*outcome_.results[cell], grid_.metric));
      Line(absl::StrFormat("[%s] %s: %s %.4g after %s", Counts(), name, grid_.metric, score, Minutes(end.took)));
      return absl::OkStatus();
    }
    if (stopped_) {
      Line(absl::StrCat(name, ": stopped"));
      return absl::OkStatus();
    }
    const std::filesystem::path& log = jobs_[end.job].log;
    std::string reason = end.status == 0 ? "it ended without a result" : EndInWords(end.status);
    if (const std::string last = LastLine(log); !last.empty()) absl::StrAppend(&reason, ": ", last);
    outcome_.failures.push_back({name, reason, log});
    Line(absl::StrFormat("[%s] %s: FAILED, %s", Counts(), name, reason));
    return absl::OkStatus();
  }

  static std::string LastLine(const std::filesystem::path& log) {
    std::string last;
    const std::string text = ReadAll(log);
    for (const absl::string_view line : absl::StrSplit(text, absl::ByAnyChar("\r\n"))) {
      const absl::string_view stripped = absl::StripAsciiWhitespace(line);
      if (!stripped.empty()) last = std::string(stripped.substr(0, 500));
    }
    return last;
  }

  void Line(const std::string& text) {
    ClearLine();
    *options_.log << text << "\n" << std::flush;
  }

  void ClearLine() {
    if (!options_.is_terminal || drawn_ == absl::InfinitePast()) return;
    *options_.log << "\r\x1b[K" << std::flush;
    drawn_ = absl::InfinitePast();
  }

  // Returns for example "12/24, 1 failed, about 14 min left".
  std::string Counts() const {
    const size_t done = outcome_.kept + finished_ + outcome_.failures.size();
    const size_t all = outcome_.kept + jobs_.size();
    std::string text = absl::StrCat(done, "/", all);
    if (!outcome_.failures.empty()) absl::StrAppend(&text, ", ", outcome_.failures.size(), " failed");
    if (finished_ > 0 && done < all) {
      const auto left = static_cast<double>(all - done) / options_.jobs;
      absl::StrAppend(&text, ", about ", Minutes(took_ / static_cast<double>(finished_) * left), " left");
    }
    return text;
  }

  void Redraw() {
    if (absl::Now() - drawn_ < (options_.is_terminal ? kRedraw : kPlainLines)) return;
    drawn_ = absl::Now();
    const std::string text = absl::StrCat(Counts(), ", ", running_, " running");
    *options_.log << (options_.is_terminal ? "\r\x1b[K" + text : text + "\n") << std::flush;
  }

  const SweepGrid& grid_;
  const SweepOptions& options_;
  std::vector<Job> jobs_;
  std::vector<size_t> cells_;  // cell of each job
  SweepOutcome outcome_;
  size_t finished_ = 0;  // number of runs that finished in this sweep
  size_t running_ = 0;
  absl::Duration took_;
  absl::Time drawn_ = absl::InfinitePast();
  bool stopped_ = false;
};

}  // namespace

bool IsOfShard(size_t cell, const Shard& shard) {
  return static_cast<int64_t>(cell) % shard.of == shard.number - 1;
}

std::vector<std::string> CommandOf(const SweepGrid& grid, const SweepOptions& options, const SweepCell& cell) {
  std::vector<std::string> command = {options.program.string(), "run", grid.recipe};
  if (!options.data.empty()) command.insert(command.end(), {"--data", options.data});
  command.insert(command.end(), {"--work", CellFolder(options, cell).string(), "--resume", "--threads",
                                 absl::StrCat(options.threads)});
  for (const std::string& assignment : cell.assignments) command.insert(command.end(), {"--set", assignment});
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  return command;
}

absl::StatusOr<SweepOutcome> RunSweepGrid(const SweepGrid& grid, const SweepOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.work, error);
  if (error) return absl::UnavailableError(absl::StrCat(options.work.string(), ": ", error.message()));
  ASSIGN_OR_RETURN(const FileDescriptor lock, LockWork(options));
  return Sweeper(grid, options).Run();
}

}  // namespace vitrine
