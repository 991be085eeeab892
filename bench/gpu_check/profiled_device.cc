// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_check/profiled_device.h"

#include <chrono>
#include <thread>
#include <utility>

#include "bench/gpu_check/checks.h"
#include "common/status_macros.h"

namespace vitrine {

namespace {

constexpr std::chrono::seconds kMostSeconds{120};  // maximum wait of TimedEvents::Take

}  // namespace

using cuda::driver::EventHandle;

TimedEvents::~TimedEvents() {
  if (!card_.Enter().ok()) return;
  for (EventHandle const event : events_) card_.functions().cuEventDestroy_v2(event);
}

absl::Status TimedEvents::Record() {
  RETURN_IF_ERROR(card_.Enter());
  if (used_ == events_.size()) {
    EventHandle event = nullptr;
    RETURN_IF_ERROR(
        card_.Check(card_.functions().cuEventCreate(&event, cuda::driver::kEventWithTiming), "cuEventCreate"));
    events_.push_back(event);
  }
  return card_.Check(card_.functions().cuEventRecord(events_[used_++], stream_), "cuEventRecord");
}

absl::StatusOr<std::vector<double>> TimedEvents::Take() {
  std::vector<double> times;
  const size_t count = std::exchange(used_, 0);
  if (count == 0) return times;
  RETURN_IF_ERROR(card_.Enter());
  const cuda::driver::Functions& call = card_.functions();
  cuda::driver::Result result = cuda::driver::kNotReady;
  const auto end = std::chrono::steady_clock::now() + kMostSeconds;
  while ((result = call.cuEventQuery(events_[count - 1])) == cuda::driver::kNotReady) {
    if (std::chrono::steady_clock::now() > end) return absl::DeadlineExceededError("the device does not finish");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  RETURN_IF_ERROR(card_.Check(result, "cuEventQuery"));
  for (size_t i = 0; i + 1 < count; ++i) {
    float milliseconds = 0;
    RETURN_IF_ERROR(
        card_.Check(call.cuEventElapsedTime_v2(&milliseconds, events_[i], events_[i + 1]), "cuEventElapsedTime"));
    times.push_back(milliseconds);
  }
  return times;
}

absl::StatusOr<std::unique_ptr<ProfiledDevice>> ProfiledDevice::Make(cuda::driver::Card& card, size_t staging_bytes,
                                                                     int passes) {
  ASSIGN_OR_RETURN(std::unique_ptr<cuda::driver::Slot> slot,
                   cuda::driver::Slot::Make(card, {.staging_bytes = staging_bytes, .limit = kDeviceTimeout}));
  return std::unique_ptr<ProfiledDevice>(new ProfiledDevice(std::move(slot), card, passes));
}

// Runs the graph before each pass of single launches. The launches are queued while the graph runs, so the device does
// not wait for the host between them.
class ProfiledLaunches : public cuda::Recorded {
 public:
  ProfiledLaunches(ProfiledDevice& device, std::unique_ptr<cuda::Recorded> graph,
                   std::span<const cuda::Launch> launches)
      : device_(device), graph_(std::move(graph)), launches_(launches) {}

  absl::Status Run() override {
    LaunchTimes& times = device_.times_;
    times.launches.assign(launches_.size(), {});
    RETURN_IF_ERROR(graph_->Run());
    RETURN_IF_ERROR(device_.events_.Record());
    for (int pass = 0; pass < device_.passes_; ++pass) {
      RETURN_IF_ERROR(graph_->Run());
      RETURN_IF_ERROR(device_.events_.Record());
    }
    ASSIGN_OR_RETURN(times.graphs, device_.events_.Take());
    for (int pass = 0; pass < device_.passes_; ++pass) {
      RETURN_IF_ERROR(graph_->Run());
      RETURN_IF_ERROR(device_.events_.Record());
      for (const cuda::Launch& launch : launches_) {
        RETURN_IF_ERROR(device_.slot_->Run(launch));
        RETURN_IF_ERROR(device_.events_.Record());
      }
      ASSIGN_OR_RETURN(const std::vector<double> of_pass, device_.events_.Take());
      for (size_t i = 0; i < of_pass.size(); ++i) times.launches[i].push_back(of_pass[i]);
    }
    return absl::OkStatus();
  }

 private:
  ProfiledDevice& device_;
  const std::unique_ptr<cuda::Recorded> graph_;
  const std::span<const cuda::Launch> launches_;
};

absl::StatusOr<std::unique_ptr<cuda::Recorded>> ProfiledDevice::Record(std::span<const cuda::Launch> launches) {
  ASSIGN_OR_RETURN(std::unique_ptr<cuda::Recorded> graph, slot_->Record(launches));
  return std::make_unique<ProfiledLaunches>(*this, std::move(graph), launches);
}

}  // namespace vitrine
