// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_GPU_CHECK_PROFILED_DEVICE_H_
#define VITRINE_BENCH_GPU_CHECK_PROFILED_DEVICE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/engine/cuda/driver/slot.h"

namespace vitrine {

// Timed CUDA events of one stream.
class TimedEvents {
 public:
  TimedEvents(const cuda::driver::Card& card, cuda::driver::StreamHandle stream) : card_(card), stream_(stream) {}
  ~TimedEvents();
  TimedEvents(const TimedEvents&) = delete;
  TimedEvents& operator=(const TimedEvents&) = delete;

  absl::Status Record();
  // Waits for the events, removes them, and returns the milliseconds between consecutive events.
  absl::StatusOr<std::vector<double>> Take();

 private:
  const cuda::driver::Card& card_;
  const cuda::driver::StreamHandle stream_;
  std::vector<cuda::driver::EventHandle> events_;
  size_t used_ = 0;
};

// Milliseconds of the launches of a batch, by the device's clock.
struct LaunchTimes {
  std::vector<std::vector<double>> launches;  // by launch, then by pass
  std::vector<double> graphs;                 // time of the graph of all launches, by pass
};

// A device with one slot. When recorded launches run, it measures their times: it first runs the whole graph several
// times, and then the launches one by one, equally often.
class ProfiledDevice : public cuda::Device {
 public:
  // Makes a device. `passes` is the number of timed passes of the graph, and of the single launches.
  static absl::StatusOr<std::unique_ptr<ProfiledDevice>> Make(cuda::driver::Card& card, size_t staging_bytes,
                                                              int passes);

  void* Allocate(size_t bytes) override { return slot_->Allocate(bytes); }
  absl::Status allocation_error() const override { return slot_->allocation_error(); }
  void Free(void* buffer) override { slot_->Free(buffer); }
  absl::Status Upload(void* to, const void* from, size_t bytes) override { return slot_->Upload(to, from, bytes); }
  absl::Status Download(void* to, const void* from, size_t bytes) override { return slot_->Download(to, from, bytes); }
  absl::Status Run(const cuda::Launch& launch) override { return slot_->Run(launch); }
  absl::StatusOr<std::unique_ptr<cuda::Recorded>> Record(std::span<const cuda::Launch> launches) override;

  const LaunchTimes& times() const { return times_; }

 private:
  friend class ProfiledLaunches;

  ProfiledDevice(std::unique_ptr<cuda::driver::Slot> slot, const cuda::driver::Card& card, int passes)
      : slot_(std::move(slot)), events_(card, slot_->stream()), passes_(passes) {}

  const std::unique_ptr<cuda::driver::Slot> slot_;
  TimedEvents events_;
  const int passes_;
  LaunchTimes times_;
};

}  // namespace vitrine

#endif  // VITRINE_BENCH_GPU_CHECK_PROFILED_DEVICE_H_
