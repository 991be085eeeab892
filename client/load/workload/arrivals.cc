// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/arrivals.h"

#include <cmath>
#include <utility>

#include "client/load/workload/random.h"

namespace vitrine {
namespace {

class Constant : public Arrivals {
 public:
  explicit Constant(double rate) : rate_(rate) {}
  std::optional<Arrival> Next() override {
    const uint64_t number = next_++;
    return Arrival{static_cast<int64_t>(static_cast<double>(number) * 1e9 / rate_), number, 0};
  }

 private:
  const double rate_;
  uint64_t next_ = 0;
};

class Poisson : public Arrivals {
 public:
  Poisson(double rate, uint64_t seed) : rate_(rate), seed_(seed) {}
  std::optional<Arrival> Next() override {
    const uint64_t number = next_++;
    // 1 - share lies in (0, 1], where the logarithm is finite.
    at_ += -std::log(1 - RandomShare(seed_, RandomPurpose::kGap, number)) * 1e9 / rate_;
    return Arrival{static_cast<int64_t>(at_), number, 0};
  }

 private:
  const double rate_;
  const uint64_t seed_;
  uint64_t next_ = 0;
  double at_ = 0;
};

class Known : public Arrivals {
 public:
  explicit Known(const std::vector<Arrival>& arrivals) : arrivals_(arrivals) {}
  std::optional<Arrival> Next() override {
    if (next_ == arrivals_.size()) return std::nullopt;
    return arrivals_[next_++];
  }

 private:
  const std::vector<Arrival>& arrivals_;
  size_t next_ = 0;
};

class LaneArrivals : public Arrivals {
 public:
  LaneArrivals(std::unique_ptr<Arrivals> all, int lane, int lanes)
      : all_(std::move(all)), wanted_(lane), lanes_(lanes) {}
  std::optional<Arrival> Next() override {
    for (;; ++seen_) {
      std::optional<Arrival> arrival = all_->Next();
      if (!arrival.has_value()) return std::nullopt;
      if (seen_ != wanted_) continue;
      ++seen_;
      wanted_ += lanes_;
      return arrival;
    }
  }

 private:
  const std::unique_ptr<Arrivals> all_;
  uint64_t seen_ = 0;
  uint64_t wanted_;
  const uint64_t lanes_;
};

}  // namespace

std::unique_ptr<Arrivals> ArrivalsAtRate(ArrivalProcess process, double rate, uint64_t seed) {
  if (process == ArrivalProcess::kConstant) return std::make_unique<Constant>(rate);
  return std::make_unique<Poisson>(rate, seed);
}

std::unique_ptr<Arrivals> ArrivalsOf(const std::vector<Arrival>& arrivals) {
  return std::make_unique<Known>(arrivals);
}

std::unique_ptr<Arrivals> LaneOf(std::unique_ptr<Arrivals> all, int lane, int lanes) {
  return std::make_unique<LaneArrivals>(std::move(all), lane, lanes);
}

}  // namespace vitrine
