// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_BYTE_BUDGET_H_
#define VITRINE_COMMON_HTTP_BYTE_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace vitrine {

// A limited number of bytes, shared by many users. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(int64_t limit) : limit_(limit) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class BudgetShare;
  bool Take(int64_t bytes, int64_t beyond) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_ + beyond) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  void GiveBack(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const int64_t limit_;
  std::atomic<int64_t> used_ = 0;
};

// One user's bytes of a budget; the destructor returns them. Movable. Thread-compatible.
class BudgetShare {
 public:
  BudgetShare() = default;
  explicit BudgetShare(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  BudgetShare(BudgetShare&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  BudgetShare& operator=(BudgetShare&& other) noexcept {
    if (this == &other) return *this;
    Release();
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~BudgetShare() { Release(); }

  // Returns a new share of this share's budget, with no bytes yet.
  BudgetShare Another() const { return BudgetShare(budget_); }

  // Takes another `bytes` bytes from the budget, whose limit may be exceeded by up to `beyond` bytes. If the budget is
  // too small, changes nothing and returns false. Without a budget, always returns true.
  bool Add(int64_t bytes, int64_t beyond = 0) {
    if (budget_ != nullptr && !budget_->Take(bytes, beyond)) return false;
    bytes_ += bytes;
    return true;
  }
  // Returns the bytes above `most` to the budget.
  void ReduceTo(int64_t most) {
    if (bytes_ <= most) return;
    if (budget_ != nullptr) budget_->GiveBack(bytes_ - most);
    bytes_ = most;
  }
  void Release() {
    if (budget_ != nullptr) budget_->GiveBack(bytes_);
    bytes_ = 0;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<ByteBudget> budget_;
  int64_t bytes_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_BYTE_BUDGET_H_
